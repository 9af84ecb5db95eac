"""Remarks on candidates: said, taken back, and brought to whom they name; and the mark that somebody reviewed one.

Each function that writes is one transaction. Words are kept as they were typed and escaped where they are shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from django.contrib.auth.models import User
from django.core.cache import cache
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from kernels.errors import UserError
from runs.models import Attempt, Mention, Remark, Reviewed
from runs.roles import Right, may, require

MOST_TEXT = 4000
_DIGITS = 9
"""Digits of a line's number: of thousands of them Python makes no number."""
_KEY = "mentions-unseen-"
_KEPT_S = 30
"""Every page shows the count: it is asked for at most so often, and at once after somebody was named here."""
_NAMED = re.compile(r"(?<![\w@])@([\w.@+-]*[\w])")


class RemarkUnfit(UserError):
    """A remark that is empty, too long, or on a line that there is not."""

    template = "the remark {wrong}; {right} would be right"


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a remark stands: a line of the source (``unit`` blank) or of a unit's generated code; line 0 is all."""

    unit: str = ""
    line: int = 0

    @property
    def words(self) -> str:
        """``line 4``, ``C++ line 31``; empty for all of it."""
        if not self.line:
            return ""
        return f"C++ line {self.line}" if self.unit else f"line {self.line}"

    @property
    def address(self) -> str:
        """The line's place on the candidate's page, after its address."""
        if not self.line:
            return ""
        return f"?unit={self.unit}#L{self.line}" if self.unit else f"#M{self.line}"


@dataclass(frozen=True, slots=True)
class Said:
    """A remark as it is shown: ``quoted`` is the line that it stands on."""

    row: Remark
    spot: Spot
    quoted: str
    mine: bool

    @property
    def author(self) -> str:
        """Who said it."""
        return self.row.user.get_username() if self.row.user is not None else "somebody who left"

    @property
    def html(self) -> SafeString:
        """Its words, escaped, with the people that it names in bold."""
        return marked(self.row.text, {mention.user.get_username() for mention in self.row.mentions.all()})


def marked(text: str, names: Iterable[str]) -> SafeString:
    """A remark's words as HTML: everything escaped, line breaks kept, ``@name`` of the names in bold."""
    known = set(names)
    parts, at = [], 0
    for match in _NAMED.finditer(text):
        if match[1] in known:
            parts.append(format_html("{}<b>@{}</b>", text[at : match.start()], match[1]))
            at = match.end()
    return format_html("{}{}", format_html_join("", "{}", ((part,) for part in parts)), text[at:])


class Talk:
    """What is said about one attempt. Three queries, whatever was said."""

    def __init__(self, attempt: Attempt, reader: User, units: dict[str, str] | None = None) -> None:
        self.attempt = attempt
        self.reader = reader
        self._units = units or {}

    @cached_property
    def remarks(self) -> list[Said]:
        """All remarks in the order they were made."""
        rows = self.attempt.remarks.select_related("user").prefetch_related("mentions__user")
        return [self._said(row) for row in rows]

    def _said(self, row: Remark) -> Said:
        mine = row.user_id == self.reader.pk or may(self.reader, Right.ADMINISTER)
        return Said(row, Spot(row.unit, row.line), self.line_of(row.unit, row.line), mine)

    def line_of(self, unit: str, line: int) -> str:
        """The text of a line; empty where there is none of that number."""
        text = self.attempt.kernel.source if not unit else self._units.get(unit, "")
        lines = text.splitlines()
        return lines[line - 1].strip() if 0 < line <= len(lines) else ""

    @property
    def count(self) -> int:
        """Remarks that stand."""
        return sum(said.row.withdrawn is None for said in self.remarks)

    def lines(self, unit: str = "") -> dict[int, int]:
        """Lines of a text with remarks, each with its first remark's key."""
        found: dict[int, int] = {}
        for said in self.remarks:
            if said.row.line and said.row.unit == unit and said.row.withdrawn is None:
                found.setdefault(said.row.line, said.row.pk)
        return found

    @cached_property
    def source_lines(self) -> dict[int, int]:
        """Lines of the source with remarks."""
        return self.lines()

    @cached_property
    def reviews(self) -> list[Reviewed]:
        """Who reviewed it."""
        return list(self.attempt.reviews.select_related("user"))

    @property
    def reviewed_by_reader(self) -> bool:
        """Whether the reader did."""
        return any(row.user_id == self.reader.pk for row in self.reviews)

    @property
    def may_review(self) -> bool:
        """Whether the reader may mark it."""
        return may(self.reader, Right.REVIEW)


@transaction.atomic
def say(attempt: Attempt, user: User, text: str, spot: Spot | None = None) -> Remark:
    """Keep a remark and bring it to the people it names. Raises RemarkUnfit."""
    text, spot = text.replace("\r\n", "\n").strip(), spot or Spot()
    if not text:
        raise RemarkUnfit(wrong="says nothing", right="some words")
    if len(text) > MOST_TEXT:
        raise RemarkUnfit(wrong=f"has {len(text):,} characters", right=f"at most {MOST_TEXT:,}")
    if "\0" in text:
        raise RemarkUnfit(wrong="holds NUL characters", right="text")
    remark = Remark.objects.create(attempt=attempt, user=user, unit=spot.unit, line=spot.line, text=text)
    names = set(_NAMED.findall(text))
    named = User.objects.filter(username__in=names, is_active=True).exclude(pk=user.pk) if names else ()
    made = Mention.objects.bulk_create(Mention(remark=remark, user=each) for each in named)
    cache.delete_many([f"{_KEY}{mention.user_id}" for mention in made])
    return remark


def spot_of(unit: str, line: str, talk: Talk) -> Spot:
    """The place that a form names. Raises RemarkUnfit where there is no such line."""
    if not line.strip():
        return Spot()
    said = line.strip()
    if not said.isdecimal() or len(said) > _DIGITS or not talk_has(talk, unit, int(said)):
        where = "the generated code" if unit else "the source"
        raise RemarkUnfit(wrong=f"is on line {said[:12]} of {where}", right="one of its lines, or none")
    return Spot(unit, int(said))


def talk_has(talk: Talk, unit: str, line: int) -> bool:
    """Whether a text has a line of that number, empty or not."""
    text = talk.attempt.kernel.source if not unit else talk._units.get(unit)
    return text is not None and 0 < line <= len(text.splitlines())


@transaction.atomic
def take_back(remark: Remark, user: User) -> None:
    """Withdraw one's own remark, or anybody's as an admin; its place stays. Raises PermissionDenied."""
    if remark.user_id != user.pk and not may(user, Right.ADMINISTER):
        raise PermissionDenied("Only who made a remark, or an admin, takes it back.")
    if remark.withdrawn is None:
        remark.withdrawn, remark.text = timezone.now(), ""
        remark.save(update_fields=["withdrawn", "text"])
        remark.mentions.all().delete()


@transaction.atomic
def review(attempt: Attempt, user: User, on: bool) -> None:
    """Set or take away one's own mark of review. Raises PermissionDenied."""
    require(user, Right.REVIEW)
    if on:
        Reviewed.objects.get_or_create(attempt=attempt, user=user)
    else:
        Reviewed.objects.filter(attempt=attempt, user=user).delete()


def mentions_of(user: User) -> QuerySet[Mention]:
    """Where somebody is named, newest first."""
    return (
        Mention.objects.filter(user=user)
        .select_related("remark__user", "remark__attempt__trajectory__run", "remark__attempt__trajectory__problem")
        .defer("remark__attempt__trajectory__bounds", "remark__attempt__trajectory__problem__source")
        .order_by("-pk")
    )


def unseen(user: User) -> int:
    """How many mentions somebody has not looked at, as it was at most ``_KEPT_S`` seconds ago."""
    key = f"{_KEY}{user.pk}"
    kept: int | None = cache.get(key)
    if kept is None:
        kept = Mention.objects.filter(user=user, seen__isnull=True).count()
        cache.set(key, kept, _KEPT_S)
    return kept


def mark_seen(user: User, shown: Iterable[Mention]) -> None:
    """They looked at these of their mentions now."""
    keys = [mention.pk for mention in shown]
    Mention.objects.filter(user=user, pk__in=keys, seen__isnull=True).update(seen=timezone.now())
    cache.delete(f"{_KEY}{user.pk}")
