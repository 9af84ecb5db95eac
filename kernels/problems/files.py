"""Problem files as text: what a file says it is, found by reading its syntax tree.

Nothing here executes a line of a problem: the web process calls this on files that anybody wrote.
"""

from __future__ import annotations

import ast
import hashlib
import re
import warnings
from dataclasses import dataclass
from pathlib import Path

from kernels.problems.errors import (
    ModelHasNoForward,
    NoProblemsFound,
    ProblemHasNoInitInputs,
    ProblemHasNoInputs,
    ProblemHasNoModel,
    ProblemHasNulBytes,
    ProblemNotReadable,
    ProblemNotUtf8,
    ProblemSizesNotLiteral,
    ProblemSyntaxError,
    ProblemTooLarge,
)

MAX_BYTES = 512 * 1024
"""Longest problem file taken, in bytes; KernelBench's longest has 20 KB."""

DEFAULT_SIZE = "default"
"""The only size of a file without ``SIZES``."""

_LEVEL = re.compile(r"^level(\d+)$")
_NUMBER = re.compile(r"^(\d+)_(.+)$")
_PLAIN_BASES = frozenset({"Module", "object"})


@dataclass(frozen=True, slots=True)
class ProblemPath:
    """Where a problem file lies; ``level`` and ``number`` as folder and file name say, None where they do not."""

    path: Path
    name: str
    level: int | None
    number: int | None


@dataclass(frozen=True, slots=True)
class ProblemFile:
    """A problem as its file states it. ``digest`` is the SHA-256 of the file's bytes, in hex."""

    name: str
    level: int | None
    number: int | None
    source: str
    digest: str
    sizes: tuple[str, ...]
    docstring: str


def own_directory() -> Path:
    """The folder of the problems written for this project."""
    return Path(__file__).resolve().parent / "own"


def locate(path: Path) -> ProblemPath:
    """Name, level and number from ``level1/1_Square_matrix_multiplication_.py`` or ``own/01_gemm.py``."""
    numbered = _NUMBER.match(path.stem)
    level = _LEVEL.match(path.parent.name)
    return ProblemPath(
        path=path,
        name=path.stem,
        level=int(level[1]) if level else None,
        number=int(numbered[1]) if numbered else None,
    )


def find_problems(directory: Path) -> list[ProblemPath]:
    """Every problem file of a folder: ``*.py``, ``level*/*.py``, or a checkout's ``KernelBench/level*/*.py``.

    Ordered by level and number. Files whose name starts with an underscore are no problems. Raises
    NoProblemsFound.
    """
    found: list[ProblemPath] = []
    for folder in _folders(directory):
        found += [locate(path) for path in folder.glob("*.py") if path.is_file() and not path.name.startswith("_")]
    if not found:
        raise NoProblemsFound(path=directory)
    return sorted(found, key=lambda item: (item.level or 0, item.number or 0, item.name))


def _folders(directory: Path) -> list[Path]:
    for base in (directory, directory / "KernelBench"):
        levels = [folder for folder in base.glob("level*") if folder.is_dir() and _LEVEL.match(folder.name)]
        if levels:
            return levels
    return [directory]


def read_problem(path: Path) -> ProblemFile:
    """Read and check a problem file without running it. Raises a ProblemFileError that says what and where."""
    source, digest = _read_text(path)
    tree = _parse(path, source)
    _check_model(path, tree)
    names = {item.name for item in tree.body if isinstance(item, ast.FunctionDef)} | set(_assigned(tree))
    if "get_inputs" not in names:
        raise ProblemHasNoInputs(path=path)
    if "get_init_inputs" not in names:
        raise ProblemHasNoInitInputs(path=path)
    place = locate(path)
    return ProblemFile(
        name=place.name,
        level=place.level,
        number=place.number,
        source=source,
        digest=digest,
        sizes=tuple(_sizes(path, tree)) or (DEFAULT_SIZE,),
        docstring=_docstring(tree),
    )


def _read_text(path: Path) -> tuple[str, str]:
    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise ProblemTooLarge(path=path, bytes=size, limit=MAX_BYTES)
        data = path.read_bytes()
    except OSError as error:
        raise ProblemNotReadable(path=path, reason=error.strerror or str(error)) from error
    if b"\0" in data:
        raise ProblemHasNulBytes(path=path, offset=data.index(b"\0"))
    try:
        source = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ProblemNotUtf8(path=path, offset=error.start) from error
    return source, hashlib.sha256(data).hexdigest()


def _parse(path: Path, source: str) -> ast.Module:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source, filename=str(path))
    except SyntaxError as error:
        raise ProblemSyntaxError(
            path=path, line=error.lineno or 1, column=error.offset or 1, reason=error.msg
        ) from error
    except (RecursionError, MemoryError, ValueError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError | MemoryError) else str(error)
        raise ProblemSyntaxError(path=path, line=1, column=1, reason=reason) from error


def _assigned(tree: ast.Module) -> dict[str, ast.expr]:
    """Top-level ``NAME = value``, the last one of each name."""
    values: dict[str, ast.expr] = {}
    for item in tree.body:
        if isinstance(item, ast.Assign):
            values |= {target.id: item.value for target in item.targets if isinstance(target, ast.Name)}
        elif isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name) and item.value is not None:
            values[item.target.id] = item.value
    return values


def _check_model(path: Path, tree: ast.Module) -> None:
    models = [item for item in tree.body if isinstance(item, ast.ClassDef) and item.name == "Model"]
    if not models:
        if "Model" in _assigned(tree):
            return
        raise ProblemHasNoModel(path=path)
    model = models[-1]
    for item in model.body:
        if isinstance(item, ast.FunctionDef) and item.name == "forward":
            return
        if isinstance(item, ast.Assign) and any(getattr(t, "id", None) == "forward" for t in item.targets):
            return
    # A forward may also be inherited from a class other than nn.Module.
    bases = {base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "") for base in model.bases}
    if bases <= _PLAIN_BASES:
        raise ModelHasNoForward(path=path, line=model.lineno)


def _sizes(path: Path, tree: ast.Module) -> dict[str, dict[str, object]]:
    value = _assigned(tree).get("SIZES")
    if value is None:
        return {}
    try:
        sizes = ast.literal_eval(value)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError) as error:
        raise ProblemSizesNotLiteral(path=path, line=value.lineno, reason="it is not a literal") from error
    if not isinstance(sizes, dict) or not sizes:
        raise ProblemSizesNotLiteral(path=path, line=value.lineno, reason="it is not a dict with a size in it")
    for name, constants in sizes.items():
        if not isinstance(name, str) or not name.replace("-", "_").isidentifier():
            raise ProblemSizesNotLiteral(path=path, line=value.lineno, reason=f"{name!r} is not a size's name")
        if not isinstance(constants, dict) or not all(isinstance(key, str) for key in constants):
            raise ProblemSizesNotLiteral(
                path=path, line=value.lineno, reason=f"the size {name!r} is not a dict of constants by name"
            )
    return sizes


def _docstring(tree: ast.Module) -> str:
    """The module's docstring, else that of Model; "" where neither has one."""
    text = ast.get_docstring(tree)
    if not text:
        models = [item for item in tree.body if isinstance(item, ast.ClassDef) and item.name == "Model"]
        text = ast.get_docstring(models[-1]) if models else None
    return text or ""
