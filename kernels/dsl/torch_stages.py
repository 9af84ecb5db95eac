"""``torch.*`` stages: their arguments in JSON, and their results' types.

Nothing is called here and torch is not imported: where no plain rule gives the result's type, the program says it, and
the harness finds out whether that was true.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from kernels.dsl.errors import ArgumentError, Symbol, TorchFunction, TorchResult, UnknownType
from kernels.dsl.ir import Value
from kernels.dsl.printer import format_type
from kernels.dsl.resolve import names_tensor, number, tensor
from kernels.dsl.scope import Scope
from kernels.dsl.syntax import Argument, Assign, Name, Number, Sequence, Text, TypeExpr
from kernels.dsl.torch_results import result_of
from kernels.dsl.views import fresh
from kernels.dtypes import DType

_FUNCTION = re.compile(r"torch\.((nn\.functional|linalg|special|fft)\.)?[a-z][a-z0-9_]*")
_IMPURE = re.compile(
    r"torch\.(load|save|compile|jit|hub|ops|classes|library|package|from_file|frombuffer|manual_seed|seed|typename|quit|"
    r"initial_seed|import_ir_module.*|set_.*|get_.*|use_.*|is_.*|are_.*|init.*|fork|wait|export|vmap|func|cond|while_loop|"
    r"autocast.*|no_grad|enable_grad|inference_mode|nn|cuda|cpu|mps|xpu|distributed|utils|multiprocessing)"
)
_WORDS = {"True": True, "False": False, "None": None, "true": True, "false": False, "none": None}


@dataclass(slots=True)
class TorchCall:
    """Arguments in the JSON form of ``Stage.attributes``; ``values`` are the tensors among them, by name."""

    args: list[Any] = field(default_factory=list)
    kwargs: dict[str, Any] = field(default_factory=dict)
    values: dict[str, Value] = field(default_factory=dict)


def read_call(stage: Assign, scope: Scope) -> TorchCall:
    """The stage's call; fails where it is no pure function or an argument means nothing."""
    if not _FUNCTION.fullmatch(stage.op):
        raise scope.fail(TorchFunction(stage.span, found=stage.op, why="it is no function, or in another module"))
    if _IMPURE.fullmatch(stage.op):
        raise scope.fail(TorchFunction(stage.span, found=stage.op, why="it may touch more than its tensors"))
    if stage.op.endswith("_"):
        raise scope.fail(TorchFunction(stage.span, found=stage.op, why="it overwrites its tensor"))
    call = TorchCall()
    call.args = [_argument(node, call, scope) for node in stage.args]
    for keyword in stage.kwargs:
        if keyword.name in call.kwargs:
            what = f"{stage.op} got {keyword.name!r} twice"
            raise scope.fail(ArgumentError(keyword.span, what=what, mend="keep one of them"))
        value = _argument(keyword.value, call, scope)
        if keyword.name == "out" or (keyword.name == "inplace" and value is not False):
            found = f"{keyword.name}="
            raise scope.fail(TorchFunction(keyword.span, found=found, why="it overwrites a tensor"))
        call.kwargs[keyword.name] = value
    return call


def _argument(node: Argument, call: TorchCall, scope: Scope) -> Any:
    match node:
        case Name() if node.text in _WORDS and node.text not in scope.names:
            return _WORDS[node.text]
        case Name() if node.text in set(DType):
            return {"dtype": node.text}
        case Text():
            return node.value
        case Sequence():
            return [_argument(item, call, scope) for item in node.items]
        case Number():
            return node.value
        case _ if names_tensor(node, scope):
            value = tensor(node, scope)
            call.values[value.name] = value
            return {"value": value.name}
        case _:
            return number(node, scope)


def results(stage: Assign, call: TorchCall, scope: Scope) -> tuple[Value, ...]:
    """The stage's results by annotation, by rule, or both, which must then agree."""
    known = result_of(stage.op, tuple(call.args), call.kwargs, call.values)
    if not stage.results:
        if known is None:
            what = f"the checker does not know what {stage.op} gives here"
            mend = f"say it: {stage.target} = {stage.op}(…) -> f32[4, 8]"
            raise scope.fail(TorchResult(stage.span, found=stage.op, what=what, mend=mend))
        return (fresh(stage.target, DType(known[0]), known[1]),)
    types = [(_dtype(written, scope), extents(written, scope)) for written in stage.results]
    if known is not None and types != [(DType(known[0]), known[1])]:
        said = ", ".join(map(format_type, stage.results))
        right = f"{known[0]}[{', '.join(map(str, known[1]))}]"
        what = f"{stage.op} gives {right} here, and the annotation says {said}"
        raise scope.fail(TorchResult(stage.results[0].span, found=said, what=what, mend=f"write -> {right}"))
    if len(types) == 1:
        return (fresh(stage.target, *types[0]),)
    return tuple(fresh(f"{stage.target}.{number}", *kind) for number, kind in enumerate(types))


def _dtype(written: TypeExpr, scope: Scope) -> DType:
    if written.dtype not in set(DType):
        raise scope.fail(UnknownType(written.span, found=written.dtype, legal=", ".join(DType)))
    return DType(written.dtype)


def extents(written: TypeExpr, scope: Scope) -> tuple[int, ...]:
    """The extents of a written type with its symbols' values; fails on a symbol that nothing binds."""
    shape = []
    for extent in written.shape:
        if isinstance(extent, str):
            if extent not in scope.symbols:
                what = f"the size {extent!r} stands for no number"
                mend = "use it in a parameter's type, or write a number"
                raise scope.fail(Symbol(written.span, found=extent, what=what, mend=mend))
            extent = scope.symbols[extent]
        shape.append(extent)
    return tuple(shape)
