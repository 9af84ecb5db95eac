"""A product with fewer tiles than there are multiprocessors (or cores), and a long K to share out."""

from __future__ import annotations

from collections.abc import Iterator

from agent.feedback.case import Case, host, scaled
from agent.feedback.record import Advice, Bottleneck, Severity
from agent.feedback.tools.tool import Judgement, Sight, Tool
from kernels.dsl.ir import Stage

_LONG = 256
"""Steps of K below which parts of it are not worth their sum (ours)."""
_FULL = 0.75


class SmallGrid(Tool):
    """Tiles for under three quarters of the machine (ours), by the knobs alone."""

    name = "small-grid"
    title = "Grid too small: split K"
    classes = frozenset({Bottleneck.COMPUTE, Bottleneck.LATENCY, Bottleneck.MIXED, Bottleneck.MEMORY})
    general = "Split the summed dimension over blocks and add the parts, or use smaller tiles."

    def trigger(self, case: Case) -> Sight | None:
        """By extents, tile and the machine's units; nothing is measured for it."""
        units = case.evidence.units
        if not units:
            return None
        for stage in case.stages("gemm", "bmm"):
            tiles = _tiles(stage, case)
            if (
                tiles < _FULL * units
                and stage.attributes["k"] >= _LONG
                and stage.knobs.get("schedule") != "streamk"
            ):
                what = "cores" if host(case) else "multiprocessors"
                seen = (f"{tiles} tiles for {units} {what}", f"K is {stage.attributes['k']}")
                return Sight(seen, stage, None, tiles / units)
        return None

    def analyse(self, case: Case, sight: Sight) -> Judgement:
        """If every unit had its share."""
        what = "cores" if host(case) else "multiprocessors"
        cause = f"The result has tiles for {sight.value:.0%} of the {what}; the others idle."
        severity = Severity.CRITICAL if sight.value <= 0.5 else Severity.WARNING
        return Judgement(severity, cause, *case.gain(case.share(sight.stage), 1 / sight.value))

    def recommend(self, case: Case, sight: Sight) -> Iterator[Advice]:
        """Split K, stream it, or smaller tiles."""
        stage = sight.stage
        assert stage is not None
        wanted = max(2, round(1 / sight.value))
        yield from case.knob(
            stage, "split", [(wanted,), (4,), (2,)], "Parts of K for those that idle, added at the end."
        )
        yield from case.knob(stage, "schedule", [("streamk",)], "Stream-K spreads K evenly over the card.")
        knob = "micro" if host(case) else "tile"
        smaller = scaled(stage, knob, (1, 0.5, 1), (0.5, 1, 1), (0.5, 0.5, 1))
        yield from case.knob(stage, knob, smaller, "Smaller tiles are more of them.")


def _tiles(stage: Stage, case: Case) -> int:
    """Pieces that can be worked on at once: tiles of the grid, on the host register tiles."""
    rows, columns = stage.knobs["micro" if host(case) else "tile"][:2]
    extents = stage.attributes
    tiles = -(-int(extents["m"]) // rows) * -(-int(extents["n"]) // columns) * int(extents.get("batch", 1))
    return int(tiles) * int(stage.knobs.get("split") or 1)
