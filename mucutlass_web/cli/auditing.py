"""One file to its audit: read, looked through, and evaluated first where that was asked for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from kernels.dsl import ProgramErrors
from kernels.errors import UserError
from kernels.harness import evaluate
from kernels.harness.evaluation import Evaluation, Outcome
from kernels.languages import SOURCE_BYTES, SourceRefused, language_of
from kernels.problems.inspection import Inspection, Signature
from kernels.targets import Policy, Target
from mucutlass_web.cli.batch_lines import device_for
from mucutlass_web.cli.commands import cache
from mucutlass_web.cli.errors import FileNotReadable
from mucutlass_web.cli.evaluating import Cancelled, Preparation, Wanted
from mucutlass_web.cli.judging import Judge
from mucutlass_web.cli.peaks import known_device
from sol.audit import AuditOutcome, Subject, audit, outcome_of
from sol.audit.form import AuditForm, form_of, refused, text_of
from sol.bounds import Bounds, bound, count


@dataclass(frozen=True, slots=True)
class Beside:
    """What every file of one command is audited beside. ``device`` is None where the file's language says it."""

    problem: Path | None
    problem_text: str | None
    signature: Signature | None
    policy: Policy
    device: str | None
    arch: Target
    size: str | None


class Auditor:
    """Audits files one after another. Raises nothing for a file that cannot be audited: its form says why."""

    def __init__(
        self, beside: Beside, *, evaluating: bool, cancelled: Cancelled = None, judge: Judge | None = None
    ) -> None:
        self._beside = beside
        self._judge = judge
        self._cancelled = cancelled
        self._preparation = Preparation(cache(), cancelled) if evaluating else None

    def form(self, path: Path) -> AuditForm:
        """The audit of one file."""
        try:
            return self._audited(path)
        except (UserError, ProgramErrors) as error:
            return refused(str(path), error)

    def _audited(self, path: Path) -> AuditForm:
        beside, language = self._beside, language_of(path)
        subject = Subject(_text(path), language, beside.problem_text, beside.signature, beside.policy)
        if self._preparation is None or beside.problem is None:
            return self._judged(form_of(str(path), subject), subject)
        audit(subject)  # a text that cannot be read is refused before anything is built
        evaluation, bounds, cache_bytes, detail = self._evaluated(path, self._preparation, beside.problem)
        flags = audit(replace(subject, evaluation=evaluation, bounds=bounds, cache_bytes=cache_bytes))
        outcome = evaluation.outcome if evaluation is not None else Outcome.REFUSED
        return self._judged(AuditForm(str(path), outcome_of(flags), flags, None, outcome, detail), subject)

    def _judged(self, form: AuditForm, subject: Subject) -> AuditForm:
        """The form with what a model says beside it, where one was asked for and the text could be read."""
        if self._judge is None or form.outcome is AuditOutcome.REFUSED:
            return form
        judged = self._judge.judged(subject, form.flags)
        flags = (*form.flags, *judged.flags)
        return replace(form, outcome=outcome_of(flags), flags=flags, notes=judged.notes)

    def _evaluated(
        self, path: Path, preparation: Preparation, problem: Path
    ) -> tuple[Evaluation | None, Bounds | None, int | None, str]:
        beside = self._beside
        wanted = Wanted(
            file=path,
            problem=problem,
            device=beside.device or device_for(path),
            arch=beside.arch,
            size=beside.size,
            tolerance="kernelbench",
            policy=beside.policy,
            baselines=(),
        )
        prepared = preparation.prepare(wanted)
        if prepared.request is None:
            return None, None, None, prepared.ended.detail
        evaluation = evaluate(prepared.request, cancelled=self._cancelled)
        bounds, cache_bytes = _bounds(evaluation, prepared.inspection, wanted)
        return evaluation, bounds, cache_bytes, evaluation.detail


def _bounds(
    evaluation: Evaluation, inspection: Inspection | None, wanted: Wanted
) -> tuple[Bounds | None, int | None]:
    """Bounds on the machine that was measured, where its peaks are known; and its cache."""
    if evaluation.machine is None or inspection is None:
        return None, None
    device = known_device(wanted.device, evaluation.machine.name)
    if device is None:
        return None, None
    return bound(count(inspection), inspection, device, wanted.policy), device.cache_bytes


def _text(path: Path) -> str:
    """The text of a file of bearable size; FileNotReadable and SourceRefused."""
    try:
        size = path.stat().st_size
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise FileNotReadable(path=path, why=why) from None
    if not path.is_file():
        raise FileNotReadable(path=path, why="is no file")
    if size > SOURCE_BYTES:
        raise SourceRefused(wrong=f"is {size} bytes long", right=f"at most {SOURCE_BYTES} bytes")
    try:
        return text_of(path.read_bytes())
    except OSError as error:
        raise FileNotReadable(path=path, why=error.strerror or str(error)) from None
