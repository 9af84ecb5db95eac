"""Large and bad input: a report or a clear refusal in bounded time, whatever a file holds."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kernels.languages import Language
from mucutlass_web.cli.main import main
from sol.audit import Severity, Subject, audit
from sol.audit.python.walk import number, walk
from sol.audit.report import MOST_PIECES
from tests.audit.large import MADE, cuda, helpers, inline

LARGE = {"cuda.cu": 380, "inline.py": 380, "helpers.py": 900, "table.cu": 30_000}
"""Counts that give more than 100,000 words and marks each, in some 300 KB."""


def seconds(work: Callable[[], object]) -> float:
    """Processor time: other processes are none of this one's concern."""
    began = time.process_time()
    work()
    return time.process_time() - began


@pytest.mark.parametrize("name", LARGE)
def test_a_large_honest_file_is_audited_in_seconds(name: str) -> None:
    text = MADE[name](LARGE[name])
    subject = Subject(text, Language(name.rsplit(".", 1)[1]))
    assert len(text) > 200_000
    began = time.process_time()
    flags = audit(subject)
    assert time.process_time() - began < 5
    assert [flag for flag in flags if flag.severity is Severity.SEVERE] == []


@pytest.mark.parametrize("make", [cuda, inline, helpers])
def test_twice_the_text_takes_about_twice_the_time(make: Callable[[int], str]) -> None:
    language = Language.CU if make is cuda else Language.PY

    def took(count: int) -> float:
        subject = Subject(make(count), language)
        return min(seconds(lambda: audit(subject)) for _ in range(2))

    took(10)
    assert took(320) < 6 * took(80) * 2  # four times the text; anything quadratic takes sixteen times as long


def test_the_limit_of_what_is_read_is_above_200_000_words_and_marks() -> None:
    assert MOST_PIECES >= 200_000


HOSTILE = {
    "same_name.cu": "void f(float* x) { f(x); }\n" * 8_000 + "void mucutlass_launch(void** in) { f(in); }",
    "conditions.cu": "void f() { x = " + "a ? b : " * 30_000 + "c; }",
    "branches.cu": "#if 1\n" * 20_000 + "int a;\n" * 20_000,
    "one_statement.cu": "void f(float* x, float* y) { " + "y[0] = x[0], " * 15_000 + "0; }",
    "braces.cu": "int a " + "{1} b " * 30_000 + ";",
    "chain.py": "class ModelNew:\n  def forward(self, x):\n    y0 = x\n"
    + "".join(f"    y{n + 1} = own(y{n})\n" for n in range(20_000))
    + "    return y0\n",
    "kept.py": "class ModelNew:\n  def forward(self, x):\n"
    + "".join(f"    self.k{n} = own(x)\n" for n in range(12_000))
    + "    return x + 1\n",
    "slices.py": "import torch\nclass ModelNew:\n  def forward(self, x):\n"
    + "".join(f"    y{n} = torch.empty(3)\n    y{n}[0:2] = x\n" for n in range(6_000))
    + f"    return [{', '.join(f'y{n}' for n in range(6_000))}]\n",
    "methods.py": "class ModelNew:\n"
    + "".join(f"  def m{n}(self, x):\n    return self.m{n + 1}(x)\n" for n in range(8_000))
    + "  def forward(self, x):\n    return self.m0(x)\n",
    "imports.py": "".join(f"import m{n}\nn{n} = m{n}.x\n" for n in range(12_000)) + "class ModelNew: pass\n",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_texts_made_to_be_slow_are_not(name: str) -> None:
    subject = Subject(HOSTILE[name], Language(name.rsplit(".", 1)[1]))
    assert seconds(lambda: audit(subject)) < 10


BAD: dict[str, tuple[bytes, str]] = {
    "nul.py": (b"import torch\nx = '\0'\n", "NUL bytes"),
    "nul.cu": (b"int a;\0", "NUL bytes"),
    "no_utf8.py": (b"# \xff\xfe\nimport torch\n", "no UTF-8"),
    "no_utf8.cpp": (b"// \xc3\x28\n", "no UTF-8"),
    "line.py": (b"x = '" + b"a" * (5 * 2**20) + b"'\n", "bytes long"),
    "line.cu": (b"int a[] = {" + b"1," * (5 * 2**19) + b"};", "bytes long"),
    "round.cu": (b"int a = " + b"(" * 10_000 + b")" * 10_000 + b";", "nested too deeply"),
    "curly.cpp": (b"{" * 10_000 + b"}" * 10_000, "nested too deeply"),
    "square.py": (b"x = " + b"[" * 10_000 + b"]" * 10_000, ""),
    "inside.py": (b"import torch\nS = '#include <a.h>\\nint a;" + b"{" * 10_000 + b"'\n", "nested too deeply"),
    "square.mu": (b"program p(x: f32[4]) -> f32[4]\n  y = map(" + b"(" * 10_000 + b"x", ""),
    "pieces.cu": (b"a " * (MOST_PIECES + 1), "words and marks"),
}


def audited(capsys: pytest.CaptureFixture[str], path: Path) -> tuple[int, dict[str, Any]]:
    status = main(["audit", str(path), "--json"])
    (line,) = capsys.readouterr().out.splitlines()
    form: dict[str, Any] = json.loads(line)
    return status, form


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_refused_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    data, words = BAD[name]
    (tmp_path / name).write_bytes(data)
    began = time.process_time()
    status, form = audited(capsys, tmp_path / name)
    assert time.process_time() - began < 10
    assert (status, form["outcome"], form["flags"]) == (1, "refused", [])
    assert words in form["error"]


@pytest.mark.parametrize("letters", [2**20, 3 * 2**20])
def test_a_long_line_within_the_limit_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], letters: int
) -> None:
    (tmp_path / "line.py").write_text(f"DATA = '{'a' * letters}'\nclass ModelNew:\n    pass\n")
    assert audited(capsys, tmp_path / "line.py")[1]["outcome"] == "clean"


def test_html_in_names_is_quoted_short_and_on_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = "_<b>" + "k" * 200
    text = (
        "import torch\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n"
        f"        if not hasattr(self, {name!r}):\n            setattr(self, {name!r}, x @ x)\n"
        "        torch.ops.load_library('<script>alert(1)</script>\\n1 verdict: clean')\n"
        "        import os; os.system('<img src=x onerror=alert(1)>\\nclean')\n"
        "        return self.kept\n"
    )
    (tmp_path / "html.py").write_text(text)
    _, form = audited(capsys, tmp_path / "html.py")
    assert form["outcome"] == "severe"
    for flag in form["flags"]:
        assert "\n" not in flag["evidence"]["words"]
        assert len(flag["evidence"]["words"]) < 400


def test_a_file_name_with_html_and_line_ends_stays_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "<b>\n{clean}.py"
    path.write_text("class ModelNew:\n    pass\n")
    _, form = audited(capsys, path)
    assert form["file"] == str(path)


def test_a_numbered_tree_gives_every_subtree_in_the_order_of_the_text() -> None:
    import ast

    text = "def f(a, *, b=[1, 2]):\n    return [x + -y for x in a if (x and not b)] or {k: v for k, v in b}\nf(1)\n"
    tree = ast.parse(text)
    expected = {id(node): sorted(ast.dump(part) for part in ast.walk(node)) for node in ast.walk(tree)}
    nodes = number(tree)
    assert len(nodes) == len(list(ast.walk(tree)))
    for node in nodes:
        assert sorted(ast.dump(part) for part in walk(node)) == expected[id(node)]
