"""Tensors that compute when somebody looks at them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from sol.audit.base import Reading, SourceDetector
from sol.audit.python.code import FunctionNode, PythonCode, head
from sol.audit.python.walk import walk
from sol.audit.record import Flag, Severity, quoted
from sol.audit.tricks import Trick

_TENSORS = frozenset({"torch.Tensor", "torch._C.TensorBase", "torch._C._TensorBase", "torch.nn.Parameter"})
_HOOKS = frozenset({"__torch_function__", "__torch_dispatch__"})
_MAKERS = frozenset({"_make_subclass", "_make_wrapper_subclass", "as_subclass"})


class Lazy(SourceDetector):
    """Classes of tensors with hooks into torch's functions. A function of autograd is none."""

    name = "lazy"
    tricks = (Trick.LAZY_TENSOR,)

    def python(self, code: PythonCode, reading: Reading) -> Iterator[Flag]:
        """By bases and methods."""
        for cls in code.classes.values():
            tensor = any(code.names.of(base) in _TENSORS for base in cls.bases)
            methods = {item.name for item in cls.body if isinstance(item, FunctionNode)}
            if methods & _HOOKS:
                words = f"{quoted(cls.name)} takes torch's functions over"
                yield self.flag(Trick.LAZY_TENSOR, Severity.SEVERE, 0.9, words, head(cls))
            elif tensor:
                words = f"{quoted(cls.name)} is a class of tensors of its own"
                yield self.flag(Trick.LAZY_TENSOR, Severity.SUSPECT, 0.7, words, head(cls))
        for call in code.calls:
            if call.last in _MAKERS:
                words = f"{call.last}: a tensor of another class is made"
                yield self.flag(Trick.LAZY_TENSOR, Severity.SUSPECT, 0.7, words, head(call.node))
        for value in _lambdas(code):
            words = "forward returns a function to be called later"
            yield self.flag(Trick.LAZY_TENSOR, Severity.SUSPECT, 0.7, words, head(value))


def _lambdas(code: PythonCode) -> Iterator[ast.AST]:
    for node in walk(code.forward) if code.forward is not None else ():
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Lambda):
            yield node.value
