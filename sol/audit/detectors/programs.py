"""What a μCUTLASS program returns: constants, what ignores an input, the input itself, a part."""

from __future__ import annotations

from collections.abc import Iterator

from kernels.dsl import Program
from kernels.dsl.syntax import Assign, Name
from sol.audit.base import Reading, SourceDetector, line
from sol.audit.mu import Uses, is_constant, is_copy, is_torch, last, stages
from sol.audit.record import Flag, Severity, quoted
from sol.audit.tricks import Trick

_FILLS = frozenset({"zeros_like", "ones_like", "full_like", "zeros", "ones", "full"})
_RANDOM = frozenset({"rand_like", "randn_like", "rand", "randn", "manual_seed", "bernoulli", "normal"})


class Programs(SourceDetector):
    """The language has no state, no streams and no files; what is left can be read off its stages."""

    name = "program"
    tricks = (
        Trick.CONSTANT_OUTPUT,
        Trick.INPUT_IGNORED,
        Trick.IDENTITY,
        Trick.SEED_PREDICTION,
        Trick.PARTIAL_OUTPUT,
    )

    def program(self, program: Program, reading: Reading) -> Iterator[Flag]:
        """By what the outputs rest on."""
        uses = Uses(program)
        own = [stage for stage in stages(program) if stage.target in uses.reached]
        constant = [s for s in own if is_constant(s) or (is_torch(s) and last(s) in _FILLS)]
        if constant and constant[-1].target in uses.outputs:
            words = f"{quoted(constant[-1].target)} is a constant, whatever the inputs hold"
            place = line(constant[-1].span.line)
            yield self.flag(Trick.CONSTANT_OUTPUT, Severity.SEVERE, 0.85, words, place)
            return
        yield from self._inputs(program, uses, reading)
        place = line(program.stages[0].span.line if program.stages else program.span.line)
        if own and all(is_copy(stage) for stage in own):
            yield self.flag(Trick.IDENTITY, Severity.SEVERE, 0.8, "every stage copies its input", place)
        elif not own and all(isinstance(output, Name) for output in program.outputs):
            yield self.flag(
                Trick.IDENTITY, Severity.SEVERE, 0.8, "an input is returned and nothing is computed", place
            )
        for stage in own:
            if is_torch(stage) and last(stage) in _RANDOM:
                words = f"{quoted(stage.op)} draws numbers"
                yield self.flag(Trick.SEED_PREDICTION, Severity.SUSPECT, 0.6, words, line(stage.span.line))
        yield from self._padded(program, own)

    def _inputs(self, program: Program, uses: Uses, reading: Reading) -> Iterator[Flag]:
        signature = reading.subject.signature
        count = len(signature.inputs) if signature is not None else 1
        inputs = program.parameters[:count]
        idle = [p for p in inputs if p.name not in uses.reached]
        if idle:
            severity = Severity.SEVERE if len(idle) == len(inputs) else Severity.SUSPECT
            words = f"no output rests on the input {quoted(idle[0].name)}"
            yield self.flag(Trick.INPUT_IGNORED, severity, 0.8, words, line(idle[0].span.line))

    def _padded(self, program: Program, own: list[Assign]) -> Iterator[Flag]:
        """A slice that is padded to its old size: the rest of the output is a constant."""
        for stage in own:
            if (
                stage.op == "pad"
                and stage is own[-1]
                and any(".slice" in str(arg) for s in program.stages for arg in s.args)
            ):
                words = "a part is computed, and the rest of the output is padding"
                yield self.flag(Trick.PARTIAL_OUTPUT, Severity.SUSPECT, 0.65, words, line(stage.span.line))
