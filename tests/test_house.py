"""The house keeps its shape: imports follow the arrows, pure packages stay pure, files and functions stay short."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("kernels", "sol", "agent", "runs", "mucutlass_web")
MAY_IMPORT = {
    "kernels": {"kernels"},
    "sol": {"kernels", "sol"},
    "agent": {"kernels", "sol", "agent"},
    "runs": {"kernels", "sol", "agent", "runs"},
    "mucutlass_web": set(ROOMS),
}
DJANGO_FILES = {"models", "views", "urls", "tasks", "admin", "queries", "apps", "forms"}
PURE = (
    "kernels/dsl",
    "kernels/translate",
    "kernels/codegen",
    "kernels/raw",
    "kernels/candidates.py",
    "kernels/languages.py",
    "kernels/toolchain",
    "kernels/harness",
    "kernels/profiling",
    "kernels/problems",
    "kernels/export",
    "kernels/evaluation_form",
    "sol/bounds",
    "sol/gap",
    "sol/audit",
    "agent",
    "mucutlass_web/cli",
)
WEB_ONLY = {"django", "celery", "kombu", "redis", "plotly"}
MOST_LINES = 400
MOST_FUNCTION_LINES = 40


def modules() -> list[Path]:
    return sorted(
        path
        for room in ROOMS
        for path in (ROOT / room).rglob("*.py")
        if "migrations" not in path.parts and "own" not in path.parts
    )


def imports(tree: ast.AST) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module, node.lineno
            # ``from kernels import models`` names a module too.
            for alias in node.names:
                yield f"{node.module}.{alias.name}", node.lineno


def imported(path: Path) -> set[str]:
    return {name for name, _ in imports(ast.parse(path.read_text(encoding="utf-8")))}


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_follow_the_arrows(path: Path) -> None:
    room = path.relative_to(ROOT).parts[0]
    up = {
        name
        for name in imported(path)
        if name.split(".")[0] in ROOMS and name.split(".")[0] not in MAY_IMPORT[room]
    }
    assert not up


@pytest.mark.parametrize(
    "path",
    [path for path in modules() if str(path.relative_to(ROOT)).startswith(PURE)],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_a_pure_package_imports_no_django_and_no_model(path: Path) -> None:
    names = imported(path)
    assert not {name for name in names if name.split(".")[0] in WEB_ONLY}
    django_modules = {f"{room}.{file}" for room in ROOMS for file in DJANGO_FILES}
    assert not names & django_modules


def test_torch_is_imported_by_child_processes_alone() -> None:
    """No module that the web process or a Celery worker loads may import torch, at its top or deeper."""
    loaded = _reachable([ROOT / "runs" / "tasks.py", ROOT / "mucutlass_web" / "urls.py"])
    culprits = {
        str(path.relative_to(ROOT))
        for path in loaded
        if any(name.split(".")[0] == "torch" for name in _top_imports(path))
    }
    assert not culprits


def _top_imports(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    top = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    return {name for node in top for name, _ in imports(ast.Module(body=[node], type_ignores=[]))}


def _reachable(starts: list[Path]) -> set[Path]:
    seen: set[Path] = set()
    waiting = list(starts)
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        for name in _top_imports(path):
            stem = ROOT.joinpath(*name.split("."))
            waiting += [found for found in (stem.with_suffix(".py"), stem / "__init__.py") if found.exists()]
    return seen


def test_no_file_is_longer_than_the_house_allows() -> None:
    long = {
        str(path.relative_to(ROOT)): count
        for path in [*modules(), *(ROOT / "tests").rglob("*.py")]
        if (count := len(path.read_text(encoding="utf-8").splitlines())) > MOST_LINES
    }
    assert not long


def test_no_function_is_longer_than_the_house_allows() -> None:
    long = {}
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                if lines > MOST_FUNCTION_LINES:
                    long[f"{path.relative_to(ROOT)}:{node.name}"] = lines
    assert not long


def test_the_walk_sees_every_room() -> None:
    """The tests above would pass on an empty list."""
    assert {path.relative_to(ROOT).parts[0] for path in modules()} == set(ROOMS)
    assert len(_reachable([ROOT / "runs" / "tasks.py"])) > 20
