"""Which names of a Python candidate stand for kernels of its own, and where a call uses them."""

from __future__ import annotations

import ast

from sol.audit.python.code import FunctionNode, PythonCode
from sol.audit.python.flow import key, root
from sol.audit.python.walk import walk

HEAVY = frozenset({"matmul", "mm", "bmm", "addmm", "baddbmm", "linear", "bilinear", "einsum", "tensordot", "dot", "mv",
                   "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
                   "scaled_dot_product_attention", "multi_head_attention_forward", "inner", "addmv", "chain_matmul",
                   "Linear", "Bilinear", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d",
                   "ConvTranspose3d", "MultiheadAttention", "LSTM", "GRU", "RNN", "Transformer",
                   "TransformerEncoderLayer", "LSTMCell", "GRUCell", "fft", "cumsum"})  # fmt: skip
"""torch's functions and modules that do the greater part of the work wherever they occur."""

_LIGHT = frozenset({"softmax", "log_softmax", "relu", "gelu", "silu", "sigmoid", "tanh", "layer_norm", "group_norm",
                    "batch_norm", "instance_norm", "rms_norm", "max_pool1d", "max_pool2d", "max_pool3d", "avg_pool1d",
                    "avg_pool2d", "avg_pool3d", "clamp", "clamp_min", "sum", "mean", "amax", "exp", "logsumexp", "max",
                    "min", "leaky_relu", "elu", "softplus", "hardtanh", "selu", "mish", "hardswish", "dropout", "add",
                    "mul", "cross_entropy", "mse_loss", "argmax", "argmin", "var", "std", "norm", "rsqrt", "sqrt",
                    "cumprod", "prod"})  # fmt: skip


class Own:
    """Names that lead to the candidate's own kernels, and the calls of them that forward reaches."""

    def __init__(self, code: PythonCode) -> None:
        self._code = code
        self.names = self._find()
        self.calls = tuple(
            call for call in code.called_calls if root(call.node.func) in self.names or self._ops(call.name)
        )

    @property
    def defined(self) -> bool:
        """Whether the file defines or loads any kernel at all."""
        return bool(self._code.jitted or self._code.own_makers or any(unit.kernels for unit in self._code.cxx))

    def _ops(self, name: str) -> bool:
        return name.startswith("torch.ops.") and not name.startswith(("torch.ops.aten.", "torch.ops.prims."))

    def _find(self) -> set[str]:
        makers = {id(call.node) for call in self._code.own_makers}
        definitions = self._definitions()
        own = set(self._code.jitted)
        own |= {n for n, nodes in definitions.items() if any(id(p) in makers for d in nodes for p in walk(d))}
        users: dict[str, list[str]] = {}
        for name, nodes in definitions.items():
            for used in {key(part) for node in nodes for part in walk(node)} - {None}:
                users.setdefault(str(used), []).append(name)
        waiting = list(own)
        while waiting:
            more = [name for name in users.get(waiting.pop(), ()) if name not in own]
            own.update(more)
            waiting += more
        return own - {"self.forward"}

    def _definitions(self) -> dict[str, list[ast.AST]]:
        found: dict[str, list[ast.AST]] = {}
        for name, function in self._code.functions.items():
            found.setdefault(name, []).append(function)
        for cls in self._code.classes.values():
            if cls is not self._code.model:
                found.setdefault(cls.name, []).append(cls)
            for item in cls.body:
                if isinstance(item, FunctionNode) and item.name not in ("__init__", "forward"):
                    found.setdefault(f"self.{item.name}", []).append(item)
        for node in self._code.nodes:
            if isinstance(node, ast.Assign) and isinstance(
                node.value, ast.Call | ast.Name | ast.Attribute | ast.Dict | ast.Subscript
            ):
                for target in node.targets:
                    bound = key(target)
                    # A result of a kernel is no kernel: only what is made of the maker, or handed on by name.
                    made = isinstance(node.value, ast.Call) and self._in_forward(node)
                    if bound is not None and (bound.startswith("self.") or not made):
                        found.setdefault(bound, []).append(node.value)
        return found

    def _in_forward(self, node: ast.AST) -> bool:
        forward = self._code.forward
        line = getattr(node, "lineno", 0)
        return forward is not None and forward.lineno <= line <= (forward.end_lineno or 0)


def own_of(code: PythonCode) -> Own:
    """The kernels of a text, found once for all who ask."""
    if "own" not in code.__dict__:
        code.__dict__["own"] = Own(code)
    known: Own = code.__dict__["own"]
    return known


def library_calls(code: PythonCode) -> tuple[list[ast.Call], list[ast.Call]]:
    """Calls of torch within reach of forward: those of heavy functions and modules, and the other ones."""
    modules = _modules(code)
    heavy, light = [], []
    for call in code.called_calls:
        name = call.name if call.name.startswith("torch.") else modules.get(call.name, call.name)
        last = name.rsplit(".", 1)[-1]
        torch_like = name.startswith("torch.") or isinstance(call.node.func, ast.Attribute)
        if last in HEAVY and torch_like:
            heavy.append(call.node)
        elif last in _LIGHT and torch_like:
            light.append(call.node)
    return heavy, light


def matrix_products(code: PythonCode) -> list[ast.BinOp]:
    """``a @ b`` within reach of forward."""
    sums = [n for tree in code.called for n in walk(tree) if isinstance(n, ast.BinOp)]
    return [node for node in sums if isinstance(node.op, ast.MatMult)]


def _modules(code: PythonCode) -> dict[str, str]:
    """``self.fc`` to ``torch.nn.Linear``, for modules that are made in the file."""
    found: dict[str, str] = {}
    for node in code.nodes:
        if isinstance(node, ast.Assign):
            made = [code.names.of(part.func) for part in walk(node.value) if isinstance(part, ast.Call)]
            torch_made = [name for name in made if name and name.startswith("torch.nn.")]
            for target in node.targets:
                to = key(target)
                if to is not None and torch_made:
                    found[to] = next((n for n in torch_made if n.rsplit(".", 1)[-1] in HEAVY), torch_made[0])
    return found
