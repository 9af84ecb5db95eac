"""One evaluation from a file name to its form, in two halves: prepare (inspect, check, build) and measure.

The halves are apart so that a batch can build ahead while another candidate is measured. Whatever a candidate or a
problem does ends in the form; only what is wrong with the request itself (a file that cannot be read) raises.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, replace
from pathlib import Path

from kernels.candidates import built, prepare
from kernels.codegen.emission import Emission
from kernels.dsl import ProgramErrors
from kernels.errors import UserError
from kernels.evaluation_form import (
    Asked,
    CandidateForm,
    Ended,
    EvaluationForm,
    ProblemForm,
    evaluation_form,
    source_digest,
)
from kernels.harness import evaluate
from kernels.harness.baselines import BaselineKind
from kernels.harness.evaluation import EvaluationRequest, FlushKind, ModuleCandidate, Outcome, repeats_for
from kernels.harness.problem_tolerance import tolerance_for
from kernels.languages import check_target, language_of
from kernels.locks import machine_lock
from kernels.problems.errors import InspectionCancelled, ProblemRunError
from kernels.problems.inspection import Inspection
from kernels.profiling import profile
from kernels.profiling.record import Profile, ProfileRequest
from kernels.targets import Policy, Target
from kernels.toolchain import Cache, build
from kernels.toolchain.report import BuildOutcome, BuildReport
from mucutlass_web.cli.bounding import beside_bounds
from mucutlass_web.cli.feedback import with_feedback
from mucutlass_web.cli.inputs import inspect_problem, read_source
from mucutlass_web.cli.versions import versions

BUILD_LIMIT_S = 300.0
"""What one unit may take to compile, in seconds."""

_LOG_TAIL = 2000
_BUILD_ENDINGS = {
    BuildOutcome.FAILED: (Outcome.BUILD_ERROR, "the compiler refused the code"),
    BuildOutcome.TIMEOUT: (Outcome.BUILD_TIMEOUT, f"the compiler took longer than {BUILD_LIMIT_S:g} s"),
    BuildOutcome.NO_COMPILER: (Outcome.BUILD_ERROR, "there is no compiler for this target here"),
    BuildOutcome.DISK_FULL: (Outcome.BUILD_ERROR, "the disk of the build cache is full"),
}

Cancelled = Callable[[], bool] | None


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be evaluated and how. ``device`` is "host" or "cuda"; ``arch`` counts with the latter alone."""

    file: Path
    problem: Path
    device: str
    arch: Target
    size: str | None
    tolerance: str
    policy: Policy
    baselines: tuple[BaselineKind, ...]
    profile: bool = False
    flush: FlushKind = "read"

    @property
    def target(self) -> Target:
        """What the candidate is compiled for."""
        return Target.HOST if self.device == "host" else self.arch


class Inspections:
    """Each problem is looked at once, whoever asks: it takes an import of torch. Safe between threads."""

    def __init__(self, cancelled: Cancelled = None) -> None:
        self._cancelled = cancelled
        self._lock = threading.Lock()
        self._found: dict[tuple[Path, str | None, bool], Future[Inspection]] = {}

    def of(self, wanted: Wanted) -> Inspection:
        """The inspection; raises the same error to everybody who asks for a problem that has none."""
        key = (wanted.problem.absolute(), wanted.size, wanted.target.is_cuda)
        with self._lock:
            first = key not in self._found
            found = self._found.setdefault(key, Future())
        if first:
            try:
                found.set_result(
                    inspect_problem(wanted.problem, wanted.size, wanted.target, cancelled=self._cancelled)
                )
            except Exception as error:  # noqa: BLE001 - it belongs to everybody who waits for this problem
                found.set_exception(error)
        return found.result()


@dataclass(frozen=True, slots=True)
class Prepared:
    """A request that is ready to be measured, or one that has ended before: then ``request`` is None."""

    asked: Asked
    ended: Ended
    request: EvaluationRequest | None
    profile: bool
    seconds: float
    inspection: Inspection | None = None
    emission: Emission | None = None
    source: str = ""


class Preparation:
    """The half before measuring, for one cache and one set of looked-at problems. Safe between threads."""

    def __init__(self, store: Cache, cancelled: Cancelled = None) -> None:
        self._store = store
        self._cancelled = cancelled
        self._inspections = Inspections(cancelled)

    def prepare(self, wanted: Wanted) -> Prepared:
        """Read, inspect, check and build.

        Raises FileNotReadable, LanguageUnknown, a ProblemFileError and UnknownTolerance, and when cancelled
        BuildCancelled, LockCancelled or InspectionCancelled.
        """
        began, inspection, emission = time.monotonic(), None, None
        language = language_of(wanted.file)
        source = read_source(wanted.file).text
        asked = Asked(
            candidate=CandidateForm(str(wanted.file), language, source_digest(source)),
            problem=ProblemForm(str(wanted.problem), None),
            policy=wanted.policy,
            device=wanted.device,
            target=wanted.target,
            baselines=wanted.baselines,
        )
        try:
            inspection = self._inspections.of(wanted)
        except InspectionCancelled:
            raise
        except ProblemRunError as error:
            ended, request = Ended(Outcome.PROBLEM_ERROR, str(error)), None
        else:
            asked = replace(
                asked,
                problem=replace(asked.problem, size=inspection.size),
                tolerance=tolerance_for(wanted.tolerance, inspection, wanted.policy, wanted.target),
            )
            ended, request, emission = self._candidate(wanted, asked, inspection, source)
        spent_s = time.monotonic() - began
        return Prepared(asked, ended, request, wanted.profile, spent_s, inspection, emission, source)

    def _candidate(
        self, wanted: Wanted, asked: Asked, inspection: Inspection, source: str
    ) -> tuple[Ended, EvaluationRequest | None, Emission | None]:
        language, target = asked.candidate.language, wanted.target
        try:
            check_target(language, target)
            prepared = prepare(source, language, inspection.signature, target, wanted.policy)
        except (ProgramErrors, UserError) as error:
            return Ended(Outcome.REFUSED, str(error)), None, None
        report, artifacts, emission = None, {}, None
        if not isinstance(prepared, ModuleCandidate):
            report, emission = self._build(prepared), prepared
            if report.outcome is not BuildOutcome.BUILT:
                return _not_built(report), None, emission
            artifacts = {unit.symbol: self._store.path(unit.artifact) for unit in report.units if unit.artifact}
        request = EvaluationRequest(
            problem_path=str(wanted.problem.absolute()),
            size=inspection.size,
            signature=inspection.signature,
            candidate=built(prepared, artifacts),
            device=wanted.device,
            repeats=repeats_for(wanted.device),
            tolerance=asked.tolerance or tolerance_for(wanted.tolerance, inspection, wanted.policy, target),
            baselines=wanted.baselines,
            policy=wanted.policy,
            energy=True,
            flush=wanted.flush,
        )
        return Ended(Outcome.NOT_MEASURED, "", report=report), request, emission

    def _build(self, emission: Emission) -> BuildReport:
        """Nothing is compiled while something is timed on this machine's CPU."""
        with machine_lock(exclusive=False, cancelled=self._cancelled):
            return build(emission, cache=self._store, time_limit_s=BUILD_LIMIT_S, cancelled=self._cancelled)


def measure(prepared: Prepared, cancelled: Cancelled = None) -> EvaluationForm:
    """Evaluate what was prepared, and profile it where that was asked for and it passed. Raises nothing."""
    began = time.monotonic()
    ended = prepared.ended
    if prepared.request is not None:
        evaluation = evaluate(prepared.request, cancelled=cancelled)
        profiled = None
        if prepared.profile and evaluation.outcome is Outcome.PASSED:
            profiled = _profile(prepared.request, cancelled)
        ended = Ended(evaluation.outcome, evaluation.detail, evaluation, ended.report, profiled)
    wall_s = prepared.seconds + time.monotonic() - began
    machine = ended.evaluation.machine if ended.evaluation else None
    form = evaluation_form(prepared.asked, ended, wall_s, versions(machine))
    form = beside_bounds(form, ended.evaluation, prepared.inspection, prepared.emission, ended.profile)
    return with_feedback(form, prepared.source, ended, prepared.inspection, prepared.emission)


def _profile(request: EvaluationRequest, cancelled: Cancelled) -> Profile:
    asked = ProfileRequest(
        problem_path=request.problem_path,
        size=request.size,
        signature=request.signature,
        candidate=request.candidate,
        device=request.device,
    )
    return profile(asked, cancelled=cancelled)


def _not_built(report: BuildReport) -> Ended:
    outcome, words = _BUILD_ENDINGS[report.outcome]
    log = next((unit.log for unit in report.units if unit.outcome is report.outcome), "").strip()
    return Ended(outcome, f"{words}: {log[-_LOG_TAIL:]}" if log else words, report=report)
