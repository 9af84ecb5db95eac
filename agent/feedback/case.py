"""One candidate's evidence, opened: its checked program, its stages' shares, its kernels, and legal advice.

Advice that names a knob is made here alone, and only with a value that the checker accepts for this program, target
and policy: no tool can advise what the language would refuse.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property

from agent.feedback.evidence import Evidence
from agent.feedback.record import Advice
from kernels.dsl import CheckedProgram, ProgramErrors, check, parse
from kernels.dsl.edit import set_knob
from kernels.dsl.ir import Stage
from kernels.dsl.knobs import knob_rows
from kernels.dsl.simd import Simd, detect
from kernels.languages import Language
from kernels.profiling.record import KernelProfile, Pipes, ProfileOutcome
from kernels.targets import Target

PRODUCTS = ("gemm", "bmm", "grouped_gemm", "conv")
ROWS = ("reduce", "softmax", "norm")
MOVING = ("map", "cast", "pool", "pad", "relayout")
_LOOKED_AT = 3
"""So many kernels, the longest ones, are looked at."""
_ROOF_PCT, _FED_PCT = 75.0, 70.0
_LEAST_SHARE = 0.1
"""A kernel or a stage of less than this share of the time is not worth a finding."""

Args = tuple[int | str, ...]


class Case:
    """What tools look at. Made from evidence alone."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        self.on_card = evidence.target.is_cuda

    # --- the program ----------------------------------------------------------------------------

    @cached_property
    def checked(self) -> CheckedProgram | None:
        """The checked program; None for other languages and for what the checker refuses."""
        if self.evidence.language is not Language.MU:
            return None
        e = self.evidence
        try:
            return check(parse(e.source), e.signature, e.target, e.policy, e.simd)
        except ProgramErrors:
            return None

    @cached_property
    def running(self) -> tuple[Stage, ...]:
        """The stages of every call, in order."""
        return () if self.checked is None else tuple(each for each in self.checked.stages if not each.once)

    def stages(self, *ops: str) -> Iterator[Stage]:
        """Those of these operations that take a share worth looking at, the longest first (unmeasured: in order)."""
        chosen = [each for each in self.running if each.op in ops and (self.share(each) or 1.0) >= _LEAST_SHARE]
        return iter(sorted(chosen, key=lambda each: -(self.share(each) or 0.0)))

    @cached_property
    def simd(self) -> Simd:
        """The host's vector unit."""
        return self.evidence.simd or detect()

    # --- shares ---------------------------------------------------------------------------------

    @cached_property
    def seconds(self) -> dict[str, float]:
        """Seconds of each stage, where stages were timed."""
        return {share.stage: share.seconds for share in self.evidence.stages}

    def share(self, stage: Stage | None) -> float | None:
        """A stage's share of the measured stage time, 0 to 1; None where it was not measured."""
        total = sum(self.seconds.values())
        if stage is None or total <= 0 or stage.name not in self.seconds:
            return None
        return self.seconds[stage.name] / total

    def gain(self, share: float | None, local: float) -> tuple[float | None, str]:
        """Amdahl's law for a part that becomes ``local`` times as fast, with the sum; None without a share."""
        if share is None or local <= 1:
            return None, ""
        gain = 1 / ((1 - share) + share / local)
        return (
            gain,
            f"{share:.0%} of the time {local:.3g}x as fast: 1 / ({1 - share:.2f} + {share:.2f} / {local:.3g})",
        )

    # --- the profile ----------------------------------------------------------------------------

    @cached_property
    def kernels(self) -> tuple[KernelProfile, ...]:
        """All launches of a measured profile, in order; empty where there is none."""
        profile = self.evidence.profile
        measured = profile is not None and profile.outcome is ProfileOutcome.MEASURED
        return profile.kernels if profile is not None and measured else ()

    @cached_property
    def hot(self) -> tuple[KernelProfile, ...]:
        """The candidate's own launches worth looking at, the longest first."""
        own = [each for each in self.kernels if each.own and (self.kernel_share(each) or 1.0) >= _LEAST_SHARE]
        return tuple(sorted(own, key=lambda each: -(each.duration_s or 0.0))[:_LOOKED_AT])

    def first(self, holds: Callable[[KernelProfile], bool]) -> KernelProfile | None:
        """The longest launch of which ``holds`` is true."""
        return next((kernel for kernel in self.hot if holds(kernel)), None)

    def kernel_share(self, kernel: KernelProfile) -> float | None:
        """A launch's share of all launches' time, 0 to 1."""
        total = self.evidence.profile.total_s if self.evidence.profile is not None else None
        return kernel.duration_s / total if total and kernel.duration_s is not None else None

    def stage_of(self, kernel: KernelProfile) -> Stage | None:
        """The stage that launched it, where that is certain: one stage alone, or one own kernel a stage."""
        native = [each for each in self.running if each.op != "torch"]
        if len(native) == 1:
            return native[0] if kernel.own else None
        own = [each for each in self.kernels if each.own]
        if len(own) == len(native):
            return next((stage for stage, each in zip(native, own, strict=True) if each is kernel), None)
        products = [each for each in native if each.op in PRODUCTS]
        return products[0] if len(products) == 1 and uses_tensor_cores(kernel.pipes) else None

    def stage_of_symbol(self, symbol: str) -> Stage | None:
        """The first stage, of those that run at every call, that a built unit was made for."""
        names = self.evidence.unit_stages.get(symbol, ())
        return next((each for each in self.running if each.name in names), None)

    # --- advice ---------------------------------------------------------------------------------

    def knob(
        self, stage: Stage | None, name: str, values: Iterable[Args], words: str, most: int = 1
    ) -> list[Advice]:
        """Up to ``most`` of ``values`` for a knob, as advice: those that the checker accepts and that change it.

        Empty where the target has no such knob for that stage.
        """
        if stage is None or self.checked is None or name not in knob_rows(stage.op, self.evidence.target):
            return []
        found: list[Advice] = []
        now = _args(stage.knobs.get(name, "auto"))
        for args in values:
            if len(found) < most and args != now and self._accepted(stage, name, args):
                found.append(Advice(words, stage.name, name, args, now))
        return found

    def _accepted(self, stage: Stage, name: str, args: Args) -> bool:
        e, checked = self.evidence, self.checked
        assert checked is not None
        try:
            changed = check(
                set_knob(checked.program, stage.name, name, args), e.signature, e.target, e.policy, e.simd
            )
        except ProgramErrors:
            return False
        after = next(each for each in changed.stages if each.name == stage.name)
        return after.knobs != stage.knobs

    def structure(self, change: str, stage: Stage | None, words: str) -> list[Advice]:
        """Advice to change the program's structure at a stage."""
        return [] if stage is None else [Advice(words, stage.name, change=change)]


def uses_tensor_cores(pipes: Pipes) -> bool:
    """Whether the tensor pipe ran at all."""
    return bool(pipes.tensor_pct or pipes.tensor_instructions or pipes.gmma_instructions or pipes.hmma_instructions)


def tensor_cores_fed(kernel: KernelProfile) -> bool:
    """Whether the tensor cores are busy nearly all the time: waiting for them is what a good product does."""
    return (kernel.pipes.tensor_pct or 0.0) >= _FED_PCT


def at_memory_roof(kernel: KernelProfile) -> bool:
    """Whether a part of the memory system is busy nearly all the time: warps then wait for it whatever they do.

    A plain copy reaches 80 percent of the peak of an H200's memory, and spends 97 percent of a warp's time waiting.
    """
    return max(kernel.speed.memory_pct or 0.0, kernel.speed.dram_pct or 0.0) >= _ROOF_PCT


def stall_share(kernel: KernelProfile, *reasons: str) -> float | None:
    """Share of a warp's time that went to these reasons; None where the profile does not have them."""
    known = [stall.share for stall in kernel.stalls if stall.reason in reasons and stall.share is not None]
    return sum(known) if known else None


def scaled(stage: Stage, knob: str, *factors: tuple[float, ...]) -> list[Args]:
    """A knob's numbers times each of ``factors``, rounded: values to try, legal or not."""
    now = [int(each) for each in _args(stage.knobs.get(knob, 0)) if isinstance(each, int)]
    return [tuple(max(1, round(a * f)) for a, f in zip(now, each, strict=False)) for each in factors]


def is_product(stage: Stage | None) -> bool:
    """Whether it multiplies matrices."""
    return stage is not None and stage.op in PRODUCTS


def host(case: Case) -> bool:
    """Whether the candidate runs on the host."""
    return case.evidence.target is Target.HOST


def _args(value: object) -> Args:
    if isinstance(value, list | tuple):
        return tuple(value)
    # 0 is how a checked program writes the word auto.
    return ("auto",) if value == 0 else (value,)  # type: ignore[return-value]
