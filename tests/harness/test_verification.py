"""What the correctness rounds see, with the candidate's session in this process."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kernels.codegen.emission import Plan
from kernels.dtypes import DType
from kernels.harness import verification
from kernels.harness.evaluation import Check, EvaluationRequest
from kernels.harness.reference import ProblemFailed
from kernels.harness.supervisor import Supervisor
from kernels.harness.tolerance import profile
from kernels.harness.verification import Case, Verification
from kernels.problems.inspection import Signature, TensorSpec
from tests.harness.conftest import MakeRequest
from tests.harness.local import local, write
from tests.harness.programs import COLUMNS, ROWS, SIGNATURE, launch, one_launch, torch_call, value


def verify(request: EvaluationRequest) -> dict[str, Check]:
    with local(request) as here:
        return {check.name: check for check in Verification(request, here.reference, here.subject).run()}


def failed(checks: dict[str, Check]) -> set[str]:
    return {name for name, check in checks.items() if check.failed}


def test_a_right_candidate_passes_every_check(make_request: MakeRequest) -> None:
    checks = verify(make_request("bias_relu", rounds=5))
    assert failed(checks) == set()
    assert {"finite", "not all zero", "matched share", "max relative error", "max absolute error",
            "inputs unchanged", "deterministic", "scaled inputs", "shifted inputs",
            "one element changed", "every element written", "follows the inputs", "worst tile",
            "norm-wise relative error", "element-wise relative error",
            "matched share, float64"} == set(checks)  # fmt: skip
    assert checks["matched share"].seen == 1.0


@pytest.mark.parametrize(
    ("symbol", "check"),
    [
        ("wrong", "matched share"),
        ("wrong", "max relative error"),
        ("not_a_number", "finite"),
        ("zeros", "not all zero"),
        ("nothing", "finite"),
        ("changes_input", "inputs unchanged"),
        ("once_right", "finite"),
        ("remembers", "matched share"),
    ],
)
def test_each_kind_of_wrong_answer_fails_its_own_check(make_request: MakeRequest, symbol: str, check: str) -> None:
    assert check in failed(verify(make_request(symbol)))


def test_the_note_names_the_worst_element(make_request: MakeRequest) -> None:
    checks = verify(make_request("wrong"))
    assert f"[0, {ROWS - 1}, {COLUMNS - 1}]" in checks["matched share"].note


def test_a_result_that_varies_within_tolerance_is_noted_and_passes(make_request: MakeRequest) -> None:
    checks = verify(make_request("unsteady"))
    assert failed(checks) == set()
    assert checks["deterministic"].seen is not None
    assert checks["deterministic"].seen > 0


def test_the_error_of_eager_stands_beside_the_candidates(make_request: MakeRequest) -> None:
    checks = verify(make_request("bias_relu"))
    assert "torch eager" in checks["max relative error"].note
    assert "against float64" in checks["max relative error"].note


TINY = """
import torch
from torch import nn
class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x) * 1e-6
def get_inputs():
    return [torch.randn(64, 96)]
def get_init_inputs():
    return []
"""


def test_zeros_do_not_pass_where_the_truth_is_tiny(make_request: MakeRequest, tmp_path: Path) -> None:
    """|0 - 1e-6| is within 1e-4, so the element-wise rule alone would let this through."""
    plan = one_launch("zeros")
    signature = Signature(SIGNATURE.inputs, (TensorSpec("bias", DType.F32, (COLUMNS,)),), SIGNATURE.outputs, {})
    source = TINY.replace("def forward", "def __init__(self):\n        super().__init__()\n        "
                          f"self.bias = nn.Parameter(torch.zeros({COLUMNS}))\n    def forward")  # fmt: skip
    request = make_request(plan=plan, problem_path=write(tmp_path, "tiny.py", source), signature=signature)
    checks = verify(request)
    assert checks["matched share"].passed
    assert failed(checks) >= {"not all zero", "max relative error"}


LOGARITHM = """
import torch
from torch import nn
class Model(nn.Module):
    def forward(self, x):
        return torch.log(x)
def get_inputs():
    return [torch.randn(64, 96)]
def get_init_inputs():
    return []
"""


def unary_plan(function: str) -> Plan:
    return Plan(
        values=(value("x", ROWS, COLUMNS), value("y", ROWS, COLUMNS)),
        inputs=("x",),
        parameters=(),
        steps=(torch_call("y", function, ({"value": "x"},), ("y",)),),
        outputs=("y",),
    )


PLAIN = Signature(SIGNATURE.inputs, (), SIGNATURE.outputs, {})


def test_nan_is_right_where_the_reference_has_nan(make_request: MakeRequest, tmp_path: Path) -> None:
    path = write(tmp_path, "log.py", LOGARITHM)
    checks = verify(make_request(plan=unary_plan("torch.log"), problem_path=path, signature=PLAIN))
    assert failed(checks) == set()
    wrong = verify(make_request(plan=unary_plan("torch.log1p"), problem_path=path, signature=PLAIN))
    assert "matched share" in failed(wrong)


def test_a_reference_that_refuses_changed_inputs_skips_that_round(
    make_request: MakeRequest, tmp_path: Path
) -> None:
    source = LOGARITHM.replace("return torch.log(x)", "assert x.abs().max() < 8\n        return torch.relu(x)")
    source = source.replace("torch.randn(64, 96)", "torch.rand(64, 96) + 1")
    request = make_request(
        plan=unary_plan("torch.relu"), problem_path=write(tmp_path, "picky.py", source), signature=PLAIN
    )
    checks = verify(request)
    assert not checks["scaled inputs"].done
    assert not checks["scaled inputs"].passed
    assert "AssertionError" in checks["scaled inputs"].note


def test_a_problem_with_live_dropout_is_the_problems_error(make_request: MakeRequest, tmp_path: Path) -> None:
    source = LOGARITHM.replace("torch.log(x)", "torch.nn.functional.dropout(x, 0.5)")
    request = make_request(
        plan=unary_plan("torch.relu"), problem_path=write(tmp_path, "drop.py", source), signature=PLAIN
    )
    with pytest.raises(ProblemFailed, match="different results for the same inputs"):
        verify(request)


def test_a_model_without_float64_is_compared_in_its_own_precision(
    make_request: MakeRequest, tmp_path: Path
) -> None:
    source = LOGARITHM.replace("return torch.log(x)", "assert x.dtype == torch.float32\n        return x.relu()")
    request = make_request(
        plan=unary_plan("torch.relu"), problem_path=write(tmp_path, "own.py", source), signature=PLAIN
    )
    checks = verify(request)
    assert failed(checks) == set()
    assert "own precision" in checks["matched share"].note


def test_a_changed_signature_is_the_problems_error(make_request: MakeRequest) -> None:
    wider = Signature((TensorSpec("x", DType.F32, (ROWS, 7)),), SIGNATURE.parameters, SIGNATURE.outputs, {})
    with pytest.raises(ProblemFailed, match="inspect it again"):
        verify(make_request(signature=wider))


def test_wrong_shape_and_type_are_named_before_anything_runs(make_request: MakeRequest) -> None:
    plan = Plan(
        values=(value("x", ROWS, COLUMNS), value("bias", COLUMNS), value("y", ROWS, 3, dtype=DType.F16)),
        inputs=("x",),
        parameters=("bias",),
        steps=(launch("y", "bias_relu", ("x", "bias"), ("y",), ROWS, COLUMNS),),
        outputs=("y",),
    )
    request = make_request(plan=plan)
    supervisor = Supervisor(request, -1, "process")
    with local(request) as here:
        correct, _ = supervisor._verify(here.subject, here.reference)
    assert not correct
    assert {check.name for check in supervisor.findings.checks if check.failed} == {"shape", "dtype"}


def test_a_changed_parameter_is_seen(make_request: MakeRequest) -> None:
    request = make_request("changes_bias")
    supervisor = Supervisor(request, -1, "process")
    with local(request) as here:
        correct, _ = supervisor._verify(here.subject, here.reference)
    assert not correct
    assert "parameters unchanged" in {c.name for c in supervisor.findings.checks if c.failed}


def test_five_rounds_have_fresh_inputs_and_each_says_what_they_are(make_request: MakeRequest) -> None:
    with local(make_request(rounds=5)) as here:
        verification = Verification(make_request(rounds=5), here.reference, here.subject)
        verification.run()
    # On a slow machine it stays at one element.
    plain = [r for r in verification.rounds if r.name != "another element changed"]
    assert [(r.name, r.inputs.split(" changed")[-1]) for r in plain] == [
        ("round 1", "fresh values"),
        ("one element changed", ", same storage"),
        ("round 2", "fresh values, new storage"),
        ("round 3", "fresh values"),
        ("scaled inputs", "fresh values times 10"),
        ("shifted inputs", "fresh values plus 5"),
    ]
    assert all(r.errors is not None and r.eager is not None for r in verification.rounds)


def test_whoever_looks_at_one_of_three_changed_elements_is_found(
    make_request: MakeRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verification, "_PLACES_SECONDS", 60.0)
    with local(make_request()) as here:
        made = Verification(make_request(), here.reference, here.subject)
        judged: list[str] = []
        judge = made._judge_one

        def one(label: str, case: Case, where: str, slot: int = 0) -> Check:
            judged.append(label)
            check = judge(label, case, where, slot)
            return replace(check, passed=len(judged) < 3)

        monkeypatch.setattr(made, "_judge_one", one)
        found = {check.name: check for check in made.run()}
    assert judged == ["one element changed", "another element changed", "another element changed"]
    assert found["one element changed"].failed


def test_fewer_rounds_than_three_are_not_made(make_request: MakeRequest) -> None:
    with local(make_request(rounds=1)) as here:
        verification = Verification(make_request(rounds=1), here.reference, here.subject)
        verification.run()
    assert {r.name for r in verification.rounds} >= {"round 1", "scaled inputs", "shifted inputs"}


def test_where_one_element_does_not_move_the_reference_that_round_is_not_done(
    make_request: MakeRequest, tmp_path: Path
) -> None:
    source = LOGARITHM.replace("torch.log(x)", "torch.ones_like(x)")
    plan = unary_plan("torch.ones_like")
    request = make_request(plan=plan, problem_path=write(tmp_path, "same.py", source), signature=PLAIN)
    checks = verify(request)
    assert not checks["one element changed"].done
    assert "too little to tell" in checks["one element changed"].note


def test_three_calls_on_the_same_inputs_are_compared(make_request: MakeRequest) -> None:
    assert "3 calls on the same inputs agree bit by bit" in verify(make_request())["deterministic"].note


def test_the_other_reference_is_recorded_beside_the_one_that_decides(make_request: MakeRequest) -> None:
    checks = verify(make_request(tolerance=profile("kernelbench", DType.F32)))
    assert checks["matched share, float64"].seen == 1.0
    assert "in its own precision" in checks["matched share"].note
    checks = verify(make_request(tolerance=profile("strict", DType.F32)))
    assert checks["matched share, own precision"].seen == 1.0
    assert "against float64" in checks["matched share"].note
