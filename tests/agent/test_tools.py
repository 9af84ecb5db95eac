"""The tools for CUTLASS's tree: what they show, what they cut, and that nothing leads out of the tree."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from agent.tools import Toolbox, cutlass_tools, tools_for
from agent.tools.cutlass import MOST_CHARACTERS, MOST_HITS
from kernels.languages import Language
from tests.agent.driving import settings

SECRET = "the secret of the house"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "cutlass"
    (root / "include/cute/atom").mkdir(parents=True)
    (root / "examples").mkdir()
    (root / "include/cute/layout.hpp").write_text(
        "".join(f"// line {n}\n" for n in range(1, 501)), encoding="utf-8"
    )
    (root / "include/cute/atom/mma.hpp").write_text("struct MMA_Atom {};\nusing x = mma_atom;\n", encoding="utf-8")
    (root / "include/cute/empty.hpp").write_text("", encoding="utf-8")
    (root / "include/logo.hpp").write_bytes(b"\x89PNG\0\xff\xfeMMA_Atom")
    (root / "include/latin.hpp").write_bytes(b"caf\xe9 MMA_Atom\n")
    (root / "examples/main.cu").write_text("MMA_Atom in an example\n", encoding="utf-8")
    (tmp_path / "secret.hpp").write_text(SECRET, encoding="utf-8")
    (root / "include/link.hpp").symlink_to(tmp_path / "secret.hpp")
    (root / "include/up").symlink_to(tmp_path, target_is_directory=True)
    (root / "include/inner.hpp").symlink_to(root / "include/cute/atom/mma.hpp")
    (root / "include/loop.hpp").symlink_to(root / "include/loop.hpp")
    os.mkfifo(root / "include/pipe.hpp")
    return root


def call(tree: Path, name: str, **arguments: object) -> str:
    return Toolbox(cutlass_tools(tree)).call(name, arguments)


def test_a_folder_is_listed_with_folders_first(tree: Path) -> None:
    assert call(tree, "cutlass_list", path="include/cute") == (
        "atom/\nempty.hpp 0 B\nlayout.hpp 5892 B\n[3 of 3 entries]"
    )
    assert call(tree, "cutlass_list", path="").startswith("examples/\ninclude/\n")


def test_a_search_finds_lines_and_passes_over_what_is_no_text(tree: Path) -> None:
    assert call(tree, "cutlass_search", text="mma_atom", path="") == (
        "include/cute/atom/mma.hpp:1: struct MMA_Atom {};\n"
        "include/cute/atom/mma.hpp:2: using x = mma_atom;\n[2 of 2 lines found]"
    )
    assert "examples/main.cu:1" in call(tree, "cutlass_search", text="mma_atom", path="examples")
    assert call(tree, "cutlass_search", text="(a+)+$ no pattern", path="").endswith("is nowhere below include")
    assert SECRET not in call(tree, "cutlass_search", text="secret of the house", path=".")


def test_what_a_search_leaves_out_is_counted(tree: Path) -> None:
    found = call(tree, "cutlass_search", text="line", path="")
    assert found.endswith(
        f"[{MOST_HITS} of 500 lines found, 460 left out: ask for a smaller folder or a longer text]"
    )


def test_lines_are_read_with_their_numbers_and_what_follows_is_named(tree: Path) -> None:
    assert call(tree, "cutlass_read", path="include/cute/layout.hpp", first_line=9, lines=2) == (
        "9: // line 9\n10: // line 10\n[lines 9 to 10 of 500; first_line=11 goes on]"
    )
    assert call(tree, "cutlass_read", path="include/cute/layout.hpp", first_line=9999, lines=9) == (
        "500: // line 500\n[lines 500 to 500 of 500]"
    )
    assert call(tree, "cutlass_read", path="include/cute/empty.hpp", first_line=1, lines=9).endswith("is empty")
    assert "struct MMA_Atom" in call(tree, "cutlass_read", path="include/inner.hpp", first_line=1, lines=9)


def test_an_answer_is_never_longer_than_it_may_be(tree: Path) -> None:
    (tree / "include/wide.hpp").write_text(
        "needle " + "x" * 3_000_000 + "\n" + "needle y\n" * 9_000, encoding="utf-8"
    )
    for number in range(400):
        (tree / f"examples/a_file_with_a_long_name_{number:04}.hpp").write_text("z", encoding="utf-8")
    answers = [
        call(tree, "cutlass_read", path="include/wide.hpp", first_line=1, lines=10**9),
        call(tree, "cutlass_search", text="needle", path=""),
        call(tree, "cutlass_list", path="examples"),
    ]
    assert all(len(answer) <= MOST_CHARACTERS for answer in answers)
    assert all("goes on" in answer or "left out" in answer for answer in answers)


@pytest.mark.parametrize(
    "path",
    ["../secret.hpp", "include/../../secret.hpp", "/etc/passwd", "include/link.hpp", "include/up/secret.hpp", "a\0b",
     "include\\..\\..\\secret.hpp", "include/loop.hpp", "~/.ssh/id_rsa", "x" * 5_000, "include/pipe.hpp"],
)  # fmt: skip
def test_no_path_leads_out_of_the_tree(tree: Path, path: str) -> None:
    for name, arguments in (("cutlass_read", {"first_line": 1, "lines": 9}), ("cutlass_list", {})):
        answer = call(tree, name, path=path, **arguments)
        assert answer.startswith("error: ")
        assert SECRET not in answer
        assert len(answer) < 500
    assert call(tree, "cutlass_search", text="secret", path=path).startswith("error: ")


@pytest.mark.parametrize("path", ["include/logo.hpp", "include/latin.hpp"])
def test_a_binary_file_is_refused(tree: Path, path: str) -> None:
    answer = call(tree, "cutlass_read", path=path, first_line=1, lines=9)
    assert answer == f"error: not-text: '{path}' holds no text; sources and headers can be read"


@pytest.mark.parametrize(
    "arguments", ["", "[]", "no json", "[" * 5_000, '{"path": 3}', '{"path": "include", "lines": "x"}']
)
def test_arguments_of_another_form_are_answered_in_words(tree: Path, arguments: str) -> None:
    assert Toolbox(cutlass_tools(tree)).call("cutlass_read", arguments).startswith("error: ")


def test_a_tool_that_is_not_there_is_named_with_those_that_are(tree: Path) -> None:
    answer = call(tree, "bash", command="id")
    assert (
        answer
        == "error: unknown-tool: there is no tool 'bash'; there are cutlass_list, cutlass_search, cutlass_read"
    )


def test_an_answer_has_so_many_calls_and_no_more(tree: Path) -> None:
    box = Toolbox(cutlass_tools(tree), most_calls=2)
    assert len(box.definitions) == 3
    box.call("cutlass_list", "{}")
    box.call("nothing", "{}")
    assert box.definitions == []
    assert box.call("cutlass_list", '{"path": ""}').startswith("error: calls-spent: 2 calls")


def test_definitions_are_those_of_the_protocol(tree: Path) -> None:
    definitions = Toolbox(cutlass_tools(tree)).definitions
    assert json.loads(json.dumps(definitions)) == definitions
    for definition in definitions:
        assert definition["type"] == "function"
        parameters = definition["function"]["parameters"]
        assert parameters["required"] == list(parameters["properties"])
        assert parameters["additionalProperties"] is False


def test_only_a_run_that_writes_cuda_has_them(tree: Path) -> None:
    assert len(tools_for(settings(representation=Language.CU), tree)) == 3
    assert tools_for(settings(representation=Language.CU), None) == ()
    for language in (Language.MU, Language.PY, Language.CPP):
        assert tools_for(settings(representation=language), tree) == ()
