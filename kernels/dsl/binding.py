"""A program's parameters and results against a problem's signature: which tensor each is, and what each size is.

Parameters bind the problem's inputs by position, then the state_dict by name. It reads no stage.
"""

from __future__ import annotations

from kernels.dsl import errors
from kernels.dsl.errors import OutputType, ShapeMismatch, Symbol, UnknownType
from kernels.dsl.ir import Value
from kernels.dsl.printer import format_type, format_value
from kernels.dsl.resolve import suggestion, tensor
from kernels.dsl.scope import RESERVED, Failed, Poisoned, Scope
from kernels.dsl.syntax import Parameter, Program, Span, TypeExpr
from kernels.dsl.views import fresh
from kernels.dtypes import DType
from kernels.problems.inspection import Signature, TensorSpec

Bound = tuple[tuple[Value, ...], tuple[Value, ...]]


def bind(program: Program, signature: Signature, scope: Scope) -> Bound:
    """The inputs and the parameters that the program names, declared in ``scope`` with the sizes' symbols."""
    count = len(signature.inputs)
    if len(program.parameters) < count:
        missing = ", ".join(_spoken(spec) for spec in signature.inputs[len(program.parameters) :])
        what = f"the problem has {count} input(s), and the program takes {len(program.parameters)}"
        scope.note(
            errors.Signature(_head(program), what=what, mend=f"take these too, before any parameter: {missing}")
        )
    specs = {spec.name: spec for spec in signature.parameters}
    inputs: list[Value] = []
    parameters: list[Value] = []
    for number, parameter in enumerate(program.parameters):
        if number < count:
            _bind_one(parameter, signature.inputs[number], f"input {number + 1}", scope, inputs)
        elif parameter.name in specs:
            _bind_one(parameter, specs[parameter.name], "a parameter", scope, parameters)
        else:
            what = f"{parameter.name!r} is no input of the problem and not in its state_dict"
            mend = suggestion(parameter.name, list(specs)) if specs else "the problem has no parameters"
            scope.note(errors.Signature(parameter.span, found=parameter.name, what=what, mend=mend))
            scope.declare(parameter.name, "a parameter", parameter.span, Poisoned())
    for value in inputs:
        scope.dynamic.setdefault(value.storage, value.name)
    _refuse_double_sizes(program, scope)
    return tuple(inputs), tuple(parameters)


def _head(program: Program) -> Span:
    return Span(program.span.line, program.span.column, program.span.line, program.span.column + len("program"))


def _spoken(spec: TensorSpec) -> str:
    return f"{spec.name}: {spec.dtype}[{', '.join(map(str, spec.shape))}]"


def _bind_one(parameter: Parameter, spec: TensorSpec, owner: str, scope: Scope, into: list[Value]) -> None:
    try:
        _match(parameter.type, spec, f"{owner} {spec.name!r}", scope)
    except Failed:
        scope.declare(parameter.name, owner, parameter.span, Poisoned())
        return
    value = fresh(parameter.name, spec.dtype, spec.shape)
    scope.declare(parameter.name, owner, parameter.span, value)
    into.append(value)


def _match(written: TypeExpr, spec: TensorSpec, owner: str, scope: Scope) -> None:
    """Bind the symbols of ``written`` to the extents of ``spec``."""
    mend = f"write {spec.dtype}[{', '.join(map(str, spec.shape))}]"
    if written.dtype not in set(DType):
        raise scope.fail(UnknownType(written.span, found=written.dtype, legal=", ".join(DType)))
    numbers_fit = len(written.shape) == len(spec.shape) and all(
        isinstance(extent, str) or extent == real for extent, real in zip(written.shape, spec.shape, strict=True)
    )
    if written.dtype != spec.dtype or not numbers_fit:
        what = f"{format_type(written)} for {owner}, which is {spec.dtype}{list(spec.shape)}"
        raise scope.fail(errors.Signature(written.span, found=format_type(written), what=what, mend=mend))
    for extent, real in zip(written.shape, spec.shape, strict=True):
        if isinstance(extent, str):
            _bind_size(extent, real, written.span, owner, scope)


def _bind_size(name: str, real: int, span: Span, owner: str, scope: Scope) -> None:
    known = scope.symbols.setdefault(name, real)
    if name in RESERVED or "." in name:
        del scope.symbols[name]
        mend = "sizes are plain names, as M"
        raise scope.fail(Symbol(span, found=name, what=f"{name!r} cannot be the name of a size", mend=mend))
    if known != real:
        what = f"the size {name!r} is {known}, and {real} in {owner}"
        raise scope.fail(Symbol(span, found=real, what=what, mend=f"give the extent of {real} another symbol"))


def _refuse_double_sizes(program: Program, scope: Scope) -> None:
    for parameter in program.parameters:
        if parameter.name in scope.symbols:
            scope.note(errors.Redefinition(parameter.span, found=parameter.name, owner="a size of the program"))


def outputs(program: Program, signature: Signature, scope: Scope) -> tuple[Value, ...]:
    """The returned values, compared with what the program declares and what the problem gives."""
    _declared(program, signature, scope)
    wanted = signature.outputs
    if len(program.outputs) != len(wanted):
        what = f"return gives {len(program.outputs)} value(s), and the problem {len(wanted)}"
        span = program.outputs[-1].span if program.outputs else program.span
        scope.note(
            errors.Signature(span, found=len(program.outputs), what=what, mend=f"return {len(wanted)} value(s)")
        )
    values = []
    for number, node in enumerate(program.outputs):
        try:
            value = tensor(node, scope)
        except Failed:
            continue
        values.append(value)
        if number < len(wanted):
            _compare(value, wanted[number], number, node.span, format_value(node), scope)
    return tuple(values)


def _compare(value: Value, spec: TensorSpec, number: int, span: Span, text: str, scope: Scope) -> None:
    if value.shape != spec.shape:
        what = (
            f"{text} has shape {list(value.shape)}, and output {number + 1} of the problem has {list(spec.shape)}"
        )
        mend = f"return a tensor of shape {list(spec.shape)}"
        scope.note(ShapeMismatch(span, found=list(value.shape), what=what, mend=mend))
    elif value.dtype is not spec.dtype:
        scope.note(OutputType(span, found=number + 1, dtype=value.dtype, legal=spec.dtype, name=text))


def _declared(program: Program, signature: Signature, scope: Scope) -> None:
    """The types after ``->``; a symbol that no parameter binds stands for the problem's extent."""
    if len(program.results) != len(signature.outputs):
        what = (
            f"the program declares {len(program.results)} result(s), and the problem has {len(signature.outputs)}"
        )
        mend = "write -> " + ", ".join(
            f"{spec.dtype}[{', '.join(map(str, spec.shape))}]" for spec in signature.outputs
        )
        scope.note(errors.Signature(program.results[-1].span, found=len(program.results), what=what, mend=mend))
    for number, (written, spec) in enumerate(zip(program.results, signature.outputs, strict=False)):
        if written.dtype in set(DType) and written.dtype != spec.dtype:
            name = format_value(program.outputs[number]) if number < len(program.outputs) else "result"
            scope.note(OutputType(written.span, found=number + 1, dtype=written.dtype, legal=spec.dtype, name=name))
            continue
        try:
            _match(written, spec, f"output {number + 1}", scope)
        except Failed:
            continue
