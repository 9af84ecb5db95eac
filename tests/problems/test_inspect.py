"""Looking at problems through a child process: what comes back, and what becomes of problems that misbehave."""

from __future__ import annotations

import sys
from pathlib import Path

import psutil
import pytest

from kernels import records
from kernels.childprocess import ChildLimits
from kernels.dtypes import DType
from kernels.problems import errors
from kernels.problems.files import find_problems, own_directory
from kernels.problems.inspect import LIMITS, inspect, inspect_many
from kernels.problems.inspection import Inspection, TensorSpec
from tests.problems.sources import GOOD, problem

DATA = Path(__file__).parent / "data"
# Beside other tests a gigabyte that is written to for the first time can take six seconds.
LIMITED = ChildLimits(seconds=9, memory_bytes=3 * 2**28, address_space_bytes=48 * 2**30)


def write(folder: Path, text: str, name: str = "problem.py") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_it_gives_signature_and_graph_at_the_asked_size(tmp_path: Path) -> None:
    found = inspect(write(tmp_path, GOOD), "cpu")
    assert found.size == "cpu"
    assert found.signature.inputs == (TensorSpec("x", DType.F32, (8, 3)),)
    assert found.signature.outputs == (TensorSpec("out", DType.F32, (8, 3)),)
    assert found.graph is not None
    assert [node.op for node in found.graph.nodes] == ["aten.mul.Tensor"]
    assert records.loads(records.dumps(found), Inspection) == found
    assert "kernels.problems.trace" not in sys.modules


def test_all_own_problems_at_their_cpu_size_are_as_the_stored_records_say() -> None:
    own = find_problems(own_directory())
    found = inspect_many([item.path for item in own], "cpu")
    for item, inspection in zip(own, found, strict=True):
        assert isinstance(inspection, Inspection), inspection
        assert inspection.graph is not None, inspection.graph_error
        stored = records.loads((DATA / f"{item.name.split('_', 1)[1]}.json").read_text(), Inspection)
        assert inspection.signature == stored.signature


MISBEHAVING = {
    "loops": ("while True: pass\n", errors.ProblemTimedOut, "still running after 9 s"),
    "takes": (
        "held = []\nwhile True: held.append(b'x' * (10**7 + len(held)))\n",
        errors.ProblemOutOfMemory,
        "memory",
    ),
    "reserves": ("import numpy\nheld = numpy.ones(100 * 2**30, dtype='u1')\n", errors.ProblemOutOfMemory, "memory"),
    "exits": ("import os\nos._exit(3)\n", errors.ProblemCrashed, "exit status 3"),
    "leaves": ("import os\nprint('{}')\nos._exit(0)\n", errors.ProblemCrashed, "exit status 0"),
    "faults": ("import ctypes\nctypes.string_at(0)\n", errors.ProblemCrashed, "SIGSEGV"),
    "raises": ("raise ValueError('no such thing')\n", errors.ProblemRaised, "ValueError: no such thing"),
    "ends": ("raise SystemExit(4)\n", errors.ProblemRaised, "SystemExit: 4"),
    "imports": ("import surely_not_installed\n", errors.ProblemRaised, "No module named 'surely_not_installed'"),
    "orphans": (
        "import os, subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], start_new_session=True)\n"
        "open(__file__ + '.pid', 'w').write(str(child.pid))\n"
        "os._exit(5)\n",
        errors.ProblemCrashed,
        "exit status 5",
    ),
}


@pytest.mark.parametrize("workers", [pytest.param(1, marks=pytest.mark.thorough), 3])
def test_each_misbehaving_problem_ends_as_its_own_error_and_the_next_one_is_looked_at(
    tmp_path: Path, workers: int
) -> None:
    paths = []
    for name, (lines, _, _) in MISBEHAVING.items():
        # Misbehaviour sits in get_inputs, behind an import and a model that are fine.
        body = "".join(f"    {line}\n" for line in lines.splitlines())
        text = GOOD.replace("def get_inputs():\n", f"def get_inputs():\n{body}")
        paths.append(write(tmp_path, text, f"{name}.py"))
    paths.append(write(tmp_path, GOOD, "good.py"))
    found = inspect_many(paths, "cpu", limits=LIMITED, workers=workers)
    for (name, (_, error, words)), answer in zip(MISBEHAVING.items(), found, strict=False):
        assert type(answer) is error, f"{name}: {answer!r}"
        assert words in str(answer)
        assert f"{name}.py" in str(answer)
    assert isinstance(found[-1], Inspection)
    pid = int((tmp_path / "orphans.py.pid").read_text())
    assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


@pytest.mark.parametrize("blow", ["os.kill(os.getppid(), 9)", "os.killpg(0, 9)"], ids=["its parent", "all of them"])
@pytest.mark.parametrize("workers", [pytest.param(1, marks=pytest.mark.thorough), 2])
def test_one_that_ends_the_processes_around_it_is_found_and_the_others_are_looked_at(
    tmp_path: Path, workers: int, blow: str
) -> None:
    bad = GOOD.replace("def get_inputs():\n", f"def get_inputs():\n    import os\n    {blow}\n")
    texts = [GOOD, bad, GOOD, GOOD]
    paths = [write(tmp_path, text, f"p{place}.py") for place, text in enumerate(texts)]
    places: list[int] = []
    found = inspect_many(paths, "cpu", workers=workers, seen=lambda place, answer: places.append(place))
    assert isinstance(found[1], errors.ProblemCrashed), found[1]
    assert "p1.py" in str(found[1])
    assert [isinstance(answer, Inspection) for answer in found] == [True, False, True, True]
    assert sorted(places) == [0, 1, 2, 3]


def test_several_at_a_time_answer_as_one_after_the_other(tmp_path: Path) -> None:
    paths = [
        write(tmp_path, problem(f"return x * {place}", inputs=f"torch.randn({place + 1}, 8)"), f"p{place}.py")
        for place in range(5)
    ]
    assert inspect_many(paths, "default", workers=3) == inspect_many(paths, "default")


def test_files_that_are_no_problems_are_refused_without_a_child(tmp_path: Path) -> None:
    bad = write(tmp_path, "class Model(:", "bad.py")
    good = write(tmp_path, GOOD, "good.py")
    found = inspect_many([bad, good], ["cpu", "huge"])
    assert isinstance(found[0], errors.ProblemSyntaxError)
    assert isinstance(found[1], errors.ProblemHasNoSuchSize)
    assert "cpu, gpu" in str(found[1])


def test_it_stops_when_it_is_cancelled(tmp_path: Path) -> None:
    path = write(tmp_path, "while True: pass\n" + GOOD)
    with pytest.raises(errors.InspectionCancelled):
        inspect(path, "cpu", cancelled=lambda: True)


SHAPES = {
    "huge": problem("return x * 2", inputs="torch.empty(100 * 2**30)"),
    "values": problem("return x * self.scale", init="self.scale = float(torch.linspace(0, 1, 3)[1].item())"),
    "numbers": problem("return x * k + c", arguments="x, k, c=1", inputs="torch.randn(4, 8), 3"),
    "batch_norm": problem("return self.norm(x)", init="self.norm = nn.BatchNorm1d(8)"),
    "lstm": problem(
        "return self.layer(x)[0]", init="self.layer = nn.LSTM(8, 16, 2)", inputs="torch.randn(50, 4, 8)"
    ),
    "constant": problem("return torch.min(x, torch.tensor(0.5)) + self.k", init="self.k = torch.tensor(0.25)"),
    "clash": problem(
        "return x @ self.x.weight + weight",
        arguments="x, weight",
        init="self.x = nn.Linear(8, 8)\nself.weight = nn.Parameter(torch.ones(1))",
        inputs="torch.randn(8, 8), torch.randn(8, 8)",
    ),
    "several": problem("return torch.max(x, 1), {'k': x.sum()}"),
    "untraceable": problem("return x * 2 if x.sum() > 0 else x"),
    "listed": problem("return x[0]", inputs="[torch.randn(2)]"),
    "tensorless": problem("return 3"),
    "in_place": problem("x = x.clone()\nx += 1\nreturn x.relu_()"),
    "infinite": problem("return x.clamp(min=-float('inf'), max=2.0)"),
    "prints": GOOD.replace("import torch\n", 'import torch\nprint(\'{"ending": "inspected"}\')\n', 1),
    "alters": GOOD + "\ntorch.set_default_dtype(torch.float64)\nnn.Linear.forward = None\n",
    "secret": GOOD.replace("torch.randn(M, 3)", "torch.randn(1 + ('A_SECRET' in __import__('os').environ), 3)"),
    "wrong": GOOD.replace("return x * 2.0", "return x.no_such_method()"),
    "keywords": GOOD.replace("return []", "return [[], {}]"),
}


@pytest.fixture(scope="module")
def shapes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Inspection | Exception]:
    folder = tmp_path_factory.mktemp("shapes")
    paths = [write(folder, text, f"{name}.py") for name, text in SHAPES.items()]
    sizes = ["cpu" if "SIZES" in text else "default" for text in SHAPES.values()]
    seen: list[int] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("A_SECRET", "hush")
        found = inspect_many(paths, sizes, seen=lambda place, answer: seen.append(place))
    assert seen == list(range(len(paths)))
    return dict(zip(SHAPES, found, strict=True))


def inspected(shapes: dict[str, Inspection | Exception], name: str) -> Inspection:
    found = shapes[name]
    assert isinstance(found, Inspection), found
    return found


def operations(inspection: Inspection) -> list[str]:
    assert inspection.graph is not None, inspection.graph_error
    return [node.op for node in inspection.graph.nodes]


Shapes = dict[str, "Inspection | Exception"]


def test_inputs_larger_than_memory_cost_nothing_to_look_at(shapes: Shapes) -> None:
    assert inspected(shapes, "huge").signature.inputs[0].bytes == 400 * 2**30


def test_a_constructor_that_reads_values_is_built_for_real(shapes: Shapes) -> None:
    graph = inspected(shapes, "values").graph
    assert graph is not None
    assert graph.nodes[0].args[1] == 0.5


def test_arguments_that_are_no_tensors_are_kept_by_position(shapes: Shapes) -> None:
    signature = inspected(shapes, "numbers").signature
    assert [spec.name for spec in signature.inputs] == ["x"]
    assert signature.constants == {1: 3}


def test_batch_norm_stays_in_training_mode_and_its_statistics_leave_the_graph(shapes: Shapes) -> None:
    found = inspected(shapes, "batch_norm")
    assert len(operations(found)) == 1
    assert "batch_norm" in operations(found)[0]
    assert found.graph is not None
    assert True in found.graph.nodes[0].args
    names = [spec.name for spec in found.signature.parameters]
    assert names == [
        "norm.weight",
        "norm.bias",
        "norm.running_mean",
        "norm.running_var",
        "norm.num_batches_tracked",
    ]


def test_a_recurrent_layer_is_one_operation(shapes: Shapes) -> None:
    found = inspected(shapes, "lstm")
    assert operations(found).count("aten.lstm.input") == 1
    assert len(operations(found)) < 6
    assert found.signature.outputs[0].shape == (50, 4, 16)


def test_tensors_of_one_number_become_numbers(shapes: Shapes) -> None:
    found = inspected(shapes, "constant")
    assert found.graph is not None
    assert found.graph.scalars == {}
    values = [node.args[0] for node in found.graph.nodes if node.op == "aten.scalar_tensor.default"]
    assert sorted(values) == [0.25, 0.5]


def test_an_input_does_not_share_a_parameters_name(shapes: Shapes) -> None:
    assert [spec.name for spec in inspected(shapes, "clash").signature.inputs] == ["x", "weight_input"]


def test_several_results_come_in_the_order_of_the_tree(shapes: Shapes) -> None:
    outputs = inspected(shapes, "several").signature.outputs
    assert [(spec.name, spec.dtype, spec.shape) for spec in outputs] == [
        ("out0", DType.F32, (4,)),
        ("out1", DType.I64, (4,)),
        ("out2", DType.F32, ()),
    ]


def test_a_forward_that_branches_on_values_has_no_graph_and_says_why(shapes: Shapes) -> None:
    answer = shapes["untraceable"]
    # The plain call needs values too, which fake tensors do not have: it was built for real.
    assert isinstance(answer, Inspection)
    assert answer.graph is None
    assert answer.graph_error
    assert answer.signature.outputs[0].shape == (4, 8)


def test_it_says_what_it_cannot_take(shapes: Shapes) -> None:
    assert isinstance(shapes["listed"], errors.ProblemUnsupported)
    assert "argument 1 of get_inputs() is a list" in str(shapes["listed"])
    assert isinstance(shapes["tensorless"], errors.ProblemUnsupported)
    assert "returns no tensor" in str(shapes["tensorless"])


def test_work_in_place_is_traced_as_plain_operations(shapes: Shapes) -> None:
    assert [op for op in operations(inspected(shapes, "in_place")) if "clone" not in op] == [
        "aten.add.Tensor",
        "aten.relu.default",
    ]


def test_infinities_survive_the_way_through_json(shapes: Shapes) -> None:
    found = inspected(shapes, "infinite")
    assert found.graph is not None
    assert found.graph.nodes[0].args[1] == "-Infinity"
    assert records.loads(records.dumps(found), Inspection) == found


def test_constructor_arguments_may_come_with_keywords(shapes: Shapes) -> None:
    assert inspected(shapes, "keywords").signature.inputs[0].shape == (8, 3)


def test_a_problem_cannot_forge_an_answer_by_printing(shapes: Shapes) -> None:
    assert inspected(shapes, "prints").signature.inputs[0].shape == (8, 3)


def test_what_one_problem_alters_does_not_reach_the_next(shapes: Shapes) -> None:
    assert inspected(shapes, "alters").signature.inputs[0].dtype is DType.F64
    assert inspected(shapes, "keywords").signature.inputs[0].dtype is DType.F32


def test_the_childs_environment_holds_no_secret(shapes: Shapes) -> None:
    assert inspected(shapes, "secret").signature.inputs[0].shape == (1, 3)


def test_what_is_raised_names_the_line_of_the_problem(shapes: Shapes) -> None:
    error = shapes["wrong"]
    assert isinstance(error, errors.ProblemRaised)
    assert error.fields["line"] == 1 + SHAPES["wrong"].splitlines().index("        return x.no_such_method()")
    assert error.fields["during"] == "forward()"


def test_the_limits_are_finite() -> None:
    assert LIMITS.memory_bytes is not None
    assert 0 < LIMITS.seconds < 600
