"""The lines of a batch: each a JSON object that asks for one evaluation, or a located error. Nothing is opened here."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernels.errors import UserError
from kernels.harness.baselines import default_baselines, parse_baselines
from kernels.harness.evaluation import FLUSHES
from kernels.harness.tolerance import PROFILES
from kernels.languages import Language
from kernels.targets import Policy, Target
from mucutlass_web.cli.errors import BatchLineWrong
from mucutlass_web.cli.evaluating import Wanted

Id = str | int
"""What names a request in the results; the line's number where it names none."""

_CARDS = [target.value for target in Target if target.is_cuda]
_NAMES: dict[str, list[str]] = {
    "device": ["host", "cuda"], "arch": _CARDS, "tolerance": list(PROFILES), "policy": [p.value for p in Policy],
    "flush": [*FLUSHES],
}  # fmt: skip
_FIELDS = ("file", "problem", "size", *_NAMES, "baselines", "profile", "id")


@dataclass(frozen=True, slots=True)
class Line:
    """One line, counted from 1; blank ones count and are none. Either ``wanted`` or ``error`` is there."""

    number: int
    id: Id
    wanted: Wanted | None
    error: UserError | None


@dataclass(frozen=True, slots=True)
class Source:
    """The file that lines come from, and the folder that their relative paths are relative to."""

    path: Path
    folder: Path


def read_lines(text: str, source: Source) -> Iterator[Line]:
    """Every line of the text that is not blank."""
    seen: set[Id] = set()
    for number, words in enumerate(text.split("\n"), start=1):
        if words.strip():
            yield _line(words, number, source, seen)


def _line(words: str, number: int, source: Source, seen: set[Id]) -> Line:
    def wrong(what: str, right: str) -> BatchLineWrong:
        return BatchLineWrong(path=source.path, line=number, wrong=what, right=right)

    name: Id = number
    try:
        form = _object(words, wrong)
        name = _id(form, number, wrong)
        if name in seen:
            raise wrong(f"the id {name!r} was given before", "an id for each request, or none")
        seen.add(name)
        return Line(number, name, _wanted(form, source.folder, wrong), None)
    except UserError as error:
        return Line(number, name, None, error)


Wrong = Callable[[str, str], BatchLineWrong]


def _object(words: str, wrong: Wrong) -> dict[str, Any]:
    right = 'an object such as {"file": "kernel.mu", "problem": "problem.py"}'
    try:
        form = json.loads(words)
    except (ValueError, RecursionError) as error:
        said = f"{error.msg} at column {error.colno}" if isinstance(error, json.JSONDecodeError) else str(error)
        raise wrong(f"no JSON: {said}", right) from None
    if not isinstance(form, dict):
        raise wrong(f"a JSON {_kind(form)}", right)
    unknown = sorted(set(form) - set(_FIELDS))
    if unknown:
        raise wrong(f"there is no field {unknown[0]!r}", f"some of {', '.join(_FIELDS)}")
    return form


def _id(form: dict[str, Any], number: int, wrong: Wrong) -> Id:
    name = form.get("id")
    if name is None:
        return number
    if isinstance(name, bool) or not isinstance(name, str | int):
        raise wrong(f"the id is a JSON {_kind(name)}", "a string or a whole number")
    return name


def _wanted(form: dict[str, Any], folder: Path, wrong: Wrong) -> Wanted:
    file, problem = (_path(form, name, folder, wrong) for name in ("file", "problem"))
    for name, legal in _NAMES.items():
        if form.get(name) is not None and form[name] not in legal:
            raise wrong(f"{name} is {form[name]!r}", f"one of {', '.join(legal)}")
    size = form.get("size")
    if size is not None and not isinstance(size, str):
        raise wrong(f"size is a JSON {_kind(size)}", "a name in the problem's SIZES")
    if not isinstance(form.get("profile") or False, bool):
        raise wrong(f"profile is a JSON {_kind(form['profile'])}", "true or false")
    device = form.get("device") or device_for(file)
    return Wanted(
        file=file,
        problem=problem,
        device=device,
        arch=Target(form.get("arch") or Target.SM90A),
        size=size,
        tolerance=form.get("tolerance") or PROFILES[0],
        policy=Policy(form.get("policy") or Policy.TF32),
        baselines=default_baselines(device) if form.get("baselines") is None else _baselines(form, wrong),
        profile=bool(form.get("profile")),
        flush=form.get("flush") or FLUSHES[0],
    )


def device_for(file: Path) -> str:
    """The device of a request that names none: a card for CUDA C++, this machine's CPU for everything else."""
    return "cuda" if file.suffix.lower() == f".{Language.CU}" else "host"


def _path(form: dict[str, Any], name: str, folder: Path, wrong: Wrong) -> Path:
    value = form.get(name)
    if not isinstance(value, str) or not value or "\0" in value:
        seen = f"{name} is missing" if value is None else f"{name} is {value!r}"
        raise wrong(seen, f"the {name}'s path")
    return folder / value


def _baselines(form: dict[str, Any], wrong: Wrong) -> Any:
    given = form["baselines"]
    names: Iterable[str] = [given] if isinstance(given, str) else given
    if not isinstance(given, str | list) or not all(isinstance(name, str) for name in names):
        raise wrong(f"baselines is {given!r}", 'a list of names such as ["eager"]')
    try:
        return parse_baselines(names)
    except UserError as error:
        raise wrong(*str(error).partition("; ")[::2]) from None


def _kind(value: Any) -> str:
    kinds = {dict: "object", list: "array", str: "string", bool: "boolean", int: "number", float: "number"}
    return kinds.get(type(value), "null")
