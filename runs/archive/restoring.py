"""An archive's records as rows: all of them in one transaction, or none.

Keys of the archive become primary keys of this database, people become text beside the run, and files are written
first and taken away again where the transaction fails.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.db import DataError, IntegrityError, transaction
from django.utils import timezone

from kernels.models import ProblemSize, Profile
from runs import contenders
from runs.archive import judgements, sharing
from runs.archive.checking import check_records
from runs.archive.errors import AlreadyHere, RecordUnreadable
from runs.archive.judgements import Told
from runs.archive.kinds import KINDS, Kind
from runs.archive.opening import Archive, opened
from runs.archive.origins import origin_of
from runs.archive.parsing import Parsed, parse_again
from runs.archive.rows import insert, set_column
from runs.feedback_models import Raised
from runs.importing import inspect_soon
from runs.models import Import, Run
from runs.profiles import reports_folder
from runs.talk_models import Remark
from sol.models import Case, Flag

_TOGETHER = 500
NOT_RESTORED = ("submissions", "lesson_edits", "reviews")
"""Kinds that stay in the archive. Their rows need an account of this place, and what the first two say is in attempts
and lessons too; that somebody elsewhere stands by a kernel is not this place's word."""

_JUDGED = ("cases", "flags", "entries")


def import_archive(path: Path, owner: User, *, recorded: bool = False) -> Run:
    """The run of an archive, owned by ``owner``. Raises an ArchiveError; nothing is kept then."""
    with opened(path) as archive:
        _check_new(archive)
        restorer = _Restorer(archive, owner)
        check_records(archive)
        try:
            with transaction.atomic():
                _check_new(archive)
                run = restorer.everything(recorded)
        except BaseException as error:
            restorer.forget_files()
            if isinstance(error, IntegrityError | DataError):
                words = f"the database does not take it ({str(error).splitlines()[0][:160]})"
                raise RecordUnreadable(member=restorer.at, line=restorer.line, why=words) from error
            raise
    if restorer.new_problems:
        inspect_soon()
    return run


def _check_new(archive: Archive) -> None:
    known = Import.objects.filter(digest=archive.manifest.digest, run__isnull=False).select_related("run").first()
    if known is not None:
        raise AlreadyHere(run=known.run, when=f"on {known.imported:%Y-%m-%d}")


class _Restorer:
    def __init__(self, archive: Archive, owner: User) -> None:
        self.archive, self.owner = archive, owner
        self.pks: dict[str, dict[Any, int]] = {kind.name: {} for kind in KINDS}
        self.new_problems: set[int] = set()
        self.taken: set[int] = set()
        self.told: dict[int, Told] = {}
        self.about: dict[int, judgements.About] = {}
        self.ahead: list[tuple[Kind, str, int, Any]] = []
        self.files: list[Path] = []
        self.where = origin_of(archive.manifest).where
        self.at, self.line = "", 0
        self.run: Run | None = None

    def everything(self, recorded: bool) -> Run:
        """All rows; the run."""
        for kind in KINDS:
            if kind.name not in NOT_RESTORED:
                for parsed in self._batches(kind):
                    self._store(kind, parsed)
        self._point_ahead()
        assert self.run is not None  # the records were checked
        origin = origin_of(self.archive.manifest)
        origin.run, origin.recorded = self.run, recorded
        origin.imported_by = None if recorded else self.owner
        known = judgements.known_cases(self.run)
        told = {self.about[key]: one for key, one in self.told.items()}
        origin.notes = judgements.take_over(self.run, told, known, origin.where)
        origin.save()
        contenders.rebuild(self.run.pk)
        return self.run

    def forget_files(self) -> None:
        """Take away what was written beside the database."""
        for path in self.files:
            path.unlink(missing_ok=True)

    def _batches(self, kind: Kind) -> Iterator[list[Parsed]]:
        lines = self.archive.lines(kind)
        while together := list(islice(lines, _TOGETHER)):
            self.at, self.line = kind.member, together[0][0]
            yield [parse_again(kind, line) for _, line in together]

    def _store(self, kind: Kind, parsed: list[Parsed]) -> None:
        shared: dict[str, Callable[[list[Parsed]], dict[Any, int]]] = {
            "problems": self._problems,
            "kernels": lambda each: sharing.kernels(self.archive, each),
            "devices": lambda each: sharing.devices(each, self.archive.manifest.digest),
        }
        if kind.name in shared:
            self.pks[kind.name] |= shared[kind.name](parsed)
        elif kind.name == "bounds":
            sharing.bounds([self._row(kind, one) for one in parsed])
        elif kind.name in _JUDGED:
            for one in parsed:
                self._judge(kind, one)
        else:
            self._insert(kind, parsed)

    def _insert(self, kind: Kind, parsed: list[Parsed]) -> None:
        rows = [(one, self._row(kind, one)) for one in parsed]
        kept = [(one, row) for one, row in rows if self._prepare(kind, one, row)]
        insert(kind.model, [row for _, row in kept])
        keys = self.pks[kind.name]
        for one, row in kept:
            keys[one.key] = row.pk
            self.ahead += [
                (kind, name, row.pk, one.refs[name]) for name in kind.later if one.refs[name] is not None
            ]

    def _row(self, kind: Kind, parsed: Parsed) -> Any:
        row = kind.model(**parsed.values)
        for name, key in parsed.refs.items():
            if name not in kind.later and key is not None:
                attname = kind.model._meta.get_field(name).attname  # type: ignore[union-attr]
                setattr(row, attname, self.pks[kind.refs[name]].get(key))
        return row

    def _prepare(self, kind: Kind, parsed: Parsed, row: Any) -> bool:
        """Make a row fit for this place; False where it is not kept."""
        if isinstance(row, ProblemSize):
            # No digest: nothing here was looked at by a worker of this place, and one will.
            row.digest = ""
            return row.problem_id in self.new_problems
        if isinstance(row, Run):
            row.owner = self.owner
            self.run = row
        elif kind.name == "lessons":
            # Its words are somebody else's: nobody is given them until a person restores it.
            row.retired = timezone.now()
        elif isinstance(row, Raised):
            row.elsewhere = True
        elif isinstance(row, Remark):
            row.text = self._said(parsed.people["user"], row.text)
        elif isinstance(row, Profile):
            row.elsewhere = self.archive.manifest.digest
            row.report = self._report(parsed.file) if parsed.file else ""
        return True

    def _problems(self, parsed: list[Parsed]) -> dict[Any, int]:
        found, new = sharing.problems(self.archive, parsed, self.taken)
        self.new_problems |= new
        return found

    def _said(self, name: str, text: str) -> str:
        """A remark with whose it was: an account of another place is nobody here."""
        return f"{name or 'somebody'} at {self.where}: {text}" if text else text

    def _report(self, name: str) -> str:
        if not self.archive.holds(name):
            return ""
        path = reports_folder() / f"{uuid.uuid4().hex}.ncu-rep"
        self.files.append(path)
        with path.open("wb") as file:
            for piece in self.archive.pieces(name):
                file.write(piece)
        return path.name

    def _point_ahead(self) -> None:
        """Set references to rows that came later, now that all are there."""
        for kind, name in [(one, name) for one in KINDS for name in one.later]:
            field: Any = kind.model._meta.get_field(name)
            to = self.pks[kind.refs[name]]
            rows = [(to[key], pk) for of, column, pk, key in self.ahead if of is kind and column == name]
            set_column(kind.model, field.column, rows)

    def _judge(self, kind: Kind, parsed: Parsed) -> None:
        row = self._row(kind, parsed)
        if isinstance(row, Case):
            self.about[parsed.key] = (row.kernel_id, row.problem_id)
            self.told[parsed.key] = Told(parsed.values, parsed.people.get("settled_by", ""))
        elif isinstance(row, Flag):
            self.told[parsed.refs["case"]].flags.append(row)
        else:
            told = self.told[parsed.refs["case"]]
            told.entries.append((parsed.values, parsed.people.get("user", "")))
