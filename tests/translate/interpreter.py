"""Runs a checked program with torch, stage by stage: what the program says, with no code generated."""

from __future__ import annotations

import operator
from functools import reduce
from typing import Any

import torch

from kernels.dsl.ir import Acc, Apply, CheckedProgram, Const, Expr, Load, Stage, Value

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
    "gelu_tanh": lambda x: _F.gelu(x, approximate="tanh"),
}

ROWS: dict[str, Any] = {
    "sum": lambda x: x.sum(1),
    "mean": lambda x: x.mean(1),
    "max": lambda x: x.amax(1),
    "min": lambda x: x.amin(1),
    "prod": lambda x: x.prod(1),
    "logsumexp": lambda x: x.logsumexp(1),
    "sumsq": lambda x: x.square().sum(1),
    "softmax": lambda x: x.softmax(1),
    "log_softmax": lambda x: x.log_softmax(1),
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
                self.storage[result.name] = tensor.contiguous()
        return [self._load(value) for value in self.program.outputs]

    def _load(self, value: Value) -> torch.Tensor:
        return torch.as_strided(self.storage[value.storage].contiguous(), value.shape, value.strides, value.offset)

    def _stage(self, stage: Stage) -> list[torch.Tensor]:
        if stage.op == "torch":
            return self._torch(stage)
        if stage.op == "cast":
            return [self._load(stage.operands[0]).to(getattr(torch, stage.result.dtype.torch_name))]
        acc: Any = None
        if stage.op in ("reduce", "softmax", "norm"):
            acc = self._rows(stage)
        if stage.op in ("gemm", "bmm"):
            acc = torch.matmul(self._load(stage.operands[0]), self._load(stage.operands[1]))
        for step in stage.chain:
            acc = self._expr(step.expr, acc)
        return [acc.float() if acc.dtype is torch.bool else acc]

    def _rows(self, stage: Stage) -> torch.Tensor:
        """The work on rows, in f32 at least, in the shape and type of the stage's result."""
        facts = stage.attributes
        x, *vectors = (self._load(value) for value in stage.operands)
        assert x.is_contiguous()
        assert len(vectors) == facts["weight"] + facts["bias"]
        table = x.reshape(facts["rows"], facts["columns"])
        wide = table if table.dtype is torch.float64 else table.float()
        vectors = [vector.to(wide.dtype) for vector in vectors]
        if facts["kind"].endswith("_norm"):
            made = getattr(_F, facts["kind"])(wide, wide.shape[1:], *vectors, eps=facts["eps"])
        else:
            made = ROWS[facts["kind"]](wide)
        return made.to(x.dtype).reshape(stage.result.shape)

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
