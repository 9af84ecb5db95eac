"""An evaluation's form with what the feedback tools say of it, from what this command knows: no run, no history."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from agent.feedback import Evidence, Finding, findings
from agent.feedback.evidence import with_evaluation
from kernels.codegen.emission import Emission
from kernels.evaluation_form import Ended, EvaluationForm
from kernels.problems.inspection import Inspection
from kernels.records import from_json, to_json
from mucutlass_web.cli.peaks import known_device
from sol.bounds import bound, count
from sol.bounds.record import Device


def with_feedback(
    form: EvaluationForm, source: str, ended: Ended, inspection: Inspection | None, emission: Emission | None
) -> EvaluationForm:
    """``feedback`` filled in; empty where the problem could not be looked at."""
    if inspection is None:
        return form
    device = _device(form, ended)
    evidence = Evidence(
        target=form.device.target,
        policy=form.policy,
        signature=inspection.signature,
        language=form.candidate.language,
        source=source,
        outcome=ended.outcome,
        detail=ended.detail,
        bounds=bound(count(inspection), inspection, device, form.policy) if device is not None else None,
        build=ended.report,
        profile=ended.profile,
        unit_stages={unit.symbol: unit.stages for unit in emission.units} if emission is not None else {},
        **_machine(device),
    )
    if ended.evaluation is not None:
        evidence = with_evaluation(evidence, ended.evaluation)
    return replace(form, feedback=tuple(to_json(one) for one in findings(evidence)))


def findings_in(form: EvaluationForm) -> tuple[Finding, ...]:
    """The records that ``feedback`` holds."""
    return tuple(from_json(one, Finding) for one in form.feedback)


def _device(form: EvaluationForm, ended: Ended) -> Device | None:
    machine = ended.evaluation.machine if ended.evaluation is not None else None
    return known_device(form.device.kind, machine.name) if machine is not None else None


def _machine(device: Device | None) -> dict[str, Any]:
    if device is None:
        return {}
    units, l2_bytes = (device.facts.get(name) for name in ("sms" if device.kind == "cuda" else "cores", "l2_bytes"))
    return {
        "units": int(float(units)) if units else None,
        "l2_bytes": int(float(l2_bytes)) if l2_bytes else None,
    }
