"""The archive's form: its version, its manifest, and the most that is read. ``docs/archive.md`` is its document.

Pure: no database, no files.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from kernels.records import to_json

FORMAT = 1
"""Raised whenever an older reader would take something wrongly or not at all."""

MANIFEST = "manifest.json"
MOST_UNPACKED = 4 * 2**30
MOST_RATIO = 400
"""Lines of one kind resemble each other: a real archive unpacks to 5 to 60 times its size. Deflate's most is 1,032."""

FREE_RATIO_BYTES = 16 * 2**20
"""Below this much unpacked, the ratio is nobody's concern."""

MOST_MEMBERS = 200_000
MOST_MANIFEST = 64 * 2**20
MOST_LINE = 32 * 2**20
MOST_SOURCE = 4 * 2**20
_NAME = re.compile(
    r"manifest\.json|[a-z_]{1,40}\.jsonl|kernels/[0-9a-f]{64}\.(mu|py|cu|cpp)"
    r"|problems/[A-Za-z0-9._~-]{1,80}\.py|reports/[0-9]{1,10}\.ncu-rep"
)


@dataclass(frozen=True, slots=True)
class Member:
    """One file of the archive as the manifest names it; ``bytes`` unpacked, ``sha256`` of them in hex."""

    name: str
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """What an archive says of itself. ``run``, ``title`` and ``owner`` are the run's at its origin.

    Times of day are ISO 8601 in UTC. ``digest`` is of all members, so that two archives of the same content have the
    same; ``seal`` is of everything else that stands here.
    """

    format: int
    product: str
    created: str
    origin: str
    run: int
    title: str
    owner: str
    cancelled_by: str
    hardware: tuple[str, ...]
    started: str | None
    finished: str | None
    counts: dict[str, int]
    members: tuple[Member, ...]
    digest: str = ""
    seal: str = ""

    def sealed(self) -> Manifest:
        """With both digests as they must be."""
        whole = replace(self, digest=digest_of(self.members), seal="")
        return replace(whole, seal=hashlib.sha256(text_of(whole).encode("utf-8", "surrogatepass")).hexdigest())


def digest_of(members: tuple[Member, ...]) -> str:
    """SHA-256 over names, sizes and digests of all members, in the order of their names."""
    lines = [f"{one.sha256} {one.bytes} {one.name}\n" for one in sorted(members, key=lambda one: one.name)]
    return hashlib.sha256("".join(lines).encode("utf-8", "surrogatepass")).hexdigest()


def text_of(manifest: Manifest) -> str:
    """The manifest as it is written, for people too."""
    return json.dumps(to_json(manifest), indent=1, ensure_ascii=False) + "\n"


def line_of(record: dict[str, Any]) -> bytes:
    """One record as a line of JSON."""
    text = json.dumps(record, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8", "surrogatepass") + b"\n"


def is_member(name: str) -> bool:
    """Whether an archive of this format may hold a file of that name."""
    return _NAME.fullmatch(name) is not None


def product_version() -> str:
    """The installed version of the product."""
    try:
        return version("mucutlass-web")
    except PackageNotFoundError:
        return "0"
