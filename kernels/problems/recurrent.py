"""Recurrent layers as single operations while a problem is traced. For child processes only.

Traced as they are, ``nn.LSTM`` and its kin unroll into thousands of small operations, one group a time step, and a
trace takes half a minute. Here each stays one node, which the graph then names ``aten.lstm.input`` and so on.
Only shapes come out: nothing here computes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

_LIBRARY = "mucutlass_problems"
_ARGUMENTS = (
    "(Tensor input, {state}, Tensor[] params, bool has_biases, int num_layers, float dropout, "
    "bool train, bool bidirectional, bool batch_first) -> "
)
_KINDS = {
    "lstm": ("Tensor[] hx", "(Tensor, Tensor, Tensor)"),
    "gru": ("Tensor hx", "(Tensor, Tensor)"),
    "rnn_tanh": ("Tensor hx", "(Tensor, Tensor)"),
    "rnn_relu": ("Tensor hx", "(Tensor, Tensor)"),
}
_defined: list[Any] = []


def aten_name(op: str) -> str:
    """The ATen overload behind one of these operations: ``mucutlass_problems.lstm.default`` -> ``aten.lstm.input``."""
    if op.startswith(f"{_LIBRARY}."):
        return f"aten.{op.split('.')[1]}.input"
    return op


@contextlib.contextmanager
def whole_layers() -> Iterator[None]:
    """While it lasts, ``torch._VF.lstm`` and its kin record one node each (packed sequences unroll as before)."""
    import torch

    _define()
    originals = {kind: getattr(torch._VF, kind) for kind in _KINDS}
    for kind, original in originals.items():
        setattr(torch._VF, kind, _whole(kind, original))
    try:
        yield
    finally:
        for kind in originals:
            delattr(torch._VF, kind)


def _whole(kind: str, original: Any) -> Any:
    import torch

    operation = getattr(getattr(torch.ops, _LIBRARY), kind)

    def call(*args: Any) -> Any:
        # The packed-sequence form has its batch sizes as the second argument and one argument more of tensors.
        if len(args) == 9 and not isinstance(args[3], list | tuple):
            return operation(*args)
        return original(*args)

    return call


def _define() -> None:
    if _defined:
        return
    import torch

    library = torch.library.Library(_LIBRARY, "DEF")
    for kind, (state, results) in _KINDS.items():
        library.define(kind + _ARGUMENTS.format(state=state) + results)
        torch.library.register_fake(f"{_LIBRARY}::{kind}", _shapes, lib=library)
    _defined.append(library)


def _shapes(
    input: Any,  # noqa: A002 - the schema's name
    hx: Any,
    params: Any,
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> Any:
    """Output [..., directions·hidden] and the states, shaped like those that came in."""
    states = list(hx) if isinstance(hx, list | tuple) else [hx]
    directions = 2 if bidirectional else 1
    output = input.new_empty((*input.shape[:-1], directions * states[0].shape[-1]))
    return (output, *(state.new_empty(state.shape) for state in states))
