"""Put a problem's flaws together: from its graph, and from a sample of runs where there is one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kernels.problems.inspection import Inspection
from kernels.problems.sample import Sample
from sol.audit.problems import cancelling, reach, redundant, removable, values
from sol.audit.problems.record import Flaw, ProblemAudit, ProblemFlaw, by_gravity
from sol.audit.record import Severity
from sol.bounds.graph import UNFAMILIAR, Call, GraphView
from sol.bounds.ops.constructors import RANDOM
from sol.bounds.savings.constants import constants


def audit(inspection: Inspection, sample: Sample | None, *, not_run: str = "") -> ProblemAudit:
    """All flaws of one problem at one size. ``sample`` is None where it was not run, for the reason ``not_run``."""
    found: list[ProblemFlaw] = []
    not_traced = inspection.graph_error or ""
    if inspection.graph is not None:
        try:
            found += _of_graph(GraphView(inspection), inspection)
        except UNFAMILIAR as error:
            not_traced = f"the graph holds what the analysis does not know ({error})"
    if sample is not None:
        found = [_seen_not_to_matter(flaw, sample) for flaw in found]
        found += values.flaws(sample, len(inspection.signature.inputs))
    return ProblemAudit(inspection.size, by_gravity(_merged(found)), sample, not_run, not_traced)


def _of_graph(view: GraphView, inspection: Inspection) -> Iterator[ProblemFlaw]:
    yield from _constant(view)
    yield from _random(view)
    yield from reach.flaws(view)
    yield from removable.flaws(view, inspection)
    yield from redundant.flaws(view)
    yield from cancelling.flaws(view)


def _constant(view: GraphView) -> Iterator[ProblemFlaw]:
    """Outputs that no input can change, with the step at which the inputs are lost."""
    known = constants(view)
    lost = [(name, reason) for (name, _), reason in known.items() if reason != "made of constants only"]
    told = "; ".join(f"{name} ({view.call(view.producers[name]).op}): {reason}" for name, reason in lost[:3])
    outputs = [value for value in view.outputs if value in known]
    if outputs:
        words = f"{len(outputs)} of {len(view.outputs)} outputs are constant: {told}"
        nodes = tuple(name for name, _ in lost[:3])
        # What a normalisation has centred is constant as long as its weights are all one.
        sure = 0.8 if any("centred" in reason for _, reason in lost) else 0.97
        yield ProblemFlaw(Flaw.CONSTANT_OUTPUT, Severity.SEVERE, sure, "graph", words, {}, nodes)
    elif lost:
        words = f"values that no input can change are computed: {told}"
        yield ProblemFlaw(Flaw.REDUNDANT_OPERATION, Severity.SUSPECT, 0.9, "graph", words)


def _random(view: GraphView) -> Iterator[ProblemFlaw]:
    drawn = [node.name for node in view.nodes if _draws(view.call(node))]
    if drawn:
        words = f"random numbers are drawn in forward: {', '.join(drawn[:3])}" + (" …" if len(drawn) > 3 else "")
        yield ProblemFlaw(Flaw.LIVE_RANDOMNESS, Severity.SUSPECT, 0.9, "graph", words, {}, tuple(drawn))


def _draws(call: Call) -> bool:
    if call.op in ("dropout", "native_dropout"):
        return bool(call.argument(2, "train", True)) and call.number(1, "p", 0.5) > 0
    return call.op in RANDOM


def _seen_not_to_matter(flaw: ProblemFlaw, sample: Sample) -> ProblemFlaw:
    """Random numbers that change no output are no more than a remark."""
    if flaw.flaw is not Flaw.LIVE_RANDOMNESS or not sample.again.none:
        return flaw
    words = f"{flaw.evidence}; two runs with other numbers gave the same outputs to the last bit"
    return replace(flaw, severity=Severity.INFO, evidence=words)


def _merged(found: list[ProblemFlaw]) -> list[ProblemFlaw]:
    """A parameter that both parts name is named once."""
    from_graph = {flaw.evidence for flaw in found if flaw.found_by == "graph"}
    return [
        flaw
        for flaw in found
        if flaw.found_by == "graph"
        or flaw.flaw is not Flaw.PARAMETER_IGNORED
        or not any(f" {flaw.evidence.split()[0]} " in evidence for evidence in from_graph)
    ]
