"""Hand-written C++ by the launch ABI, from source to outcome on the host; and what its build may read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from kernels.candidates import built, emission_of
from kernels.codegen.emission import Emission
from kernels.harness import evaluate, isolation
from kernels.harness.evaluation import Evaluation, Outcome
from kernels.languages import Language, LanguageElsewhere, SourceRefused
from kernels.targets import Policy, Target
from kernels.toolchain import Cache, build
from kernels.toolchain.build import cache_key
from kernels.toolchain.gxx import find
from kernels.toolchain.report import BuildOutcome, BuildReport
from tests.harness.conftest import MakeRequest
from tests.harness.programs import SIGNATURE

RIGHT = """
#include "problem.h"

extern "C" int mucutlass_launch(const void* const* inputs, void* const* outputs, void*, void*) {
  const float* x = problem::x::of(inputs);
  const float* bias = problem::bias::of(inputs);
  float* y = problem::OUTPUT::of(outputs);
  constexpr std::int64_t rows = problem::x::d0, columns = problem::x::d1;
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) {
      const float sum = x[i * columns + j] + bias[j];
      y[i * columns + j] = sum > 0 ? sum : 0;
    }
  return 0;
}
""".replace("OUTPUT", SIGNATURE.outputs[0].name)
HEAD = RIGHT[: RIGHT.index("  for (")]


def with_body(body: str, before: str = "") -> str:
    """The right launch with another body; ``body`` ends in a return."""
    return before + HEAD + "  (void)x; (void)bias; (void)y; (void)rows; (void)columns;\n" + body + "\n}\n"


def emitted(source: str, target: Target = Target.HOST, language: Language = Language.CPP) -> Emission:
    return emission_of(source, language, SIGNATURE, target, Policy.STRICT)


@pytest.fixture
def store(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


@pytest.fixture
def compiled(store: Cache) -> Callable[[str], BuildReport]:
    return lambda source: build(emitted(source), cache=store)


@pytest.fixture
def measured(store: Cache, make_request: MakeRequest) -> Callable[[str], Evaluation]:
    def run(source: str) -> Evaluation:
        emission = emitted(source)
        report = build(emission, cache=store)
        assert report.outcome is BuildOutcome.BUILT, report.units[0].log
        artifacts = {unit.symbol: store.path(unit.artifact) for unit in report.units if unit.artifact}
        return evaluate(make_request(candidate=built(emission, artifacts)))

    return run


def test_a_right_kernel_is_measured(measured: Callable[[str], Evaluation]) -> None:
    evaluation = measured(RIGHT)
    assert (evaluation.outcome, evaluation.detail) == (Outcome.PASSED, "")
    assert [(stage.stage, stage.library) for stage in evaluation.stages] == [("launch", False)]


def test_a_kernel_gets_the_workspace_that_it_asks_for(measured: Callable[[str], Evaluation]) -> None:
    source = RIGHT.replace("void*, void*) {", "void* workspace, void*) {\n  float* sums = (float*)workspace;")
    source = source.replace("y[i * columns + j] = sum > 0", "sums[j] = sum; y[i * columns + j] = sums[j] > 0")
    asks = 'extern "C" std::size_t mucutlass_workspace_bytes() { return problem::x::d1 * sizeof(float); }\n'
    assert measured(source + asks).outcome is Outcome.PASSED
    # Without asking there is none, and the first store is a fault.
    assert measured(source).outcome is Outcome.CRASH


@pytest.mark.parametrize(
    ("body", "before", "outcome", "words"),
    [
        ("return 0;", "", Outcome.INCORRECT, "never written"),
        ("for (std::int64_t i = 0; i < rows * columns; ++i) y[i] = 0; return 0;", "", Outcome.INCORRECT, "zero"),
        ("return 5;", "", Outcome.LAUNCH_ERROR, "stage launch: mucutlass_launch returned error code 5"),
        ("return 12;", "", Outcome.OUT_OF_MEMORY, "ENOMEM"),
        ("throw 7;", "", Outcome.CRASH, "SIGABRT"),
        ("*(volatile int*)8 = 1; return 0;", "", Outcome.CRASH, "SIGSEGV"),
        ("const_cast<float*>(x)[0] += 1; return 0;", "", Outcome.INCORRECT, ""),
        ("std::exit(0);", "#include <cstdlib>\n", Outcome.CRASH, "exit status 0"),
    ],
)  # fmt: skip
def test_a_wrong_kernel_ends_in_its_own_outcome(
    measured: Callable[[str], Evaluation], body: str, before: str, outcome: Outcome, words: str
) -> None:
    evaluation = measured(with_body(body, before))
    assert (evaluation.outcome, words in evaluation.detail) == (outcome, True), evaluation.detail


def test_a_kernel_that_asks_for_more_workspace_than_there_is_runs_out_of_memory(
    measured: Callable[[str], Evaluation],
) -> None:
    asks = 'extern "C" std::size_t mucutlass_workspace_bytes() { return std::size_t(1) << 50; }\n'
    assert measured(RIGHT + asks).outcome is Outcome.OUT_OF_MEMORY


def test_a_source_without_the_function_is_a_launch_error(measured: Callable[[str], Evaluation]) -> None:
    evaluation = measured("int something_else() { return 0; }\n")
    assert evaluation.outcome is Outcome.LAUNCH_ERROR
    assert "has no function mucutlass_launch" in evaluation.detail


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("int f( {", "mucutlass_launch.cpp:1"),
        (RIGHT.replace("void*, void*)", "void*)"), "mucutlass_launch"),
        (RIGHT.replace("problem::x::d1", "problem::x::d2"), "d2"),
        (RIGHT.replace("const float* bias", "const double* bias"), "double"),
    ],
)
def test_what_the_compiler_refuses_is_told_with_the_sources_own_lines(
    compiled: Callable[[str], BuildReport], source: str, words: str
) -> None:
    report = compiled(source)
    assert report.outcome is BuildOutcome.FAILED
    assert words in report.units[0].log


def test_a_source_cannot_read_what_the_sandbox_hides(
    compiled: Callable[[str], BuildReport], tmp_path: Path
) -> None:
    if isolation.probe() != isolation.BUBBLEWRAP:
        pytest.skip("file systems are hidden by bubblewrap alone")
    secret = tmp_path / "secret.h"
    secret.write_text("this is a secret\n")
    report = compiled(f'#include "{secret}"\n' + RIGHT)
    assert report.outcome is BuildOutcome.FAILED
    assert "a secret" not in report.units[0].log
    assert "No such file" in report.units[0].log


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("int x;\0", "NUL bytes"),
        ("", "is empty"),
        ("  \n", "is empty"),
        ("// " + "a" * 5_000_000, "bytes long; at most 4194304 bytes"),
        ("// \ud800", "surrogate"),
    ],
)
def test_a_text_that_is_no_source_is_refused(source: str, words: str) -> None:
    with pytest.raises(SourceRefused, match=words):
        emitted(source)


def test_a_language_without_a_compiler_for_the_target_is_refused() -> None:
    with pytest.raises(LanguageElsewhere, match=r"a \.cpp source does not run on sm_90a"):
        emitted(RIGHT, Target.SM90A)
    with pytest.raises(LanguageElsewhere, match=r"a \.cu source does not run on host"):
        emitted(RIGHT, Target.HOST, Language.CU)


def test_the_cache_tells_hand_written_sources_apart_by_every_character() -> None:
    """A generated source's comments are no part of its key; what one in a person's text hides is not ours to know."""
    compiler = find()
    assert compiler is not None
    first = emitted("/* a // b */ int x = 1;\n").units[0]
    second = emitted("/* a // b */ int x = 2;\n").units[0]
    other = replace(first, headers=(replace(first.headers[0], text="// other"),))
    assert len({cache_key(unit, compiler) for unit in (first, second, other)}) == 3
