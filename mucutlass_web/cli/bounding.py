"""An evaluation's form with its time beside the bounds, where the machine's peaks are known without measuring."""

from __future__ import annotations

from dataclasses import replace

from kernels.codegen.emission import Emission
from kernels.evaluation_form import EvaluationForm
from kernels.harness.evaluation import Evaluation
from kernels.problems.inspection import Inspection
from kernels.profiling.record import Profile
from kernels.records import from_json, to_json
from mucutlass_web.cli.peaks import known_device
from sol.bounds import bound, count
from sol.gap.assessment import Assessment, assess
from sol.gap.evidence import Evidence


def beside_bounds(
    form: EvaluationForm,
    evaluation: Evaluation | None,
    inspection: Inspection | None,
    emission: Emission | None,
    profile: Profile | None,
) -> EvaluationForm:
    """``gap`` filled in. A time below the floor keeps its place as evidence and has no speedup over anything."""
    if evaluation is None or evaluation.candidate is None or evaluation.machine is None or inspection is None:
        return form
    device = known_device(form.device.kind, evaluation.machine.name)
    if device is None:
        return form
    bounds = bound(count(inspection), inspection, device, form.policy)
    found = assess(Evidence.of(bounds, evaluation, device, emission, profile))
    if found is None:
        return form
    speedup = dict.fromkeys(form.speedup) if found.standing.held else form.speedup
    return replace(form, gap=to_json(found), speedup=speedup)


def assessment_of(form: EvaluationForm) -> Assessment | None:
    """The record that ``gap`` holds."""
    return from_json(form.gap, Assessment) if form.gap is not None else None
