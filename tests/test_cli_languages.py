"""The command line over hand-written C++ and Python: what each command gives of them, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kernels.problems.module_text import module_text
from kernels.targets import Target
from kernels.toolchain import available
from kernels.toolchain.disassembly import find_cuobjdump
from kernels.toolchain.nvcc import find
from mucutlass_web.cli.main import main
from tests.gpu.language_sources import PLAIN
from tests.raw.sources import CPP, SOURCE

pytestmark = pytest.mark.usefixtures("inspected_once")

CU = PLAIN.replace("using problem::bias;", "using problem::bias;  // <- by name")


@pytest.fixture(autouse=True)
def _own_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUCUTLASS_BUILD_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("MUCUTLASS_LOCKS", str(tmp_path / "locks"))


@pytest.fixture
def problem(tmp_path: Path) -> list[str]:
    path = tmp_path / "problem.py"
    path.write_text(SOURCE)
    return ["--problem", str(path)]


def written(folder: Path, name: str, text: str | bytes) -> str:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def test_emit_prints_the_header_of_a_hand_written_source(
    tmp_path: Path, problem: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["emit", written(tmp_path, "k.cpp", CPP), *problem]) == 0
    said = capsys.readouterr().out
    assert said.startswith("// Made from the problem's signature")
    assert "struct bias {" in said
    assert "mucutlass_launch(const void* const* inputs" in said
    assert main(["emit", written(tmp_path, "k.cpp", CPP), *problem, "--json"]) == 0
    form = json.loads(capsys.readouterr().out)
    assert (form["units"][0]["source"], form["plan"]["steps"][0]["abi"]) == (CPP, "arrays")


def test_build_compiles_a_hand_written_source_once(
    tmp_path: Path, problem: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["build", written(tmp_path, "k.cpp", CPP), *problem]
    assert main(arguments) == 0
    assert "mucutlass_launch: built by g++" in capsys.readouterr().out
    assert main(arguments) == 0
    assert "from the cache" in capsys.readouterr().out
    assert main(["build", written(tmp_path, "k.cpp", CPP + "#error no\n"), *problem]) == 1
    assert "mucutlass_launch.cpp:" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "source", "outcome", "status"),
    [
        ("k.cpp", CPP, "passed", 0),
        ("k.py", module_text(SOURCE), "passed", 0),
        ("k.cpp", CPP.replace("sum > 0 ? sum : 0", "sum"), "incorrect", 1),
        ("k.py", module_text(SOURCE).replace("torch.relu(x + self.bias)", "x"), "incorrect", 1),
        ("k.py", "def broken(:", "refused", 1),
        ("k.cpp", "not C++", "build_error", 1),
    ],
)
def test_evaluate_takes_each_language(
    tmp_path: Path, problem: list[str], capsys: pytest.CaptureFixture[str],
    name: str, source: str, outcome: str, status: int,
) -> None:  # fmt: skip
    assert main(["evaluate", written(tmp_path, name, source), *problem, "--json"]) == status
    form = json.loads(capsys.readouterr().out)
    assert form["outcome"] == outcome
    assert form["candidate"]["language"] == Path(name).suffix[1:]


def test_a_cuda_source_is_not_evaluated_on_the_host(
    tmp_path: Path, problem: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["evaluate", written(tmp_path, "k.cu", CU), *problem, "--device", "host", "--json"]) == 1
    form = json.loads(capsys.readouterr().out)
    assert (form["outcome"], "does not run on host" in form["detail"]) == ("refused", True)


def test_check_looks_at_pythons_syntax_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", written(tmp_path, "k.py", module_text(SOURCE))]) == 0
    assert capsys.readouterr().out.startswith("ModelNew: Python, with the class")
    assert main(["check", written(tmp_path, "k.py", "def broken(:")]) == 1
    assert "python-syntax: line 1, column" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "name", "source", "words"),
    [
        (["check"], "k.cpp", CPP, "nothing-to-check: a .cpp source is checked by its compiler alone"),
        (["build"], "k.cpp", CPP, "problem-needed: "),
        (["emit", "--arch", "sm_90a"], "k.cpp", CPP, "language-elsewhere: a .cpp source does not run on sm_90a; a .cu"),
        (["build"], "k.cu", CU, "language-elsewhere: a .cu source does not run on host; a .cpp source"),
        (["build"], "k.py", "class ModelNew: pass", "nothing-to-build: a .py source is not compiled ahead"),
        (["check"], "k.txt", "x", "language-unknown: "),
        (["check"], "k.py", b"\xff\xfe", "file-not-readable: "),
        (["check"], "k.py", b"x\x00", "source-refused: the source holds NUL bytes"),
        (["check"], "k.py", b"#" * 5_000_000, "source-refused: the source is 5000000 bytes long"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_said_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str],
    arguments: list[str], name: str, source: str | bytes, words: str,
) -> None:  # fmt: skip
    assert main([*arguments, written(tmp_path, name, source)]) == 1
    assert words in capsys.readouterr().err


@pytest.mark.nvcc
@pytest.mark.skipif(available(Target.SM90A) is None, reason="there is no nvcc")
def test_a_cuda_source_has_ptx_and_sass(
    tmp_path: Path, problem: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    compiler = find(Target.SM90A)
    assert compiler is not None
    ptx, sass = tmp_path / "k.ptx", tmp_path / "k.sass"
    arguments = ["build", written(tmp_path, "k.cu", CU), *problem, "--arch", "sm_90a", "--ptx", str(ptx)]
    has_tool = find_cuobjdump(compiler) is not None
    assert main([*arguments, *(["--sass", str(sass)] if has_tool else [])]) == 0
    assert "registers, 0 + 0 B spilled" in capsys.readouterr().out
    assert "bias_relu" in ptx.read_text()
    assert ".target sm_90a" in ptx.read_text()
    assert not has_tool or "Function : " in sass.read_text()
