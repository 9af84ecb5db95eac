"""Runs a checked program with torch, stage by stage: what the program says, with no code generated."""

from __future__ import annotations

import operator
from functools import reduce
from typing import Any

import torch

from kernels.dsl.ir import Acc, Apply, CheckedProgram, Const, Expr, Load, Stage, Value
from tests.codegen.row_cases import REDUCTIONS, SOFTMAXES

_F = torch.nn.functional

FUNCTIONS: dict[str, Any] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "neg": operator.neg,
    "max": lambda x, y: torch.maximum(*_tensors(x, y)),
    "min": lambda x, y: torch.minimum(*_tensors(x, y)),
    "gt": lambda x, y: (x > y).float(),
    "lt": lambda x, y: (x < y).float(),
    "ge": lambda x, y: (x >= y).float(),
    "le": lambda x, y: (x <= y).float(),
    "eq": lambda x, y: (x == y).float(),
    "where": lambda c, x, y: torch.where(torch.as_tensor(c) != 0, x, y),
    # Of a number, too: the root of -1 is how NaN is written.
    "sqrt": lambda x: torch.as_tensor(x).sqrt(),
    "gelu_tanh": lambda x: _F.gelu(x, approximate="tanh"),
}


def _tensors(*values: Any) -> list[torch.Tensor]:
    dtype = next(value.dtype for value in values if isinstance(value, torch.Tensor))
    return [torch.as_tensor(value, dtype=dtype) for value in values]


def function(name: str) -> Any:
    """The torch function behind a name of the language's table."""
    if name in FUNCTIONS:
        return FUNCTIONS[name]
    return getattr(_F, name) if not hasattr(torch, name) else getattr(torch, name)


class Interpreter:
    """``storage`` holds each owned tensor, flat."""

    def __init__(self, program: CheckedProgram, inputs: list[torch.Tensor], state: dict[str, torch.Tensor]) -> None:
        self.program = program
        self.storage = {value.name: tensor for value, tensor in zip(program.inputs, inputs, strict=True)}
        self.storage |= {value.name: state[value.name] for value in program.parameters}
        self.values = {value.name: value for value in program.values}

    def run(self) -> list[torch.Tensor]:
        """The program's outputs."""
        for stage in self.program.stages:
            for result, tensor in zip(stage.results, self._stage(stage), strict=True):
                assert tuple(tensor.shape) == result.shape, (
                    f"{result.name}: {tuple(tensor.shape)} != {result.shape}"
                )
                laid_out = torch.empty_strided(result.shape, result.strides, dtype=tensor.dtype).copy_(tensor)
                self.storage[result.name] = torch.as_strided(laid_out, (result.elements,), (1,))
        return [self._load(value) for value in self.program.outputs]

    def _load(self, value: Value) -> torch.Tensor:
        return torch.as_strided(self.storage[value.storage].contiguous(), value.shape, value.strides, value.offset)

    def _stage(self, stage: Stage) -> list[torch.Tensor]:
        if stage.op == "torch":
            return self._torch(stage)
        if stage.op == "cast":
            return [self._load(stage.operands[0]).to(getattr(torch, stage.result.dtype.torch_name))]
        if stage.op == "relayout":
            return [self._load(stage.operands[0])]
        if stage.op == "pad":
            return [self._pad(stage)]
        acc: Any = None
        if stage.op == "pool":
            acc = self._pool(stage)
        if stage.op == "conv":
            acc = self._convolution(stage)
        if stage.op in ("reduce", "softmax", "norm"):
            acc = self._rows(stage)
        if stage.op in ("gemm", "bmm"):
            acc = torch.matmul(self._load(stage.operands[0]), self._load(stage.operands[1]))
        for step in stage.chain:
            acc = self._expr(step.expr, acc)
        if stage.reduction is not None:
            acc = REDUCTIONS[stage.reduction.kind](acc, [stage.reduction.axis]).reshape(stage.result.shape)
        return [acc.float() if acc.dtype is torch.bool else acc]

    def _pad(self, stage: Stage) -> torch.Tensor:
        facts = stage.attributes
        pairs = zip(reversed(facts["before"]), reversed(facts["after"]), strict=True)
        x = self._load(stage.operands[0])
        return _F.pad(x, [count for pair in pairs for count in pair], value=facts["value"])

    def _pool(self, stage: Stage) -> torch.Tensor:
        """The pool whose extents are the result's: with ``ceil_mode`` or without."""
        facts, x = stage.attributes, self._load(stage.operands[0])
        called = getattr(_F, f"{facts['kind']}_pool{facts['dims']}d")
        window = {name: facts[name] for name in ("stride", "padding")}
        window |= (
            {"dilation": facts["dilation"]}
            if facts["kind"] == "max"
            else {"count_include_pad": facts["count_include_pad"]}
        )
        for ceil_mode in (False, True):
            made: torch.Tensor = called(x, facts["kernel"], ceil_mode=ceil_mode, **window)
            if tuple(made.shape[2:]) == facts["output"]:
                return made
        raise AssertionError(f"{stage.name}: no window of torch gives {facts['output']}")

    def _convolution(self, stage: Stage) -> torch.Tensor:
        facts = stage.attributes
        numbers = {name: facts[name] for name in ("stride", "padding", "dilation", "groups")}
        if facts["kind"] == "conv_transpose":
            named = zip(*(facts[name] for name in ("input", "kernel", *list(numbers)[:3])), strict=True)
            least = [(n - 1) * step - 2 * pad + reach * (taps - 1) + 1 for n, taps, step, pad, reach in named]
            numbers["output_padding"] = tuple(map(operator.sub, facts["output"], least))
        called = getattr(_F, f"{facts['kind']}{facts['dims']}d")
        made: torch.Tensor = called(*(self._load(value) for value in stage.operands), **numbers)
        return made

    def _rows(self, stage: Stage) -> torch.Tensor:
        """The work on rows, in f32 at least, in the shape and type of the stage's result."""
        facts = stage.attributes
        x, *vectors = (self._load(value) for value in stage.operands)
        vectors = vectors[: facts["weight"] + facts["bias"]]
        if facts["prologue"] is not None:
            x = self._expr(facts["prologue"].expr, None)
        wide = x if x.dtype is torch.float64 else x.float()
        kind, axes = facts["kind"], list(facts["axes"])
        if not kind.endswith("_norm"):
            made = {**REDUCTIONS, **SOFTMAXES}[kind](wide, axes)
            return made.to(getattr(torch, stage.result.dtype.torch_name)).reshape(stage.result.shape)
        vectors = [vector.to(wide.dtype) for vector in vectors]
        if kind == "group_norm":
            made = _F.group_norm(wide, facts["groups"], *vectors, eps=facts["eps"])
        else:
            mean = wide.mean(axes, keepdim=True) if kind != "rms_norm" else torch.zeros(())
            made = (wide - mean) / ((wide - mean).square().mean(axes, keepdim=True) + facts["eps"]).sqrt()
            shape = [extent if axis in facts["affine"] else 1 for axis, extent in enumerate(x.shape)]
            for combine, vector in zip((operator.mul, operator.add), vectors, strict=False):
                made = combine(made, vector.reshape(shape))
        return made.to(x.dtype)

    def _expr(self, expr: Expr, acc: Any) -> Any:
        match expr:
            case Acc():
                return acc
            case Const():
                return expr.value
            case Load():
                return self._load(expr.value)
            case Apply():
                return function(expr.function)(*(self._expr(arg, acc) for arg in expr.args))

    def _torch(self, stage: Stage) -> list[torch.Tensor]:
        path = stage.attributes["function"].split(".")[1:]
        called = reduce(getattr, path, torch)
        args = [self._argument(arg) for arg in stage.attributes["args"]]
        kwargs = {name: self._argument(arg) for name, arg in stage.attributes["kwargs"].items()}
        result = called(*args, **kwargs)
        return [result] if isinstance(result, torch.Tensor) else list(result)

    def _argument(self, value: Any) -> Any:
        if isinstance(value, dict):
            if "dtype" in value:
                from kernels.dtypes import DType

                return getattr(torch, DType(value["dtype"]).torch_name)
            return self._load(self.values[value["value"]])
        if isinstance(value, list):
            return [self._argument(item) for item in value]
        return value
