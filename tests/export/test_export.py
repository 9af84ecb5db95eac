"""Exported files: run in fresh processes beside the problem's Model, with our package out of reach."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kernels.candidates import emission_of
from kernels.dtypes import DType
from kernels.export import export
from kernels.languages import Language
from kernels.problems.files import own_directory
from kernels.problems.inspection import Inspection, Signature, TensorSpec
from kernels.targets import Policy, Target
from mucutlass_web.cli.main import main
from tests.export import two_outputs

pytestmark = pytest.mark.usefixtures("inspected_once")

ONCE = """program linear(x: f32[M, K], gemm.weight: f32[N, K], gemm.bias: f32[N]) -> f32[M, N]
  w = cast(gemm.weight, f32) @once
  y = gemm(x, w.T) >> bias(gemm.bias)
  z = torch.relu(y) -> f32[1024, 1024]
  return z
"""
CHECK = """
import json, sys, torch
assert not any(name.split(".")[0] == "kernels" for name in sys.modules)
problem, exported = {}, {}
exec(open(sys.argv[1]).read(), problem)
problem.update(problem["SIZES"]["cpu"])
# As KernelBench loads it: two lines in front, and a context of its own.
exec("import os\\n" + open(sys.argv[2]).read(), exported)
torch.manual_seed(7)
model = problem["Model"](*problem["get_init_inputs"]())
torch.manual_seed(7)
ours = exported["ModelNew"](*problem["get_init_inputs"]())
inputs = problem["get_inputs"]()

def same(*tensors):
    return bool(torch.allclose(model(*tensors), ours(*tensors), rtol=1e-4, atol=1e-4))

def refused(*tensors):
    try:
        ours(*tensors)
    except exported["WrongInput"] as error:
        return str(error)

found = {"names": list(model.state_dict()) == list(ours.state_dict()), "same": same(*inputs)}
found["strided"] = same(*[torch.empty(*t.shape[:-1], 2 * t.shape[-1])[..., ::2].copy_(t) for t in inputs])
first, second = ours(*inputs), ours(*inputs)
found["fresh"] = first.data_ptr() != second.data_ptr()
with torch.no_grad():
    for a, b in zip(model.parameters(), ours.parameters()):
        a.mul_(1.5), b.mul_(1.5)
found["changed"] = same(*inputs)
model = problem["Model"](*problem["get_init_inputs"]())
ours.load_state_dict(model.state_dict())
found["loaded"] = same(*inputs)
found["shape"] = refused(inputs[0][1:])
found["dtype"] = refused(inputs[0].double())
found["count"] = refused()
print(json.dumps(found))
"""


def run_check(folder: Path, problem: Path, exported: Path, check: str = CHECK) -> dict[str, object]:
    """What a script prints that has the problem's and the exported file's paths, far from our package."""
    environment = {"PATH": "/usr/bin:/bin", "TORCH_EXTENSIONS_DIR": str(folder / "builds"), "HOME": str(folder)}
    result = subprocess.run(
        [sys.executable, "-I", "-c", check, str(problem), str(exported)],
        capture_output=True, text=True, env=environment, cwd=folder, timeout=300,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    found: dict[str, object] = json.loads(result.stdout)
    return found


@pytest.mark.parametrize(
    "name", ["02_gemm_bias_relu", "17_softmax", "23_conv2d_bias_relu", "14_mlp", "once", "binaries"]
)
def test_an_exported_file_is_the_problems_model(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stem = name if name[0].isdigit() else "02_gemm_bias_relu"
    problem, program, out = own_directory() / f"{stem}.py", tmp_path / "p.mu", tmp_path / "model_new.py"
    assert main(["translate", str(problem)]) == 0
    program.write_text(ONCE if name == "once" else capsys.readouterr().out)
    more = ["--with-binaries"] if name == "binaries" else []
    assert main(["export", str(program), "--problem", str(problem), "-o", str(out), *more]) == 0
    found = run_check(tmp_path, problem, out)
    assert "would be right" in str(found.pop("shape"))
    assert "float64" in str(found.pop("dtype"))
    assert "0 tensors" in str(found.pop("count"))
    assert all(found.values()), found


QUICK_PROGRAM = """program linear(x: f32[M, K], gemm.weight: f32[N, K], gemm.bias: f32[N]) -> f32[M, N]
  w = cast(gemm.weight, f32) @once
  y = gemm(x, w.T) >> bias(gemm.bias)
  z = map(y) >> relu()
  return z
"""
QUICK_CHECK = """
import copy, json, sys, torch
problem, exported = {}, {}
exec(open(sys.argv[1]).read(), problem)
problem.update(problem["SIZES"]["cpu"])
exec(open(sys.argv[2]).read(), exported)
model = problem["Model"](*problem["get_init_inputs"]())
ours = exported["ModelNew"](*problem["get_init_inputs"]())
ours.load_state_dict(model.state_dict())
inputs = problem["get_inputs"]()
general, asked = exported["ModelNew"]._general, []
exported["ModelNew"]._general = lambda self, given: (asked.append(1), general(self, given))[1]

def looked(mine, theirs, *tensors):
    \"\"\"Whether the general way was asked, and that the result is right.\"\"\"
    asked.clear()
    assert torch.allclose(mine(*tensors), theirs(*tensors), rtol=1e-4, atol=1e-4)
    return len(asked)

found = {"first": looked(ours, model, *inputs), "second": looked(ours, model, *inputs)}
found["strided"] = looked(ours, model, inputs[0].t().contiguous().t())
found["after strided"] = looked(ours, model, *inputs)
with torch.no_grad():
    for a, b in zip(model.parameters(), ours.parameters()):
        a.mul_(1.5), b.mul_(1.5)
found["written to"] = looked(ours, model, *inputs)
ours.gemm.weight.data = model.gemm.weight.data = torch.randn_like(model.gemm.weight)
found["other memory"] = looked(ours, model, *inputs)
ours.gemm = model.gemm = torch.nn.Linear(1024, 1024)
found["other module"] = looked(ours, model, *inputs)
twin, other = copy.deepcopy(ours), copy.deepcopy(model)
with torch.no_grad():
    twin.gemm.weight.zero_(), other.gemm.weight.zero_()
found["copied"] = looked(twin, other, *inputs)
found["beside it"] = looked(ours, model, *inputs)
ours.gemm.weight = model.gemm.weight = torch.nn.Parameter(torch.randn(1024, 1024).t())
found["turned weight"] = looked(ours, model, *inputs) + looked(ours, model, *inputs)
print(json.dumps(found))
"""


def test_calls_that_find_all_as_it_was_go_a_quick_way(tmp_path: Path) -> None:
    problem, out, program = (
        own_directory() / "02_gemm_bias_relu.py",
        tmp_path / "model_new.py",
        tmp_path / "p.mu",
    )
    program.write_text(QUICK_PROGRAM)
    assert main(["export", str(program), "--problem", str(problem), "-o", str(out)]) == 0
    found = run_check(tmp_path, problem, out, QUICK_CHECK)
    once = ("first", "strided", "written to", "other memory", "other module", "copied")
    assert {name for name, times in found.items() if times == 1} == set(once)
    assert found["turned weight"] == 2, "a weight that is copied for each call has no address to know"
    assert {name for name, times in found.items() if times == 0} == {"second", "after strided", "beside it"}


@pytest.mark.parametrize("language", ["mu", "cpp"])
def test_several_results_threads_copies_and_what_is_refused(language: str, tmp_path: Path) -> None:
    problem, candidate, out = (tmp_path / name for name in ("problem.py", f"two.{language}", "model_new.py"))
    problem.write_text(two_outputs.PROBLEM)
    candidate.write_text(two_outputs.PROGRAM if language == "mu" else two_outputs.CPP)
    assert main(["export", str(candidate), "--problem", str(problem), "-o", str(out)]) == 0
    found = run_check(tmp_path, problem, out, two_outputs.CHECK)
    assert "parameter bias is float16 [64] on cpu; a tensor float32 [64] on cpu would be right" in str(
        found.pop("half")
    )
    assert "argument 1 must be 2.0" in str(found.pop("constant"))
    assert "on meta; a tensor float32 [48, 64] on cpu would be right" in str(found.pop("device"))
    assert "is list; a tensor float32 [48, 64] on cpu would be right" in str(found.pop("kind"))
    assert all(found.values()), found


def test_the_exported_file_of_a_small_kernel(golden: Callable[[str], None]) -> None:
    """The whole text: the same sources give the same bytes."""
    signature = Signature(
        inputs=(TensorSpec("x", DType.F32, (48, 64)),),
        parameters=(TensorSpec("bias", DType.F32, (64,)),),
        outputs=(TensorSpec("y", DType.F32, (48, 64)), TensorSpec("s", DType.F32, (48,))),
        constants={1: 2.0},
    )
    emission = emission_of(two_outputs.CPP, Language.CPP, signature, Target.HOST, Policy.STRICT)
    inspection = Inspection("default", signature, None, "not looked at")
    golden(export(emission, ("two", "problem"), two_outputs.PROBLEM, inspection))


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("k.py", "class ModelNew: ...\n", "exported-already"),
        ("k.cu", "int main() {}\n", "language-elsewhere"),
        ("k.txt", "x\n", "language-unknown"),
        ("k.mu", two_outputs.PROGRAM, "is no input of the problem"),
    ],
)
def test_what_cannot_be_exported_is_said_and_nothing_is_written(
    name: str, text: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    candidate, out = tmp_path / name, tmp_path / "model_new.py"
    candidate.write_text(text)
    problem = own_directory() / "17_softmax.py"
    assert main(["export", str(candidate), "--problem", str(problem), "-o", str(out)]) == 1
    assert words in capsys.readouterr().err
    assert not out.exists()


def test_a_file_for_a_card_holds_its_sources_and_says_what_it_needs(tmp_path: Path) -> None:
    problem, program, out = own_directory() / "02_gemm_bias_relu.py", tmp_path / "p.mu", tmp_path / "model_new.py"
    program.write_text(ONCE.replace("f32[1024, 1024]", "f32[4096, 4096]"))
    assert main(["export", str(program), "--problem", str(problem), "-o", str(out), "--arch", "sm_90a"]) == 0
    text = out.read_text()
    assert text.startswith('"""linear for sm_90a: KernelBench\'s ModelNew for the problem "02_gemm_bias_relu"')
    assert "Needs torch and nvcc with CUTLASS's headers" in text
    assert "_HEADERS = {}" in text
    assert "from __future__" not in text
    assert "class ModelNew(_problem.Model):" in text
    compile(text, "model_new.py", "exec")


def test_an_output_that_cannot_be_written_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "p.mu"
    program.write_text(ONCE)
    problem = own_directory() / "02_gemm_bias_relu.py"
    assert main(["export", str(program), "--problem", str(problem), "-o", str(tmp_path / "no/where.py")]) == 1
    assert "file-not-writable" in capsys.readouterr().err
