"""Time in library calls, which no knob reaches."""

from __future__ import annotations

from collections.abc import Iterator

from agent.feedback.case import Case
from agent.feedback.record import Advice, Severity
from agent.feedback.tools.tool import Judgement, Sight, Tool

_SHARE, _CRITICAL = 0.2, 0.5
_OURS = {"softmax": "softmax", "norm": "norm", "sum": "reduce", "mean": "reduce", "max": "reduce", "min": "reduce",
         "pool": "pool", "pad": "pad", "linear": "gemm", "matmul": "gemm", "conv": "conv"}  # fmt: skip
"""What a part of a torch function's name says about the stage that could take its place."""


class Library(Tool):
    """Over 20 percent of the time (ours) in torch.* stages, or in kernels that are not the candidate's own."""

    name = "library"
    title = "Library share"
    general = "Write the library's part as a kernel of its own, fused with its neighbours."

    def trigger(self, case: Case) -> Sight | None:
        """By stage times; where a module has none, by the card's record of kernels."""
        total = sum(case.seconds.values())
        parts = [share for share in case.evidence.stages if share.library]
        if total > 0 and parts:
            share = sum(part.seconds for part in parts) / total
            longest = max(parts, key=lambda part: part.seconds).stage
            stage = next((each for each in case.running if each.name == longest), None)
            seen = f"{share:.0%} of the stage time in {', '.join(part.stage for part in parts)}"
            return Sight((seen,), stage, None, share) if share > _SHARE else None
        activity = case.evidence.activity
        own = activity.own_share if activity is not None else None
        if own is None or 1 - own <= _SHARE:
            return None
        return Sight((f"{1 - own:.0%} of the kernel time is the library's",), None, None, 1 - own)

    def analyse(self, case: Case, sight: Sight) -> Judgement:
        """The rest can be made faster only so far: a bound on what all other advice can give."""
        severity = Severity.CRITICAL if sight.value >= _CRITICAL else Severity.WARNING
        return Judgement(severity, f"{sight.value:.0%} of the time is a library's, which no knob makes faster.")

    def recommend(self, case: Case, sight: Sight) -> Iterator[Advice]:
        """The stage of ours that does the same, where there is one."""
        stage = sight.stage
        if stage is None or stage.op != "torch":
            return
        function = str(stage.attributes.get("function", ""))
        ours = next((op for part, op in _OURS.items() if part in function.lower()), None)
        words = (
            f"{function}: a {ours} stage does it, and joins its neighbours"
            if ours
            else f"{function} as stages of ours"
        )
        yield from case.structure("replace", stage, f"{words}.")
