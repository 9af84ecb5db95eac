"""Look at a problem: build it without memory where that works, and trace its forward. For child processes only."""

from __future__ import annotations

import contextlib
import functools
import inspect
import logging
import warnings
from pathlib import Path
from typing import Any

from kernels.problems import load, recurrent
from kernels.problems.errors import ProblemUnsupported
from kernels.problems.graphs import GraphWriter, NotRecordable, spec_of
from kernels.problems.inspection import Graph, Inspection, Signature, TensorSpec

SEED = 0
"""Seed of models and inputs that are only looked at: no value of theirs reaches a record."""

_KEPT = (
    "softmax log_softmax gelu silu mish elu selu celu hardswish hardsigmoid leaky_relu softplus hardtanh "
    "relu6 logsumexp layer_norm native_layer_norm rms_norm group_norm native_group_norm instance_norm "
    "batch_norm lstm gru rnn_tanh rnn_relu scaled_dot_product_attention cross_entropy_loss max_pool1d "
    "max_pool2d max_pool3d avg_pool1d avg_pool2d avg_pool3d adaptive_avg_pool1d adaptive_avg_pool2d "
    "adaptive_avg_pool3d _softmax _log_softmax logsigmoid log_sigmoid softsign tanhshrink threshold "
    "linalg_vector_norm mean std var mv dot addmv"
)
KEPT = frozenset(_KEPT.split())
"""ATen operations that stay whole: what a person would name in one word. All else becomes core ATen."""


class Subject:
    """A problem's model and arguments, fake (no memory) or real."""

    def __init__(self, path: Path, size: str, *, fake: bool) -> None:
        from torch._subclasses.fake_tensor import FakeTensorMode

        self.path = path
        # Tensors that a problem makes at import are real; they may meet fake ones.
        self.mode = FakeTensorMode(allow_non_fake_inputs=True) if fake else None
        with self.entered():
            module = load.load_module(path, size)
            self.model = load.build_model(module, SEED)
            self.arguments = load.build_inputs(module, SEED)
            _register_attributes(self.model)

    def entered(self) -> contextlib.AbstractContextManager[Any]:
        """The mode its tensors live in."""
        return self.mode if self.mode is not None else contextlib.nullcontext()


def _register_attributes(model: Any) -> None:
    """Plain tensor attributes become buffers outside the state_dict: export refuses a forward that assigns them."""
    import torch

    for module in model.modules():
        for name, value in list(vars(module).items()):
            if isinstance(value, torch.Tensor) and not name.startswith("_"):
                delattr(module, name)
                module.register_buffer(name, value, persistent=False)


def look(path: Path, size: str) -> Inspection:
    """Signature and graph of a problem at a size. Raises what the problem raises, and ProblemUnsupported.

    A problem that wants values while it is built (``.item()``) is built again with real tensors.
    """
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    subject = _build(path, size)
    inputs, constants = _inputs(subject)
    parameters = tuple(
        _spec(path, name, tensor) for name, tensor in subject.model.state_dict(keep_vars=True).items()
    )
    inputs = _apart(inputs, {spec.name for spec in parameters})
    names = [spec.name for spec in inputs]
    try:
        outputs, graph, error = _trace(subject, names)
    except _wants_values():
        # Not even the shapes of the results are known without values.
        outputs, graph, error = _trace(Subject(path, size, fake=False), names)
    signature = Signature(inputs=tuple(inputs), parameters=parameters, outputs=outputs, constants=constants)
    return Inspection(size=size, signature=signature, graph=graph, graph_error=error)


def _build(path: Path, size: str) -> Subject:
    try:
        return Subject(path, size, fake=True)
    except _wants_values():
        return Subject(path, size, fake=False)
    except Exception as error:
        # NumPy and friends raise errors of their own on a tensor without values; a real fault shows again.
        if "fake" not in str(error).lower() and "meta tensor" not in str(error).lower():
            raise
        return Subject(path, size, fake=False)


def _wants_values() -> tuple[type[Exception], ...]:
    """What torch raises where a fake tensor is asked for what it does not have."""
    from torch._subclasses import fake_tensor

    return (
        fake_tensor.DataDependentOutputException,
        fake_tensor.DynamicOutputShapeException,
        fake_tensor.UnsupportedFakeTensorException,
        fake_tensor.UnsupportedOperatorException,
    )


def _spec(path: Path, name: str, tensor: Any) -> TensorSpec:
    try:
        return spec_of(name, tensor)
    except NotRecordable as error:
        raise ProblemUnsupported(path=path, reason=str(error)) from error


def _inputs(subject: Subject) -> tuple[list[TensorSpec], dict[int, Any]]:
    """Tensors of get_inputs by position, and the arguments that are none."""
    import torch

    names = _argument_names(subject.model, len(subject.arguments))
    tensors: list[TensorSpec] = []
    constants: dict[int, Any] = {}
    for place, (name, value) in enumerate(zip(names, subject.arguments, strict=True)):
        if isinstance(value, torch.Tensor):
            tensors.append(_spec(subject.path, name, value))
        elif value is None or isinstance(value, bool | int | float | str):
            constants[place] = value
        else:
            reason = (
                f"argument {place + 1} of get_inputs() is a {type(value).__name__}; "
                "an argument is a tensor, a number, a text or None"
            )
            raise ProblemUnsupported(path=subject.path, reason=reason)
    return tensors, constants


def _argument_names(model: Any, count: int) -> list[str]:
    """The first ``count`` parameter names of forward; those behind ``*args`` are numbered."""
    try:
        parameters = list(inspect.signature(model.forward).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    named = [item.name for item in parameters if item.kind in (item.POSITIONAL_ONLY, item.POSITIONAL_OR_KEYWORD)]
    return [named[place] if place < len(named) else f"input{place}" for place in range(count)]


def _apart(inputs: list[TensorSpec], taken: set[str]) -> list[TensorSpec]:
    """Inputs under names that no parameter has: ``weight`` becomes ``weight_input``."""
    return [
        TensorSpec(f"{spec.name}_input", spec.dtype, spec.shape) if spec.name in taken else spec for spec in inputs
    ]


def _trace(subject: Subject, names: list[str]) -> tuple[tuple[TensorSpec, ...], Graph | None, str | None]:
    """Output types and the graph; where export fails, a plain call still gives the output types."""
    import torch

    try:
        with subject.entered(), torch.no_grad():
            program = _export(subject)
        # Outside the mode: constants are read by value.
        writer = GraphWriter(program, _placeholders(program, subject.arguments, names))
        return _outputs(subject.path, _output_values(program)), writer.write(), None
    except ProblemUnsupported:
        raise
    except Exception as error:  # noqa: BLE001 - whatever export raises is the record's graph_error
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        reason = f"{type(error).__name__}: {lines[0] if lines else ''}"
    with subject.entered(), torch.no_grad():
        flat, _ = torch.utils._pytree.tree_flatten(subject.model(*subject.arguments))
    return _outputs(subject.path, flat), None, reason


def _export(subject: Subject) -> Any:
    import torch

    with recurrent.whole_layers():
        program = torch.export.export(subject.model, tuple(subject.arguments), strict=False)
        return program.run_decompositions(dict(decompositions()))


@functools.cache
def decompositions() -> dict[Any, Any]:
    """Everything that is not kept becomes core ATen. Made once a process: a fork has its parent's."""
    import torch

    return {
        operation: decomposition
        for operation, decomposition in torch.export.default_decompositions().items()
        if str(operation).split(".")[1] not in KEPT
    }


def _placeholders(program: Any, arguments: list[Any], names: list[str]) -> dict[str, str]:
    """The signature's name of each placeholder that stands for a tensor argument.

    Export has one placeholder an argument, tensors or not, in the order of the arguments.
    """
    import torch

    specs = [item for item in program.graph_signature.input_specs if item.kind.name == "USER_INPUT"]
    tensors = [
        spec.arg.name for spec, value in zip(specs, arguments, strict=True) if isinstance(value, torch.Tensor)
    ]
    return dict(zip(tensors, names, strict=True))


def _output_values(program: Any) -> list[Any]:
    node = next(node for node in program.graph.nodes if node.op == "output")
    kinds = [item.kind.name for item in program.graph_signature.output_specs]
    return [
        value.meta.get("val") if hasattr(value, "meta") else value
        for kind, value in zip(kinds, node.args[0], strict=True)
        if kind == "USER_OUTPUT"
    ]


def _outputs(path: Path, values: list[Any]) -> tuple[TensorSpec, ...]:
    import torch

    tensors = [value for value in values if isinstance(value, torch.Tensor)]
    if not tensors:
        raise ProblemUnsupported(path=path, reason="forward returns no tensor")
    names = ["out"] if len(tensors) == 1 else [f"out{place}" for place in range(len(tensors))]
    return tuple(_spec(path, name, tensor) for name, tensor in zip(names, tensors, strict=True))
