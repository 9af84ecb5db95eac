"""Cheats that KernelBench's evaluation lets pass, each in a real evaluation: found, by a check that names it."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernels.candidates import check_python
from kernels.harness import evaluate
from kernels.harness.evaluation import EvaluationRequest, ModuleCandidate, Outcome
from kernels.harness.problem_tolerance import tolerance_for
from kernels.problems.inspect import inspect_many
from kernels.problems.inspection import Inspection
from kernels.targets import Policy, Target
from tests.harness.cheats import CHEATS, FOLDER, Cheat

ON_HOST = [cheat for cheat in CHEATS if not cheat.card]


@pytest.fixture(scope="module")
def inspections() -> dict[Path, Inspection]:
    paths = sorted({cheat.problem_path for cheat in CHEATS})
    found = inspect_many(paths, "cpu")
    return {path: one for path, one in zip(paths, found, strict=True) if isinstance(one, Inspection)}


@pytest.mark.alone
@pytest.mark.slow
@pytest.mark.parametrize("cheat", ON_HOST, ids=lambda cheat: cheat.name)
def test_a_cheat_is_found_and_an_honest_one_passes(cheat: Cheat, inspections: dict[Path, Inspection]) -> None:
    inspection = inspections[cheat.problem_path]
    evaluation = evaluate(
        EvaluationRequest(
            problem_path=str(cheat.problem_path),
            size=inspection.size,
            signature=inspection.signature,
            candidate=ModuleCandidate(cheat.path.read_text("utf-8")),
            device="host",
            tolerance=tolerance_for("kernelbench", inspection, Policy.STRICT, Target.HOST),
            baselines=(),
        )
    )
    if cheat.honest:
        assert evaluation.outcome is Outcome.PASSED, evaluation.detail
        return
    assert evaluation.outcome is Outcome.INCORRECT, evaluation.detail
    failed = {check.name for check in evaluation.checks if check.failed}
    assert failed & set(cheat.checks), failed


def test_every_file_is_listed_and_says_what_it_does() -> None:
    files = {path.stem for path in FOLDER.glob("*.py") if not path.stem.startswith("problem_")}
    assert files == {cheat.name for cheat in CHEATS}
    for cheat in CHEATS:
        check_python(cheat.path.read_text("utf-8"))
        assert cheat.words.endswith(".")
        assert len(cheat.words) > 10
        assert bool(cheat.checks) is not cheat.honest
