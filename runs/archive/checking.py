"""Reading every record of an archive once, before anything is written: each parses, and each reference has an end.

What is read here twice costs time; what is first read inside the transaction would hold the database meanwhile.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import defaultdict
from typing import Any

from agent.steps import FinishReason
from kernels.errors import UserError
from kernels.languages import check_text
from kernels.models import Kernel
from kernels.records import from_json
from runs import engine
from runs.archive.errors import ArchiveError, RecordUnreadable
from runs.archive.kinds import KINDS, Kind
from runs.archive.opening import Archive
from runs.archive.parsing import Parsed, parse
from runs.models import Run
from runs.states import FINAL
from sol.audit.record import Evidence, Flag, Severity
from sol.audit.tricks import Trick

_WRONG = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError)
"""What reading a form that is another than it must be can raise."""

_SLUG = re.compile(r"[^/?#%\\\x00-\x1f\x7f]+(/[^/?#%\\\x00-\x1f\x7f]+)*")
_ARTIFACT = re.compile(r"\w{1,80}", re.ASCII)
_BOM = b"\xef\xbb\xbf"


def check_records(archive: Archive) -> None:
    """Raise RecordUnreadable for the first record that is none, or that contradicts another."""
    _Checker(archive).everything()


class _Checker:
    def __init__(self, archive: Archive) -> None:
        self.archive = archive
        self.keys: dict[str, set[Any]] = {kind.name: set() for kind in KINDS}
        self.ahead: list[tuple[Kind, int, str, Any]] = []
        self.logs: dict[int, _Log] = defaultdict(_Log)

    def everything(self) -> None:
        """All kinds in their order, then what points ahead."""
        for kind in KINDS:
            for number, line in self.archive.lines(kind):
                try:
                    self._record(kind, number, parse(kind, line))
                except ArchiveError:
                    raise
                except (*_WRONG, UserError) as error:
                    raise RecordUnreadable(member=kind.member, line=number, why=error) from error
            count, said = len(self.keys[kind.name]), self.archive.manifest.counts.get(kind.name, 0)
            if count != said:
                raise RecordUnreadable(
                    member=kind.member, line=count, why=f"there are {count} records, the manifest says {said}"
                )
        for kind, number, name, key in self.ahead:
            if key not in self.keys[kind.refs[name]]:
                raise RecordUnreadable(member=kind.member, line=number, why=f"{name} {key} is no record")
        if len(self.keys["run"]) != 1:
            raise RecordUnreadable(member="run.jsonl", line=1, why="an archive holds one run")

    def _record(self, kind: Kind, number: int, parsed: Parsed) -> None:
        seen = self.keys[kind.name]
        if kind.key == "id" and (isinstance(parsed.key, bool) or parsed.key != number):
            raise ValueError(f"its id is {parsed.key!r}; records are numbered from 1")
        if parsed.key in seen:
            raise ValueError(f"{parsed.key} is there twice")
        seen.add(parsed.key)
        for name, key in parsed.refs.items():
            if key is not None and name in kind.later:
                self.ahead.append((kind, number, name, key))
            elif key is not None and key not in self.keys[kind.refs[name]]:
                raise ValueError(f"{name} {key} is no record")
        _check_times(parsed)
        self._check_by_kind(kind.name, parsed)

    def _check_by_kind(self, name: str, parsed: Parsed) -> None:
        if name in ("run", "trajectories", "attempts", "jobs") and parsed.values["state"] not in FINAL:
            raise ValueError(f"its state is {parsed.values['state']}; archives hold what has ended")
        if name == "problems":
            self._check_problem(parsed)
        elif name == "kernels":
            self._check_kernel(parsed)
        elif name == "run":
            _check_run(parsed)
        elif name == "builds":
            _check_artifacts(parsed)
        elif name == "trajectories":
            reason = parsed.values["finish_reason"]
            if reason and reason not in list(FinishReason):
                raise ValueError(f"finish_reason is {reason!r}, which this version does not know")
        elif name == "cases":
            _check_share("confidence", parsed.values["confidence"])
        elif name == "flags":
            _check_flag(parsed.values)
        elif name == "events":
            self.logs[parsed.refs["trajectory"]].add(parsed.values)

    def _check_problem(self, parsed: Parsed) -> None:
        slug, sizes = parsed.values["slug"], parsed.values["sizes"]
        if not _SLUG.fullmatch(slug) or ".." in slug.split("/"):
            raise ValueError("slug is no name of a problem")
        if not isinstance(sizes, list) or not sizes or not all(isinstance(size, str) for size in sizes):
            raise ValueError("sizes is no list of names")
        text = self.archive.text(parsed.file).encode()
        digests = (hashlib.sha256(text).hexdigest(), hashlib.sha256(_BOM + text).hexdigest())
        if parsed.values["digest"] not in digests:
            raise ValueError("its digest is not its text's")

    def _check_kernel(self, parsed: Parsed) -> None:
        text = self.archive.text(parsed.file)
        check_text(text)
        if Kernel.digest_of(parsed.values["language"], text) != parsed.key:
            raise ValueError("its digest is not its text's")


class _Log:
    """What a trajectory's log said so far, as far as pages rely on it."""

    def __init__(self) -> None:
        self.last = 0
        self.asked: set[int] = set()
        self.submitted: set[int] = set()

    def add(self, values: dict[str, Any]) -> None:
        """One more event. Raises ValueError for one that cannot come here."""
        record, kind = values["record"], values["kind"]
        if kind != record.get("kind"):
            raise ValueError(f"kind is {kind!r}, its record's {record.get('kind')!r}")
        if values["sequence"] <= self.last or (self.last == 0 and kind != "started"):
            raise ValueError("its log is out of order")
        self.last = values["sequence"]
        if kind == "asked":
            self.asked.add(record["ask"]["number"])
        elif kind == "submitted":
            self.submitted.add(record["number"])
        elif kind == "answered" and record["number"] not in self.asked:
            raise ValueError("it answers what nobody asked")
        elif kind in ("measured", "profiled") and record["number"] not in self.submitted:
            raise ValueError("it is of an attempt that was not submitted")


def _check_times(parsed: Parsed) -> None:
    for name, value in parsed.values.items():
        if name.endswith("_s") and isinstance(value, float) and not (math.isfinite(value) and value > 0):
            raise ValueError(f"{name} is {value:g}, no time")


def _check_share(name: str, value: float) -> None:
    if not 0 <= value <= 1:
        raise ValueError(f"{name} is {value:g}, no share from 0 to 1")


def _check_flag(values: dict[str, Any]) -> None:
    """Raise ValueError for what no detector could have raised: pages read it as a Flag."""
    evidence = from_json(values["evidence"], Evidence)
    Flag(values["detector"], Trick(values["trick"]), Severity(values["severity"]), values["confidence"], evidence)


def _check_artifacts(parsed: Parsed) -> None:
    """The key of a shared object becomes the name of a file in the build cache."""
    for unit in parsed.values["report"]["units"]:
        if unit["artifact"] is not None and not _ARTIFACT.fullmatch(str(unit["artifact"])):
            raise ValueError("an artifact is no key of the build cache")


def _check_run(parsed: Parsed) -> None:
    run = Run(**parsed.values)
    engine.settings_of(run)
    if not run.baselines or not run.baseline_kinds or not run.tolerance:
        raise ValueError("baselines or tolerance are missing")
