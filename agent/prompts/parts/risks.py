"""How hypotheses are rated, in words: the same for a model that triages itself and for one whose answer is triaged."""

from __future__ import annotations

from agent.prompts.scene import Scene
from agent.triage import GAP_AT_REST

RATED = """\
- change: what to change, concretely
- cause: why it should help: the measured cause that it removes
- speedup S: expected speedup of the whole program (1.2: a fifth faster)
- implementation_risk R_impl, at least 1: 1 a knob, 1.5 a new stage structure, 3 likely not to work at first
- performance_risk R_perf, at least 1: 1 sure to gain if it works, 2 an even chance, 4 a long shot"""


def formula(scene: Scene) -> str:
    """The triage formula, with the gap where steering is on."""
    if not scene.settings.steering:
        return "ROI = S / (R_impl · R_perf)"
    return f"ROI = S^(1 + max(0, log10(g/{GAP_AT_REST:g}))) / (R_impl · R_perf), with g the gap to SOL"
