"""Python candidates from end to end on the host: good ones, and one of each kind of wrong one."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from kernels.dtypes import DType
from kernels.harness import evaluate
from kernels.harness.evaluation import Check, Evaluation, Limits, ModuleCandidate, Outcome
from kernels.problems.inspection import Signature, TensorSpec
from tests.harness.conftest import MakeRequest
from tests.harness.local import write
from tests.harness.modules import LAZY, LOAD_INLINE, RIGHT, with_forward
from tests.harness.programs import COLUMNS, PROBLEM, ROWS

TWO_LAYERS = """
import torch


class Model(torch.nn.Module):
    def __init__(self, shape, *, slope):
        super().__init__()
        self.first = torch.nn.Linear(*shape)
        self.second = torch.nn.Linear(*shape)
        self.slope = slope

    def forward(self, x, times):
        return self.second(torch.nn.functional.leaky_relu(self.first(x), self.slope)) * times, x


def get_inputs():
    return [torch.randn(4, 8), 3]


def get_init_inputs():
    return [[(8, 8)], {"slope": 0.5}]
"""
TWO_OUTPUTS = Signature(
    inputs=(TensorSpec("x", DType.F32, (4, 8)),),
    parameters=tuple(
        TensorSpec(f"{layer}.{name}", DType.F32, shape)
        for layer in ("first", "second")
        for name, shape in (("weight", (8, 8)), ("bias", (8,)))
    ),
    outputs=(TensorSpec("output0", DType.F32, (4, 8)), TensorSpec("output1", DType.F32, (4, 8))),
    constants={1: 3},
)


def measured(make_request: MakeRequest, source: str, **fields: object) -> Evaluation:
    return evaluate(make_request(candidate=ModuleCandidate(source), **fields))


def check(evaluation: Evaluation, name: str) -> Check:
    return next(check for check in evaluation.checks if check.name == name)


def failed(evaluation: Evaluation) -> set[str]:
    return {check.name for check in evaluation.checks if check.failed}


def test_a_right_module_is_measured_with_the_references_weights(make_request: MakeRequest) -> None:
    evaluation = measured(make_request, RIGHT)
    assert (evaluation.outcome, evaluation.detail) == (Outcome.PASSED, "")
    weights = check(evaluation, "weights")
    assert (weights.seen, weights.note) == (1.0, "1 of 1 parameters are the reference's: 1 by name")
    assert evaluation.candidate is not None
    assert evaluation.candidate.count >= 10
    assert evaluation.once_s is not None
    assert evaluation.once_s > 0
    assert [(stage.stage, stage.library) for stage in evaluation.stages] == [("forward", None)]
    assert evaluation.library_share is None
    assert "outputs made by torch in each call" in evaluation.candidate.method


def test_weights_are_found_by_order_where_their_names_differ(make_request: MakeRequest, tmp_path: Path) -> None:
    source = TWO_LAYERS[: TWO_LAYERS.index("def get_inputs")].replace("class Model(", "class ModelNew(")
    source = source.replace("self.first", "self.a").replace("self.second", "self.b")
    spare = "        self.slope = slope\n        self.spare = torch.nn.Linear(2, 2)"
    source = source.replace("        self.slope = slope", spare)
    request = {"problem_path": write(tmp_path, "two.py", TWO_LAYERS), "signature": TWO_OUTPUTS}
    evaluation = measured(make_request, source, **request)
    assert (evaluation.outcome, evaluation.detail) == (Outcome.PASSED, "")
    note = check(evaluation, "weights").note
    assert note.startswith("4 of 6 parameters are the reference's: 4 by order among equal shapes (a.weight, a.bias")
    assert note.endswith("the module's own under a fixed seed: spare.weight, spare.bias")


def test_weights_that_are_the_modules_own_show(make_request: MakeRequest) -> None:
    source = RIGHT.replace("torch.zeros(width)", "torch.zeros(width + 1)").replace("self.bias)", "self.bias[:-1])")
    evaluation = measured(make_request, source)
    assert evaluation.outcome is Outcome.INCORRECT
    note = check(evaluation, "weights").note
    assert note.startswith("0 of 1 parameters")
    assert note.endswith("of the reference's, not used: bias")


@pytest.mark.parametrize(
    ("body", "name", "words"),
    [
        ("return (x + self.bias)[:1]", "shape", f"[1, {COLUMNS}]"),
        ("return (x + self.bias).relu().double()", "dtype", "float64"),
        ("return None", "output kind", "a NoneType, no tensor"),
        ("return {'y': x}", "output kind", "a dict, no tensor"),
        ("return x, x", "shape", "float32[64, 96], float32[64, 96]"),
        ("return ((x + self.bias).relu(),)", "output structure", "forward gives [a tensor]; the problem a tensor"),
        ("return (x + self.bias).relu() * float('nan')", "finite", "NaN"),
        ("return x * 0", "not all zero", "zero"),
        ("return x + self.bias", "matched share", "share of elements"),
        ("return (x + self.bias).relu().to_sparse()", "output kind", "torch.sparse_coo"),
        ("return (x + self.bias).relu().to('meta')", "output kind", "lies on meta"),
        ("return (x + self.bias).relu().as_subclass(Lazy)", "output kind", "a Lazy, a subclass of torch.Tensor"),
        ("return self.bias", "output kind", "a Parameter, a subclass of torch.Tensor"),
        ("x.relu_()\nreturn (x + self.bias).relu()", "inputs unchanged", "changed its inputs"),
        ("self.n = getattr(self, 'n', 0) + 1\nreturn (x + self.bias).relu()[self.n // 3:]", "shape", "[63, 96]"),
        ("self.n = getattr(self, 'n', 0) + 1\ny = (x + self.bias).relu()\nreturn [y] if self.n > 3 else y",
         "output kind", "a call gave [a tensor], the first one a tensor"),
    ],
)  # fmt: skip
def test_wrong_outputs_fail_their_own_check(make_request: MakeRequest, body: str, name: str, words: str) -> None:
    evaluation = measured(make_request, with_forward(body, before=LAZY))
    assert evaluation.outcome is Outcome.INCORRECT
    assert name in failed(evaluation)
    assert words in check(evaluation, name).note
    assert evaluation.candidate is None


def transposed(make_request: MakeRequest, tmp_path: Path, dtypes: Sequence[DType]) -> Evaluation:
    """A module that transposes an input of each type. Elements are 0 or 4: a changed one moves by all there is."""
    model = """
import torch

class Model(torch.nn.Module):
    def forward(self, *given):
        return [tensor.t().contiguous() for tensor in given]
"""
    rest = f"""
def get_inputs():
    return [(torch.randint(0, 2, (6, 5)) * 4).to(getattr(torch, name)) for name in {[d.torch_name for d in dtypes]}]

def get_init_inputs():
    return []
"""
    signature = Signature(
        inputs=tuple(TensorSpec(f"x{dtype}", dtype, (6, 5)) for dtype in dtypes),
        parameters=(),
        outputs=tuple(TensorSpec(f"y{dtype}", dtype, (5, 6)) for dtype in dtypes),
        constants={},
    )
    return measured(
        make_request,
        model.replace("Model", "ModelNew", 1),
        problem_path=write(tmp_path, "types.py", model + rest),
        signature=signature,
    )


@pytest.mark.parametrize("dtype", [DType.F8E4M3, DType.F8E5M2])
def test_a_changed_element_tells_whatever_8_bit_floats_round_by(
    make_request: MakeRequest, tmp_path: Path, dtype: DType
) -> None:
    evaluation = transposed(make_request, tmp_path, [dtype])
    assert evaluation.outcome is Outcome.PASSED, evaluation.detail
    changed = check(evaluation, "one element changed")
    assert changed.done, changed.note
    assert changed.passed


def test_inputs_and_outputs_of_every_type_are_checked_and_timed(make_request: MakeRequest, tmp_path: Path) -> None:
    evaluation = transposed(make_request, tmp_path, list(DType))
    assert evaluation.outcome is Outcome.PASSED, evaluation.detail
    assert {"one element changed", "scaled inputs", "strided inputs"} <= {
        c.name for c in evaluation.checks if c.done
    }


def test_an_output_that_is_a_view_of_an_input_is_copied(make_request: MakeRequest, tmp_path: Path) -> None:
    path = write(tmp_path, "turn.py", PROBLEM.replace("torch.relu(x + self.bias)", "x.T"))
    spec = Signature(
        (TensorSpec("x", DType.F32, (ROWS, COLUMNS)),), (), (TensorSpec("output0", DType.F32, (COLUMNS, ROWS)),), {}
    )
    evaluation = measured(make_request, with_forward("return x.T"), problem_path=path, signature=spec)
    assert (evaluation.outcome, evaluation.detail) == (Outcome.PASSED, "")


@pytest.mark.parametrize(
    ("source", "outcome", "words"),
    [
        ("def broken(:\n    pass", Outcome.REFUSED, "the candidate is no Python: SyntaxError"),
        ("class Model: pass", Outcome.REFUSED, "defines no ModelNew"),
        ("ModelNew = 7", Outcome.REFUSED, "ModelNew is a int; a subclass of torch.nn.Module would be right"),
        ("class ModelNew: pass", Outcome.REFUSED, "ModelNew is a class; a subclass of torch.nn.Module"),
        ("x = 1\nraise RuntimeError('no card')", Outcome.BUILD_ERROR, "RuntimeError: no card (line 2)"),
        ("import nothing_of_this_name", Outcome.BUILD_ERROR, "ModuleNotFoundError"),
        ("raise SystemExit(0)", Outcome.BUILD_ERROR, "SystemExit"),
        ("import os; os._exit(0)", Outcome.CRASH, "exit status 0"),
        (RIGHT.replace("width)", "width, depth)", 1), Outcome.LAUNCH_ERROR, "missing 1 required positional argument"),
        (RIGHT.replace("width)", ")", 1), Outcome.LAUNCH_ERROR, "the problem gives 1 arguments"),
        (with_forward("raise ValueError('my fault')"), Outcome.LAUNCH_ERROR, "ValueError: my fault (line 12)"),
        (with_forward("return x @ x"), Outcome.LAUNCH_ERROR, "forward raised RuntimeError"),
        (with_forward("return torch.empty(2**40)"), Outcome.OUT_OF_MEMORY, "memory"),
        ("x = '\0'", Outcome.REFUSED, "null bytes"),
        ("x = " + "(" * 300, Outcome.REFUSED, "too many nested parentheses"),
        ("x = " + "-" * 100_000 + "1", Outcome.REFUSED, "no Python"),
        ("x = '" + "a" * 5_000_000 + "'", Outcome.REFUSED, "defines no ModelNew"),
    ],
)  # fmt: skip
def test_a_module_that_cannot_be_called_ends_in_its_own_outcome(
    make_request: MakeRequest, source: str, outcome: Outcome, words: str
) -> None:
    evaluation = measured(make_request, source)
    assert (evaluation.outcome, words in evaluation.detail) == (outcome, True), evaluation.detail


@pytest.mark.parametrize(
    ("source", "outcome", "words"),
    [
        (
            "while True: pass",
            Outcome.BUILD_TIMEOUT,
            "importing the file and building the module took longer than 2 s",
        ),
        (
            with_forward("while True: pass"),
            Outcome.TIMEOUT,
            "the first call, with whatever it compiles, took longer",
        ),
    ],
)
def test_building_has_a_time_limit_of_its_own(
    make_request: MakeRequest, source: str, outcome: Outcome, words: str
) -> None:
    evaluation = measured(make_request, source, limits=Limits(seconds=20.0, build_seconds=2.0))
    assert (evaluation.outcome, words in evaluation.detail) == (outcome, True), evaluation.detail


def test_the_time_to_build_is_not_the_time_of_a_call(make_request: MakeRequest) -> None:
    source = "import time; time.sleep(1.5)\n" + RIGHT
    evaluation = measured(make_request, source, limits=Limits(seconds=20.0))
    assert evaluation.outcome is Outcome.PASSED
    assert evaluation.once_s is not None
    assert evaluation.once_s > 1.5
    assert evaluation.candidate is not None
    assert evaluation.candidate.median_s < 0.5


def test_init_inputs_that_are_no_plain_data_are_refused_by_name(make_request: MakeRequest, tmp_path: Path) -> None:
    problem = PROBLEM.replace("return [N]", "return [N, torch.ones(2)]")
    problem = problem.replace("def __init__(self, width)", "def __init__(self, width, _)")
    evaluation = measured(make_request, RIGHT, problem_path=write(tmp_path, "taut.py", problem))
    assert evaluation.outcome is Outcome.REFUSED
    assert "get_init_inputs gives a Tensor at the list[1]" in evaluation.detail


def test_the_childs_process_never_holds_the_problem(make_request: MakeRequest) -> None:
    spying = """
import sys
found = [name for name in ("problem", "reference", "kernels.harness.reference") if name in sys.modules]
if found: raise RuntimeError("found " + repr(found))
for line in open("/proc/self/environ").read().split("\\0"):
    if "problem.py" in line: raise RuntimeError(line)
"""
    evaluation = measured(make_request, spying + RIGHT)
    assert (evaluation.outcome, evaluation.detail) == (Outcome.PASSED, "")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("ninja") is None, reason="torch compiles with ninja")
def test_a_module_that_compiles_is_built_in_the_sandbox(make_request: MakeRequest) -> None:
    evaluation = measured(make_request, LOAD_INLINE)
    assert (evaluation.outcome, evaluation.detail) == (Outcome.PASSED, "")
    assert check(evaluation, "processes").passed
    assert evaluation.once_s is not None
    assert evaluation.once_s > 1.0


def test_a_module_that_compiles_without_ninja_is_told_what_to_install(make_request: MakeRequest) -> None:
    source = "import os; os.environ['PATH'] = '/nowhere'\n" + LOAD_INLINE
    evaluation = measured(make_request, source)
    assert evaluation.outcome is Outcome.BUILD_ERROR
    assert "pip install ninja" in evaluation.detail
