"""PTX and SASS of a candidate's units as its page shows them: what is stored, what waits, and what stands in the way.

A unit is named as the page names it: ``0`` of the run's own target, ``x0`` of the program compiled for sm_90a. What is
stored lies in the build cache; no row holds it. How a listing is made is the tool chain's business.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from django.conf import settings

from kernels.codegen.emission import Emission
from kernels.records import from_json
from kernels.toolchain import Cache
from kernels.toolchain.listings import Built, Listing, built_unit, missing_tool
from kernels.toolchain.report import BuildReport
from runs.models import Attempt, Job
from runs.states import LIVING_JOBS, JobKind, JobState

SHOWN_BYTES = 200 * 2**10
"""Of a listing, so much comes with the page; the whole is a download."""
_KEY = re.compile(r"(x?)(\d{1,4})")


def listing_kind(name: str) -> Listing | None:
    """``ptx`` or ``sass`` as an address has it; None for anything else."""
    return next((kind for kind in Listing if kind.value == name), None)


def unit_of(attempt: Attempt, key: str) -> Built | None:
    """The unit of that name, where it was built for a card."""
    named = _KEY.fullmatch(key)
    row = (attempt.cross_build if named[1] else attempt.build) if named else None
    if named is None or row is None:
        return None
    report = from_json(row.report, BuildReport)
    return built_unit(from_json(row.emission, Emission), report.units, int(named[2]))


def listing_jobs(attempt: Attempt, key: str, kind: Listing) -> list[Job]:
    """Every job that was to make this listing, the latest first."""
    wanted = {"unit": key, "listing": kind.value}
    rows = Job.objects.filter(attempt=attempt, kind=JobKind.DISASSEMBLE).order_by("-pk")
    return [job for job in rows if job.payload == wanted]


@dataclass(frozen=True)
class ListingPane:
    """One listing of one unit, or the reason why there is none yet."""

    attempt: Attempt
    key: str
    kind: Listing
    built: Built

    @cached_property
    def file(self) -> Path | None:
        """Where it is stored; None until it was made."""
        path = Cache(settings.BUILD_CACHE_DIR).listing(self.built.key, self.kind)
        return path if path.is_file() else None

    @cached_property
    def bytes(self) -> int:
        """How long the whole is."""
        return self.file.stat().st_size if self.file is not None else 0

    @property
    def cut(self) -> bool:
        """Whether only its beginning is shown."""
        return self.bytes > SHOWN_BYTES

    @property
    def shown_bytes(self) -> int:
        """How much of a cut one is shown, at most: it ends with a whole line."""
        return SHOWN_BYTES

    @cached_property
    def text(self) -> str:
        """What is shown of it, as text."""
        if self.file is None:
            return ""
        with self.file.open("rb") as handle:
            start = handle.read(SHOWN_BYTES)
        if self.cut:
            start = start[: start.rfind(b"\n") + 1] or start
        return start.decode("utf-8", "replace")

    @property
    def file_name(self) -> str:
        """The name under which it is downloaded."""
        return f"{self.built.unit.symbol}.{self.built.emission.target}.{self.kind}"

    @cached_property
    def _latest(self) -> Job | None:
        return next(iter(listing_jobs(self.attempt, self.key, self.kind)), None)

    @property
    def job(self) -> Job | None:
        """The job that is to make it and has not ended."""
        living = self.file is None and self._latest is not None and self._latest.state in LIVING_JOBS
        return self._latest if living else None

    @property
    def error(self) -> str:
        """What the last try said, where it failed."""
        last = self._latest
        if self.file is not None or last is None or last.state in LIVING_JOBS:
            return ""
        if last.state == JobState.LOST:
            lines = last.error.strip().splitlines() or ["its worker stopped answering"]
            return f"lost after {last.tries} tries: {lines[-1][:300]}"
        return last.error or "the listing is no longer in the build cache"

    @cached_property
    def missing(self) -> str:
        """The tool that this machine lacks to make it, said to a person; empty where none is missing."""
        found = missing_tool(self.kind, self.built.emission.target)
        return str(found) if found is not None else ""

    @property
    def ptx_instead(self) -> bool:
        """Whether PTX can be made here where SASS cannot."""
        return self.kind is Listing.SASS and missing_tool(Listing.PTX, self.built.emission.target) is None

    @property
    def state(self) -> str:
        """What a page asks for while it waits, to learn whether anything changed."""
        return "stored" if self.file is not None else (self.job.state if self.job is not None else "none")
