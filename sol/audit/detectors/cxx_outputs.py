"""What a compiled kernel writes: constants, copies of the input, nothing at all, sums onto what was there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sol.audit.base import Reading, SourceDetector, line
from sol.audit.cxx.spans import names, split, statements, texts
from sol.audit.cxx.tokens import Kind, Token
from sol.audit.cxx.unit import LAUNCH, Call, Function, Unit, calls_in
from sol.audit.record import Flag, Severity
from sol.audit.tricks import Trick

_COPIES = frozenset({"memcpy", "cudaMemcpyAsync", "cudaMemcpy", "memmove", "copy", "copy_n"})
_FILLS = frozenset({"memset", "cudaMemsetAsync", "cudaMemset", "fill", "fill_n", "cuMemsetD32Async"})

_PLAIN = frozenset(
    {"of", "cudaGetLastError", "cudaStream_t", "sizeof", "static_cast", "reinterpret_cast", "const_cast"}
)
_LIBRARIES = ("cublas", "cudnn", "cusparse", "cufft", "at::", "torch::", "cblas_", "dnnl", "mkl_")


class CxxOutputs(SourceDetector):
    """Of sources by the launch ABI, where inputs and outputs have fixed names."""

    name = "kernel-outputs"
    tricks = (
        Trick.CONSTANT_OUTPUT,
        Trick.INPUT_IGNORED,
        Trick.IDENTITY,
        Trick.LEFTOVER_MEMORY,
        Trick.ZEROED_MEMORY,
    )

    def cxx(self, unit: Unit, reading: Reading) -> Iterator[Flag]:
        """By the statements within reach of the launch."""
        yield from self._summed(unit)
        launch = unit.function(LAUNCH)
        if not unit.raw or launch is None:
            return
        place = launch.place
        inputs, outputs = ([*launch.parameter_names, "", ""])[:2]
        mentioned = names(launch.body) | {n for f in unit.reachable for n in names(f.body)}
        writes = [write for function in unit.reachable for write in _element_writes(function)]
        calls = [call for function in unit.reachable for call in calls_in(function.body)]
        if not outputs or outputs not in names(launch.body):
            words = "no output is written: what was in its memory passes for an answer"
            yield self.flag(Trick.LEFTOVER_MEMORY, Severity.SEVERE, 0.85, words, place)
            return
        fills = [call for call in calls if call.last in _FILLS]
        if not inputs or not _used(inputs, launch):
            constant = (writes or fills) and all(_is_constant(right) for _, _, right in writes)
            trick = Trick.CONSTANT_OUTPUT if constant else Trick.INPUT_IGNORED
            words = "constants are written and no input is read" if constant else "no input is read"
            yield self.flag(trick, Severity.SEVERE, 0.85, words, place)
            return
        yield from self._unused(unit, reading, mentioned, inputs, launch)
        yield from self._values(unit, writes, calls)

    def _unused(
        self, unit: Unit, reading: Reading, mentioned: set[str], inputs: str, launch: Function
    ) -> Iterator[Flag]:
        """Inputs of the problem that are neither named nor reached by number."""
        signature = reading.subject.signature
        if signature is None or "problem" not in mentioned or f"{inputs}[" in "".join(texts(launch.body)):
            return
        named = set()
        for function in unit.reachable:
            body = texts(function.body)
            named |= {body[i + 2] for i in range(len(body) - 2) if body[i : i + 2] == ["problem", "::"]}
        missing = [spec.name for spec in signature.inputs if spec.name not in named]
        if missing:
            words = f"the input {missing[0][:40]} is never read"
            yield self.flag(Trick.INPUT_IGNORED, Severity.SUSPECT, 0.6, words, launch.place)

    def _values(self, unit: Unit, writes: list[_Write], calls: list[Call]) -> Iterator[Flag]:
        fills = [c for f in unit.reachable for c in calls_in(f.body) if c.last in _FILLS]
        copies = [c for f in unit.reachable for c in calls_in(f.body) if c.last in _COPIES]
        if writes and all(_is_constant(right) for _, _, right in writes) and not copies:
            words = "every element that is written is a constant"
            yield self.flag(Trick.CONSTANT_OUTPUT, Severity.SEVERE, 0.85, words, line(writes[0][0].line))
        elif not writes and fills and {call.last for call in calls} <= _FILLS | _PLAIN:
            words = f"{fills[0].last} is all that writes the output"
            yield self.flag(Trick.CONSTANT_OUTPUT, Severity.SEVERE, 0.85, words, line(fills[0].line))
        elif (writes or copies) and _copies_alone(writes, copies, unit):
            number = writes[0][0].line if writes else copies[0].line
            words = "elements are copied from the input and nothing is computed"
            yield self.flag(Trick.IDENTITY, Severity.SEVERE, 0.8, words, line(number))

    def _summed(self, unit: Unit) -> Iterator[Flag]:
        """Elements that are added to and never set. Of Python's C++, where the memory is made without being set."""
        words_used = set(unit.words)
        made_empty = {"empty", "empty_like"} & words_used and not {
            "zeros",
            "zeros_like",
            "zero_",
            "fill_",
        } & words_used
        fills = [c for f in unit.reachable for c in calls_in(f.body) if c.last in _FILLS]
        if fills or not (unit.raw or made_empty):
            return
        writes = [write for function in unit.reachable for write in _element_writes(function)]
        onto = [write for write in writes if write[1] == "+="]
        targets = {write[0].text for write in onto} & _outputs_of(unit)
        if targets and not targets & {write[0].text for write in writes if write[1] == "="}:
            words = "sums are added to the output, which nothing has set"
            yield self.flag(Trick.ZEROED_MEMORY, Severity.SUSPECT, 0.7, words, line(onto[0][0].line))


_Write = tuple[Token, str, Sequence[Token]]


def _element_writes(function: Function) -> Iterator[_Write]:
    """``name[…] = right``: the name's token, the operator, the right side."""
    for piece in statements(function.body):
        words = texts(piece)
        for index, word in enumerate(words):
            if word in ("=", "+=") and index and words[index - 1] == "]":
                depth, at = 0, index - 1
                while at >= 0:
                    depth += (words[at] == "]") - (words[at] == "[")
                    if depth == 0:
                        break
                    at -= 1
                if at > 0 and piece[at - 1].kind is Kind.NAME:
                    yield piece[at - 1], word, piece[index + 1 :]
                break


def _used(inputs: str, launch: Function) -> bool:
    """Whether the array of inputs is more than silenced: ``(void)inputs``."""
    words = texts(launch.body)
    return any(word == inputs and words[max(i - 2, 0) : i] != ["void", ")"] for i, word in enumerate(words))


def _is_constant(right: Sequence[Token]) -> bool:
    """Numbers and conversions of them alone."""
    known = {"float", "half", "__half", "T", "double", "__float2half", "static_cast", "int", "bfloat16"}
    return bool(right) and not names(right) - known and any(token.kind is Kind.NUMBER for token in right)


def _copies_alone(writes: Sequence[_Write], copies: Sequence[Call], unit: Unit) -> bool:
    """Whether each write is ``x[i]``, perhaps times 1 or plus 0, and nothing else computes."""
    if any(token.text in ("asm", "wmma", "mma_sync") for token in unit.code):
        return False
    calls = [c for f in unit.reachable for c in calls_in(f.body)]
    if any(call.name.startswith(_LIBRARIES) for call in calls):
        return False
    if not writes:
        called = {c.last for f in unit.reachable for c in calls_in(f.body)} - _COPIES
        loops = any(token.text in ("for", "while") for f in unit.reachable for token in f.body)
        return bool(copies) and not loops and called <= _PLAIN
    return all(_is_element(right) for _, _, right in writes)


def _is_element(right: Sequence[Token]) -> bool:
    words = texts(right)
    if words[-2:] in (["*", "1.0f"], ["*", "1"], ["+", "0"], ["+", "0.0f"], ["*", "1.f"], ["+", "0.f"]):
        words = words[:-2]
    if len(words) < 4 or words[1] != "[" or words[-1] != "]":
        return False
    depth = 0
    for index, word in enumerate(words[1:], start=1):
        depth += (word == "[") - (word == "]")
        if depth == 0:
            return index == len(words) - 1
    return False


def _outputs_of(unit: Unit) -> set[str]:
    """Pointers that can be outputs: parameters that are not const, and what a launch takes from the array."""
    found: set[str] = set()
    for function in unit.reachable:
        for part in split(function.parameters):
            words = texts(part)
            if "*" in words and "const" not in words and words[-1:] and words[-1].isidentifier():
                found.add(words[-1])
        for piece in statements(function.body):
            words = texts(piece)
            if "outputs" in words and "=" in words:
                found.add(words[words.index("=") - 1])
    return found
