"""A program measured as its plan and as the file that it is exported to: two ways to the same verdict."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernels.candidates import built, emission_of, prepare
from kernels.export import export
from kernels.harness import evaluate
from kernels.harness.evaluation import Check, Evaluation, ModuleCandidate, Outcome
from kernels.languages import Language
from kernels.problems.inspection import Inspection
from kernels.targets import Policy, Target
from kernels.toolchain import Cache, build
from tests.harness.conftest import MakeRequest
from tests.harness.programs import COLUMNS, PROBLEM, ROWS, SIGNATURE

HEAD = f"program p(x: f32[{ROWS}, {COLUMNS}], bias: f32[{COLUMNS}]) -> f32[{ROWS}, {COLUMNS}]\n"
RIGHT = HEAD + "  y = map(relu(x + bias))\n  return y\n"
WRONG = HEAD + "  y = map(gelu(x + bias))\n  return y\n"


def check(evaluation: Evaluation, name: str) -> Check:
    return next(check for check in evaluation.checks if check.name == name)


@pytest.mark.parametrize(("program", "outcome"), [(RIGHT, Outcome.PASSED), (WRONG, Outcome.INCORRECT)])
def test_plan_and_exported_file_end_alike(
    make_request: MakeRequest, tmp_path: Path, program: str, outcome: Outcome
) -> None:
    emission = emission_of(program, Language.MU, SIGNATURE, Target.HOST, Policy.STRICT)
    store = Cache(tmp_path / "cache")
    report = build(emission, cache=store)
    artifacts = {unit.symbol: store.path(unit.artifact) for unit in report.units if unit.artifact}
    native = evaluate(make_request(candidate=built(emission, artifacts)))

    binaries = {symbol: path.read_bytes() for symbol, path in artifacts.items()}
    text = export(emission, ("p", "problem"), PROBLEM, Inspection("default", SIGNATURE, None, ""), binaries)
    module = prepare(text, Language.PY, SIGNATURE, Target.HOST, Policy.STRICT)
    assert isinstance(module, ModuleCandidate)
    exported = evaluate(make_request(candidate=module))

    assert (native.outcome, exported.outcome) == (outcome, outcome), (native.detail, exported.detail)
    assert check(exported, "weights").note == "1 of 1 parameters are the reference's: 1 by name"
    for name in ("matched share", "max relative error"):
        assert check(native, name).passed == check(exported, name).passed
