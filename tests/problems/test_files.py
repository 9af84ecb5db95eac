"""Reading problem files as text: what is found, and what is said of files that are no problems."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from kernels.problems import errors
from kernels.problems.files import MAX_BYTES, find_problems, own_directory, read_problem
from tests.problems.sources import GOOD


def write(folder: Path, text: str | bytes, name: str = "7_thing.py") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_it_reads_name_number_sizes_digest_and_docstring(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD, "level2/7_Twice.py")
    problem = read_problem(path)
    assert (problem.name, problem.level, problem.number) == ("7_Twice", 2, 7)
    assert problem.sizes == ("cpu", "gpu")
    assert problem.docstring == "Twice the input."
    assert problem.source == GOOD
    assert problem.digest == hashlib.sha256(GOOD.encode()).hexdigest()


def test_a_file_without_sizes_has_the_size_default_and_the_models_docstring(tmp_path: Path) -> None:
    text = GOOD.replace('SIZES = {"cpu": {"M": 8}, "gpu": {"M": 4096}}', "").replace('"""Twice the input."""', "")
    text = text.replace("class Model(nn.Module):", 'class Model(nn.Module):\n    """Doubles."""')
    problem = read_problem(write(tmp_path, text, "plain.py"))
    assert problem.sizes == ("default",)
    assert problem.docstring == "Doubles."
    assert (problem.level, problem.number) == (None, None)


def test_it_never_runs_the_file(tmp_path: Path) -> None:
    trace = tmp_path / "ran"
    read_problem(write(tmp_path, GOOD + f"\nopen({str(trace)!r}, 'w').close()\n"))
    assert not trace.exists()


def test_it_refuses_a_syntax_error_with_its_line_and_column(tmp_path: Path) -> None:
    with pytest.raises(errors.ProblemSyntaxError) as caught:
        read_problem(write(tmp_path, "import torch\nclass Model(:\n"))
    assert (caught.value.fields["line"], caught.value.fields["column"]) == (2, 13)
    assert "7_thing.py:2:13: not valid Python" in str(caught.value)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (("class Model(", "class Other("), errors.ProblemHasNoModel),
        (("def forward(", "def backward("), errors.ModelHasNoForward),
        (("def get_inputs(", "def inputs("), errors.ProblemHasNoInputs),
        (("def get_init_inputs(", "def init_inputs("), errors.ProblemHasNoInitInputs),
        (('{"M": 8}', '{"M": size()}'), errors.ProblemSizesNotLiteral),
        (('{"M": 8}', "8"), errors.ProblemSizesNotLiteral),
        (('"cpu"', "5"), errors.ProblemSizesNotLiteral),
    ],
)
def test_it_refuses_a_file_that_lacks_a_part(
    tmp_path: Path, change: tuple[str, str], error: type[errors.ProblemFileError]
) -> None:
    path = write(tmp_path, GOOD.replace(*change))
    with pytest.raises(error, match=r"7_thing\.py"):
        read_problem(path)


def test_a_forward_inherited_from_another_class_is_enough(tmp_path: Path) -> None:
    text = GOOD.replace("class Model(nn.Module):", "class Base(nn.Module):") + "\nclass Model(Base):\n    pass\n"
    assert read_problem(write(tmp_path, text)).sizes == ("cpu", "gpu")


def test_it_refuses_what_is_no_text(tmp_path: Path) -> None:
    with pytest.raises(errors.ProblemNotUtf8, match="byte 2 "):
        read_problem(write(tmp_path, b"# \xff"))
    with pytest.raises(errors.ProblemHasNulBytes, match="byte 3 "):
        read_problem(write(tmp_path, b"# a\0"))
    with pytest.raises(errors.ProblemTooLarge, match=str(MAX_BYTES)):
        read_problem(write(tmp_path, b"#" * (MAX_BYTES + 1)))
    with pytest.raises(errors.ProblemNotReadable, match="No such file"):
        read_problem(tmp_path / "missing.py")


@pytest.mark.parametrize("text", ["(" * 500, "-" * 100_000 + "1", "x = " + "[" * 300 + "]" * 300])
def test_it_survives_text_that_breaks_parsers(tmp_path: Path, text: str) -> None:
    with pytest.raises(errors.ProblemFileError):
        read_problem(write(tmp_path, text))


def test_it_finds_a_checkout_by_level_and_number(tmp_path: Path) -> None:
    for name in ("level1/10_ten.py", "level1/2_two.py", "level2/1_one.py", "level1/_private.py", "other/3_no.py"):
        write(tmp_path / "KernelBench", GOOD, name)
    write(tmp_path, GOOD, "setup.py")
    found = find_problems(tmp_path)
    expected = [(1, 2, "2_two"), (1, 10, "10_ten"), (2, 1, "1_one")]
    assert [(item.level, item.number, item.name) for item in found] == expected
    one_level = find_problems(tmp_path / "KernelBench" / "level1")
    assert [(item.level, item.number) for item in one_level] == [(1, 2), (1, 10)]


def test_it_says_so_where_there_is_no_problem(tmp_path: Path) -> None:
    with pytest.raises(errors.NoProblemsFound, match="level1"):
        find_problems(tmp_path)


def test_our_own_problems_read_and_have_a_cpu_and_a_gpu_size() -> None:
    found = find_problems(own_directory())
    assert len(found) >= 18
    assert [item.number for item in found] == list(range(1, len(found) + 1))
    for item in found:
        problem = read_problem(item.path)
        assert problem.sizes == ("cpu", "gpu"), item.name
        assert problem.docstring, item.name
        assert "\n" not in problem.docstring, item.name
