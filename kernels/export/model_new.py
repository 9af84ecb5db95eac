"""Renders one program for one problem as a self-contained Python file with a class ``ModelNew``.

The template beside this module holds all that runs; here its blanks are filled: the plan, the problem's source, the
generated units with the headers they use, and built shared objects where they are to travel along. It compiles nothing.
"""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Mapping
from pathlib import Path
from string import Template
from typing import Any

from kernels.codegen.emission import Emission, Launch, PlanValue, TorchCall
from kernels.codegen.host import INCLUDE
from kernels.dtypes import DType
from kernels.export.quick import quick
from kernels.problems.inspection import Inspection
from kernels.toolchain import gxx, nvcc

_TEMPLATE = Path(__file__).with_name("model_new.py.txt")
_HEADER = re.compile(r'^\s*#include\s*[<"](mu/[^>"]+)[>"]', re.MULTILINE)
_CUTLASS = re.compile(r'^\s*#include\s*[<"](?:cutlass|cute)/', re.MULTILINE)


def export(
    emission: Emission,
    names: tuple[str, str],
    problem: str,
    inspection: Inspection,
    binaries: Mapping[str, bytes] | None = None,
) -> str:
    """The file's text. ``names`` are the program's and the problem's, ``problem`` is the problem file's source;
    ``binaries`` holds the shared object of each symbol, or is None for a file that compiles on first use.
    """
    plan, cuda = emission.plan, emission.target.is_cuda
    sources = {unit.symbol: unit.source for unit in emission.units}
    cutlass = any(_CUTLASS.search(source) for source in sources.values())
    compiler = "nvcc" if cuda else "g++"
    needs = "no compiler" if binaries is not None else compiler + (" with CUTLASS's headers" if cutlass else "")
    blanks = {
        **dict(zip(("program", "problem"), map(_word, names), strict=True)),
        "target": emission.target.value,
        "size": inspection.size,
        "needs": needs,
        "build_words": _build_words(binaries is not None, cuda),
        "device": repr("cuda" if cuda else "cpu"),
        "compiler": repr(compiler),
        "flags": _rows(list(nvcc.flags_for(emission.target) if cuda else gxx.FLAGS)),
        "size_literal": repr(inspection.size),
        "needs_cutlass": repr(cutlass),
        "values": _table({value.name: _value(value) for value in plan.values}),
        "inputs": literal(plan.inputs),
        "parameters": _rows(list(plan.parameters)),
        "outputs": literal(plan.outputs),
        "constants": literal(inspection.signature.constants),
        "steps": _rows([_step(step) for step in plan.steps]),
        "problem_source": quoted(problem),
        "headers": _texts(_headers(emission)),
        "sources": _texts(sources),
        "quick": quick(plan, inspection.signature.constants, cuda=cuda),
        "binaries": _table({symbol: _packed(binary) for symbol, binary in (binaries or {}).items()}),
    }
    return Template(_TEMPLATE.read_text(encoding="utf-8")).substitute(blanks)


def _word(name: str) -> str:
    """A name that may stand in a docstring."""
    return re.sub(r"[^\w .-]", "_", name)


def _build_words(built: bool, cuda: bool) -> str:
    if not built:
        return "compiled on first use, into TORCH_EXTENSIONS_DIR or the user's cache folder"
    return "for reading; their shared objects are embedded" + (
        "" if cuda else " and run on CPUs like their builder's"
    )


def _value(value: PlanValue) -> tuple[Any, ...]:
    return value.dtype.torch_name, value.shape, value.strides, value.offset, value.storage


def _step(step: Launch | TorchCall) -> tuple[Any, ...]:
    if isinstance(step, Launch):
        head = ("launch", step.stage, step.symbol, step.pointers, step.results, step.sizes)
        return (*head, step.workspace_bytes, step.abi, step.once)
    args, kwargs = _torch_types(step.args), _torch_types(step.kwargs)
    return ("torch", step.stage, step.function, args, kwargs, step.results, step.once)


def _torch_types(item: Any) -> Any:
    """Arguments with the names torch has for element types."""
    if isinstance(item, Mapping):
        if "dtype" in item and "value" not in item and len(item) == 1:
            return {"dtype": DType(item["dtype"]).torch_name} if isinstance(item["dtype"], str) else _inner(item)
        return _inner(item)
    if isinstance(item, list | tuple):
        return tuple(_torch_types(part) for part in item)
    return item


def _inner(item: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _torch_types(part) for key, part in item.items()}


def _headers(emission: Emission) -> dict[str, str]:
    """What the units include: their own headers, and on the host every file under ``mu/``, one through another too."""
    found = {header.name: header.text for unit in emission.units for header in unit.headers}
    if emission.target.is_cuda:
        return found
    waiting = sorted({name for unit in emission.units for name in _HEADER.findall(unit.source)})
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = (INCLUDE / name).read_text(encoding="utf-8")
            beside = re.findall(r'^\s*#include\s*"([^"/]+)"', found[name], re.MULTILINE)
            waiting += [*_HEADER.findall(found[name]), *(f"mu/{other}" for other in beside)]
    return dict(sorted(found.items()))


def _packed(binary: bytes) -> str:
    return base64.b64encode(zlib.compress(binary, 9)).decode("ascii")


def literal(item: Any) -> str:
    """Python source of plain data; infinities and NaN included, which ``repr`` cannot give."""
    if isinstance(item, float) and (item != item or item in (float("inf"), float("-inf"))):
        return f'float("{item}")'
    if isinstance(item, Mapping):
        return "{" + ", ".join(f"{key!r}: {literal(part)}" for key, part in item.items()) + "}"
    if isinstance(item, tuple):
        inner = ", ".join(map(literal, item))
        return f"({inner},)" if len(item) == 1 else f"({inner})"
    if isinstance(item, list):
        return "[" + ", ".join(map(literal, item)) + "]"
    return repr(item)


def quoted(text: str) -> str:
    """The text as a raw triple-quoted literal that reads as it is; as ``repr`` where that cannot hold it."""
    raw = "'''" if "'''" not in text else '"""'
    if raw in text or not text.endswith("\n") or "\r" in text:
        return repr(text)
    return f"r{raw}{text}{raw}"


def _texts(texts: Mapping[str, str]) -> str:
    return (
        "{" + "".join(f"\n    {name!r}: {quoted(text)}," for name, text in texts.items()) + "\n}" if texts else "{}"
    )


def _table(rows: Mapping[str, Any]) -> str:
    return "{" + "".join(f"\n    {key!r}: {literal(row)}," for key, row in rows.items()) + "\n}" if rows else "{}"


def _rows(rows: list[Any]) -> str:
    return "[" + "".join(f"\n    {literal(row)}," for row in rows) + "\n]" if rows else "[]"
