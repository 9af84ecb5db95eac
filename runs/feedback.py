"""Feedback from rows: an attempt's evidence, its findings, and who followed what its parent's findings advised.

What is known decides: nothing is measured, built or profiled here. A tool that fails leaves an attempt without
findings; it never costs the attempt.
"""

from __future__ import annotations

import logging
from dataclasses import replace

from django.conf import settings

from agent.feedback import Evidence, Finding, findings
from agent.feedback.evidence import with_evaluation
from agent.feedback.following import followed, improved, log_gain
from agent.steps import Candidate, Event, Measured, Profiled, Submitted
from kernels.codegen.emission import Emission
from kernels.dsl import CheckedProgram, ProgramErrors, check, parse
from kernels.harness.evaluation import Evaluation, Outcome
from kernels.languages import Language
from kernels.models import ProblemSize
from kernels.problems.inspection import Signature
from kernels.profiling.record import Profile
from kernels.records import from_json
from kernels.targets import Policy, Target
from kernels.toolchain import Cache
from kernels.toolchain.listings import Listing
from kernels.toolchain.report import BuildReport
from kernels.toolchain.sass import SassFacts, sass_facts
from runs.machines import machine_of
from runs.models import Attempt, Followed, Raised, Trajectory
from runs.models import Event as EventRow
from sol.bounds.record import Bounds

logger = logging.getLogger(__name__)

_SASS_BYTES = 16 * 2**20
"""A listing of more bytes is left unread."""


def findings_of(
    attempt: Attempt,
    outcome: Outcome,
    detail: str,
    *,
    evaluation: Evaluation | None = None,
    report: BuildReport | None = None,
    emission: Emission | None = None,
    profile: Profile | None = None,
) -> tuple[Finding, ...]:
    """What the tools have to say about an attempt that ended, or was profiled since."""
    try:
        evidence = evidence_of(attempt, outcome, detail, report, emission)
        if evaluation is not None:
            evidence = with_evaluation(evidence, evaluation)
        return findings(replace(evidence, profile=profile))
    except Exception:  # a measured attempt must not be lost to a tool's mistake
        logger.exception("no feedback for %s", attempt)
        return ()


def evidence_of(
    attempt: Attempt, outcome: Outcome, detail: str, report: BuildReport | None, emission: Emission | None
) -> Evidence:
    """What the rows know of an attempt beside its evaluation and profile. Two queries."""
    trajectory, build = attempt.trajectory, attempt.build
    if report is None and build is not None:
        report = from_json(build.report, BuildReport)
    if emission is None and build is not None:
        emission = from_json(build.emission, Emission)
    units, l2_bytes = _machine(trajectory)
    return Evidence(
        target=Target(trajectory.run.target),
        policy=Policy(trajectory.run.policy),
        signature=_signature(trajectory),
        language=Language(attempt.kernel.language),
        source=attempt.kernel.source,
        outcome=outcome,
        detail=detail,
        bounds=from_json(trajectory.bounds, Bounds) if trajectory.bounds else None,
        build=report,
        units=units,
        l2_bytes=l2_bytes,
        sass=_sass(report),
        unit_stages={unit.symbol: unit.stages for unit in emission.units} if emission is not None else {},
    )


def _signature(trajectory: Trajectory) -> Signature:
    rows = ProblemSize.objects.filter(problem_id=trajectory.problem_id, size=trajectory.size)
    return from_json(rows.values_list("record__signature", flat=True).get(), Signature)


def _machine(trajectory: Trajectory) -> tuple[int | None, int | None]:
    """Cores and one core's L2 of the host, multiprocessors and L2 of the card; None where it was not noted."""
    machine = machine_of(trajectory)
    if machine is None:
        return None, None
    units, l2_bytes = (
        machine.facts.get(name) for name in ("sms" if machine.kind == "cuda" else "cores", "l2_bytes")
    )
    return (int(float(units)) if units else None), (int(float(l2_bytes)) if l2_bytes else None)


def _sass(report: BuildReport | None) -> SassFacts | None:
    """The facts of listings that somebody had made; None where there is none."""
    cache, found = Cache(settings.BUILD_CACHE_DIR), None
    for unit in report.units if report is not None and report.target.is_cuda else ():
        path = cache.listing(unit.artifact, Listing.SASS) if unit.artifact else None
        if path is not None and path.is_file() and path.stat().st_size <= _SASS_BYTES:
            facts = sass_facts(path.read_text(encoding="utf-8", errors="replace"))
            found = facts if found is None else found + facts
    return found


# --- rows ---------------------------------------------------------------------------------------


def record(attempt: Attempt, result: Measured) -> None:
    """Note what was raised at an attempt that ended, and whose advice it followed. Call it in the same transaction."""
    raise_all(attempt, result.feedback)
    if attempt.parent_id is not None and result.outcome is not Outcome.NOT_MEASURED:
        parent = Attempt.objects.select_related("kernel").get(pk=attempt.parent_id)
        parent.trajectory = attempt.trajectory
        _record_followed(attempt, parent, result)


def raise_all(attempt: Attempt, found: tuple[Finding, ...]) -> None:
    """The rows of an attempt's findings: what a profile took back goes, unless somebody followed it already."""
    names = [finding.tool for finding in found]
    attempt.raised.exclude(tool__in=names).filter(followed__isnull=True).delete()
    Raised.objects.bulk_create(
        [
            Raised(
                attempt=attempt,
                tool=finding.tool,
                target=attempt.trajectory.run.target,
                severity=finding.severity,
                expected=finding.gain,
            )
            for finding in found
        ],
        update_conflicts=True,
        unique_fields=["attempt", "tool"],
        update_fields=["severity", "expected"],
    )


def _record_followed(attempt: Attempt, parent: Attempt, result: Measured) -> None:
    known, candidate = _known_when_made(attempt, parent)
    raised = {row.tool: row for row in parent.raised.all()} if known else {}
    if not raised:
        return
    signature = _signature(attempt.trajectory)
    before, after = (_checked(each, signature) for each in (parent, attempt))
    own_s = None if result.flagged else result.time_s
    gain = log_gain(parent.counted_s, parent.eager_s, own_s, result.baseline_s)
    Followed.objects.bulk_create(
        Followed(
            raised=raised[each.tool], attempt=attempt, log_gain=gain, improved=improved(gain), named=each.named
        )
        for each in followed(known, before, after, attempt.change, candidate.tool)
        if each.tool in raised
    )  # fmt: skip


def _known_when_made(attempt: Attempt, parent: Attempt) -> tuple[tuple[Finding, ...], Candidate]:
    """The parent's findings as they stood when the candidate was submitted, and the candidate. One query."""
    rows = EventRow.objects.filter(
        trajectory=attempt.trajectory,
        kind__in=("measured", "profiled", "submitted"),
        record__number__in=(parent.number, attempt.number),
    )
    known: tuple[Finding, ...] = ()
    candidate = Candidate("", None, "", "")
    for stored in rows.order_by("sequence").values_list("record", flat=True):
        event: Event = from_json(stored, Event)  # type: ignore[arg-type]
        if isinstance(event, Submitted) and event.number == attempt.number:
            return known, event.candidate
        if isinstance(event, Measured | Profiled) and event.number == parent.number:
            known = event.feedback
    return known, candidate


def _checked(attempt: Attempt, signature: Signature) -> CheckedProgram | None:
    if attempt.kernel.language != Language.MU:
        return None
    run = attempt.trajectory.run
    try:
        return check(parse(attempt.kernel.source), signature, Target(run.target), Policy(run.policy))
    except ProgramErrors:
        return None
