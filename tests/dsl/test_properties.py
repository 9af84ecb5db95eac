"""Whatever the text: a program, or errors with places; and what is printed reads back as it was."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kernels.dsl import ProgramErrors, check, format_program, parse
from kernels.dsl.printer import same
from kernels.dsl.simd import AVX512
from kernels.dsl.syntax import Program
from kernels.targets import Policy, Target
from tests.dsl.programs import linear
from tests.dsl.rules import RULES

VALID = tuple(dict.fromkeys(rule.passes for rule in RULES if rule.passes.startswith("program")))
BODIES = (
    """program linear_gelu(x: f32[M, K], w: f32[N, K], b: f32[N]) -> f32[M, N]
  v = cast(w, f32) @once
  y = gemm(x, v.T).tile(96, 512, 256).micro(12, 32).stages(3) >> bias(b) >> gelu() >> expr(acc * 2 - b)
  s = torch.softmax(y, -1) -> f32[M, N]
  z = map(where(gt(s, 0.5), s * sigmoid(y), -s)).vector(auto) >> clamp(min=0)
  n = layer_norm(z, b, b, eps=1e-5).vector(4) >> mul(z)
  m = reduce(n, max, dims=1, keepdim=true).threads(auto) >> scale(2)
  q = softmax(m)
  t = z.reshape(M * N).slice(0, 0, M * N).reshape(M, N)
  return t
""",
)
WORDS = """program p return gemm bmm map cast reduce softmax rms_norm sum
torch.topk x w b y M 4 -1 0 1e9 .T .reshape .tile ( ) [ ] , . : = -> >>
@once @ + - * / # " ' relu acc auto f32 f16 i64 .slice(0,0,1) (x,) 99999999999999999999 ~ é"""
PIECES = st.sampled_from([*WORDS.split(), "\n", "\0"])


def outcome(text: str) -> Program | None:
    """The program, or None for errors, each of which has its place in the text."""
    try:
        program = parse(text)
    except ProgramErrors as refused:
        errors = refused.errors
    else:
        assert same(parse(format_program(program)), program)
        return program
    lines = text.split("\n")
    assert errors
    for error in errors:
        assert 1 <= error.line <= len(lines)
        assert 1 <= error.column <= len(lines[error.line - 1]) + 1
        assert error.message
        assert error.mend
        assert error.show(text)
    return None


def checked_or_refused(text: str) -> None:
    program = outcome(text)
    if program is None:
        return
    for target in Target:
        try:
            made = check(program, linear(64, 96, 32), target, Policy.TF32, AVX512)
        except ProgramErrors as refused:
            errors = refused.errors
        else:
            assert made.outputs
            assert len({value.name for value in made.values}) == len(made.values)
            continue
        assert all(error.line >= 1 and error.mend for error in errors)


@given(st.text(max_size=200))
@settings(max_examples=200, deadline=None)
def test_any_text_is_a_program_or_has_errors(text: str) -> None:
    outcome(text)


@given(st.lists(PIECES, max_size=60).map(" ".join))
@settings(max_examples=200, deadline=None)
def test_any_words_of_the_language_are_a_program_or_have_errors(text: str) -> None:
    checked_or_refused(f"program p(x: f32[M, K], w: f32[N, K], b: f32[N]) -> f32[M, N] y = {text} return y")


@st.composite
def mutations(draw: st.DrawFn) -> str:
    """A valid program with a few cuts, insertions, repetitions and swaps."""
    text = draw(st.sampled_from(VALID + BODIES))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 12)))
        new = draw(st.one_of(st.just(""), PIECES, st.text(max_size=3), st.just(text[start:end] * 2)))
        text = text[:start] + new + text[end:]
    return text


@given(mutations())
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_mutation_is_checked_or_refused(text: str) -> None:
    checked_or_refused(text)


KINDS = ("name", "number", "binary", "negate", "call", "list", "view", "group")
NUMBERS = st.one_of(
    st.integers(-(2**62), 2**62).map(str), st.floats(allow_nan=False, allow_infinity=False).map(repr)
)


@st.composite
def values(draw: st.DrawFn, depth: int = 2) -> str:
    """An expression as text."""
    kinds = (
        ["name", "number"]
        if depth == 0
        else ["name", "number", "binary", "negate", "call", "list", "view", "group"]
    )
    inner = values(depth=depth - 1) if depth else st.nothing()
    match draw(st.sampled_from(kinds)):
        case "name":
            return draw(st.sampled_from(["x", "w.T", "layers.0.weight", "M", "y.1.T"]))
        case "number":
            return draw(
                st.one_of(
                    st.integers(-(2**62), 2**62).map(str),
                    st.floats(allow_nan=False, allow_infinity=False).map(repr),
                )
            )
        case "binary":
            return f"{draw(inner)} {draw(st.sampled_from('+-*/'))} {draw(inner)}"
        case "negate":
            return f"-{draw(inner)}"
        case "call":
            return f"gelu({draw(inner)}, k={draw(inner)})"
        case "list":
            return f"[{draw(inner)}, {draw(inner)}]"
        case "view":
            return f"({draw(inner)}).slice({draw(inner)}, 1).T"
        case _:
            return f"({draw(inner)})"


@given(values(), values(), st.booleans())
@settings(max_examples=100, deadline=None)
def test_what_is_printed_reads_back_as_it_was(first: str, second: str, once: bool) -> None:
    mark = " @once" if once else ""
    stage = f"y = f({first}).knob({second}) >> link({first}, a={second}){mark}"
    text = f"program p(x: f32[]) -> f32[] {stage} return {second}"
    assert outcome(text) is not None
