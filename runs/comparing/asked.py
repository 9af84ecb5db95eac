"""What a reader asked to see beside each other, read from the address: ``c`` candidates or ``r`` runs by their numbers.

``base`` pins the baseline (the first where it is left out), ``all`` shows what is equal too, ``left``, ``right`` and
``code`` choose the difference of texts, ``n`` the attempts of Attempt-Fast_p. Everything else is left alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.http import QueryDict

from runs.comparing.errors import (
    BaselineNotChosen,
    BothKindsChosen,
    ChosenNotThere,
    NotANumber,
    TooFewChosen,
    TooManyChosen,
)

LEAST, MOST = 2, 6
LETTERS = "ABCDEF"
_LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Kind:
    """What is compared: its name in addresses, and what one and several are called."""

    key: str
    one: str
    many: str


CANDIDATES = Kind("c", "candidate", "candidates")
RUNS = Kind("r", "run", "runs")


@dataclass(frozen=True, slots=True)
class Asked:
    """A comparison that can be made. ``keys`` begin with the baseline; the others keep the address's order."""

    kind: Kind
    keys: tuple[int, ...]
    everything: bool
    left: int
    right: int
    code: str
    whole: bool
    attempts: int | None
    query: QueryDict

    def without(self, key: int) -> str:
        """The address with one of them taken away; empty where too few would be left."""
        if len(self.keys) <= LEAST:
            return ""
        return address_of(self.kind, [one for one in self.keys if one != key], self.query)

    def check_there(self, found: set[int]) -> None:
        """Raise ChosenNotThere unless every one of them was found."""
        missing = [f"{key}" for key in self.keys if key not in found]
        if missing:
            raise ChosenNotThere(one=self.kind.one, numbers=" or ".join(missing))


def address_of(kind: Kind, keys: list[int], query: QueryDict) -> str:
    """A query that compares these, with what else the old one said; what names one that has gone is dropped."""
    kept = query.copy()
    kept.setlist(kind.key, [f"{key}" for key in keys])
    for name in ("base", "left", "right", "page"):
        if name == "page" or (kept.get(name) and kept[name] not in kept.getlist(kind.key)):
            kept.pop(name, None)
    return f"?{kept.urlencode()}"


def kind_of(query: QueryDict) -> Kind | None:
    """What is compared; None of an address that names nothing. Raises BothKindsChosen."""
    named = [kind for kind in (CANDIDATES, RUNS) if any(query.getlist(kind.key))]
    if len(named) > 1:
        raise BothKindsChosen
    return named[0] if named else None


def numbers_of(query: QueryDict, kind: Kind) -> tuple[list[int], list[str]]:
    """What is chosen, each once and in order, and the texts that are no numbers."""
    texts = [text.strip() for text in query.getlist(kind.key) if text.strip()]
    good = [text for text in texts if _is_number(text)]
    return list(dict.fromkeys(map(int, good))), [text for text in texts if not _is_number(text)]


def asked(query: QueryDict, kind: Kind) -> Asked:
    """Read the address. Raises a ComparisonRefused that says what is wrong with it."""
    keys, strange = numbers_of(query, kind)
    if strange:
        raise NotANumber(text=strange[0][:40], one=kind.one)
    if len(keys) < LEAST:
        raise TooFewChosen(one=kind.one, least=LEAST, most=MOST)
    if len(keys) > MOST:
        raise TooManyChosen(count=len(keys), many=kind.many, most=MOST, over=len(keys) - MOST)
    base = _among(query, "base", "baseline", keys, kind) or keys[0]
    ordered = [base, *(key for key in keys if key != base)]
    left = _among(query, "left", "left side", keys, kind) or ordered[0]
    right = _among(query, "right", "right side", keys, kind) or next(key for key in ordered if key != left)
    attempts = query.get("n", "")
    return Asked(
        kind=kind,
        keys=tuple(ordered),
        everything="all" in query,
        left=left,
        right=right,
        code=query.get("code", "")[:80],
        whole="whole" in query,
        attempts=int(attempts) if _is_number(attempts) and 0 < int(attempts) <= 10_000 else None,
        query=query,
    )


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 19 and 0 < int(text) <= _LARGEST


def _among(query: QueryDict, name: str, role: str, keys: list[int], kind: Kind) -> int | None:
    text = query.get(name, "").strip()
    if not text:
        return None
    if not _is_number(text) or int(text) not in keys:
        known = ", ".join(map(str, keys))
        raise BaselineNotChosen(role=role, text=text[:40], many=kind.many, known=known)
    return int(text)
