"""Samples of problems too large to run whole, what budgets allow, and what a sample's figures say."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernels.problems.sample import Budget, Distance, Run, Sample, Spread
from kernels.problems.sampling import sample_many
from sol.audit.problems import Flaw, budget, values
from sol.audit.problems.budget import peak_bytes
from sol.audit.record import Severity
from tests.problems.sources import problem
from tests.sol.graphs import Sketch

TINY = Budget(small=1 / 16, large=1.0, seconds=60.0)
LARGE = """
N = 64
def get_inputs():
    return [torch.rand(N, 32)]
"""


def sized(forward: str, **more: str) -> str:
    """A problem whose inputs are as long as its constant N says."""
    return problem(forward, **more) + LARGE


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Sample | Exception]:
    """Problems run in a sixteenth of their extent, in one child."""
    sources = {
        "apart": sized("return x.softmax(1) * 3"),
        "coupled": sized("return x / torch.linalg.vector_norm(x) / 50"),
        "fixed": problem("return x + 1"),
        "batch norm": sized("return self.n(x)", init="self.n = nn.BatchNorm1d(32)"),
        "raises": problem("return self.missing(x)"),
        "too large": sized("return x + 1"),
    }
    folder = tmp_path_factory.mktemp("samples")
    paths = []
    for number, source in enumerate(sources.values()):
        paths.append(folder / f"{number}.py")
        paths[-1].write_text(source)
    budgets = [TINY if name != "too large" else Budget(1e-3, 1e-3, 60.0) for name in sources]
    found = sample_many(paths, ["default"] * len(paths), budgets)
    return dict(zip(sources, found, strict=True))


def taken(samples: dict[str, Sample | Exception], name: str) -> Sample:
    found = samples[name]
    assert isinstance(found, Sample)
    return found


def test_a_batch_is_made_smaller_by_its_constant(samples: dict[str, Sample | Exception]) -> None:
    apart = taken(samples, "apart")
    assert (apart.constant, apart.taken, apart.whole) == ("N", 4, 64)
    assert apart.coupled is False
    assert [len(run.outputs) for run in apart.runs] == [1, 1]
    assert apart.again == Distance(0.0, 0.0)
    assert apart.others.largest > 0


def test_samples_that_affect_each_other_are_run_as_large_as_fits(samples: dict[str, Sample | Exception]) -> None:
    """Zeros pass at the whole extent only: at a sixteenth of it the norm is a quarter."""
    coupled = taken(samples, "coupled")
    assert coupled.coupled is True
    assert coupled.trend is not None
    assert coupled.trend < 0.9
    assert coupled.is_whole
    assert taken(samples, "batch norm").coupled is True


def test_a_file_without_a_constant_is_run_whole_or_not_at_all(samples: dict[str, Sample | Exception]) -> None:
    fixed = taken(samples, "fixed")
    assert (fixed.constant, fixed.is_whole, fixed.coupled) == ("", True, None)
    assert "even N = 2 does not fit the machine" in str(samples["too large"])
    assert "AttributeError" in str(samples["raises"])


def test_a_budget_shrinks_with_work_and_memory() -> None:
    sketch = Sketch()
    x, w = sketch.input("x", 4096, 8192), sketch.parameter("w", 8192, 8192)
    y = sketch.op("mm", x, w, shape=(4096, 8192))
    large = sketch.done(sketch.op("relu", y, shape=(4096, 8192)))
    fixed, moving = peak_bytes(large)
    assert (fixed, moving) == (4 * 8192 * 8192, 3 * 4 * 4096 * 8192)
    found = budget(large, memory=1e12)
    assert found.small == pytest.approx(6e9 / (2 * 4096 * 8192 * 8192), rel=1e-3)
    assert found.large < 1
    assert budget(large, memory=0.0).large == 0


def sample(
    largest: float, *, again: float = 0.0, apart: float = 1.0, whole: int = 1, trend: float | None = None
) -> Sample:
    """A sample of one output whose elements lie from half of ``largest`` to it."""
    spread = Spread("out", largest / 2, largest, largest * 0.75, largest / 8, finite=True)
    runs = (Run(11, 101, (spread,)), Run(11, 102, (spread,)))
    constant = "B" if whole > 1 else ""
    distance = Distance(apart, apart)
    return Sample(
        "default", constant, 1, whole, 0.1, runs, Distance(again, again), distance, None, trend, {"x": distance}, {}
    )


@pytest.mark.parametrize(
    ("largest", "flaw", "severity"),
    [
        (0.0, Flaw.ZERO_OUTPUT, Severity.SEVERE),
        (9e-5, Flaw.ZEROS_PASS, Severity.SEVERE),
        (2e-4, Flaw.ZEROS_PASS, Severity.SUSPECT),
        (9e-3, Flaw.ZEROS_PASS, Severity.SUSPECT),
        (2e-2, Flaw.CONSTANT_PASSES, Severity.SUSPECT),
    ],
)
def test_the_tolerances_of_zeros(largest: float, flaw: Flaw, severity: Severity) -> None:
    found = list(values.flaws(sample(largest), 1))
    assert [(each.flaw, each.severity) for each in found] == [(flaw, severity)]


def test_large_outputs_have_no_flaw() -> None:
    assert not list(values.flaws(sample(1.0), 1))


def test_a_part_is_trusted_less_where_magnitudes_grow() -> None:
    def sure(**more: float) -> float:
        return next(values.flaws(sample(1e-5, **more), 1)).confidence  # type: ignore[arg-type]

    assert sure() > sure(whole=4, trend=1.0) >= sure(whole=4, trend=0.5) > sure(whole=4, trend=2.0)


def test_an_honest_copy_of_a_random_reference_fails() -> None:
    found = next(values.flaws(sample(1.0, again=0.3), 1))
    assert (found.flaw, found.severity) == (Flaw.LIVE_RANDOMNESS, Severity.SEVERE)
    assert "an exact copy of the reference fails at 0.0001 and 0.01" in found.evidence


def test_magnitudes_that_fall_are_followed_to_the_whole_extent() -> None:
    """A norm over all samples: seen at a sixteenth, four times too large to pass."""
    seen = replace(sample(3e-4, whole=16, trend=0.7071), coupled=True)
    measured, expected = list(values.flaws(seen, 1))
    assert (measured.figures["passes_at"], measured.severity) == (1e-2, Severity.SUSPECT)
    assert (expected.flaw, expected.severity, expected.figures["passes_at"]) == (
        Flaw.ZEROS_PASS,
        Severity.SEVERE,
        1e-4,
    )
    assert expected.figures["expected_magnitude"] == pytest.approx(7.5e-5, rel=1e-3)
    assert expected.confidence < measured.confidence
    assert "about 7.5e-05 is expected at 16" in expected.evidence
    apart = replace(seen, coupled=False)
    assert [flaw.figures["passes_at"] for flaw in values.flaws(apart, 1)] == [1e-2]
