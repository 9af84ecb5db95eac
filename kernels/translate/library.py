"""What has no own kernel: ATen operations as ``torch.*`` calls.

Most keep ATen's argument order and need only their name; the rest have a rule each. What is in no table has no call
under torch or torch.nn.functional that is known to mean the same, and fails.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kernels.dtypes import DType
from kernels.problems.inspection import Node
from kernels.translate.work import Work, base, number, only_first, words

_F = "torch.nn.functional"


@dataclass(frozen=True, slots=True)
class Call:
    """``function(args, kwargs)``; tensors are references. ``results`` says how many of the node's are given."""

    function: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    results: int


_TORCH = words(
    "abs acos add addmm addmv all amax amin any arange argmax argmin asin atan atan2 baddbmm bitwise_and "
    "bitwise_not bitwise_or bitwise_xor bmm bucketize cat ceil celu clamp clamp_max clamp_min cos cosh cummax "
    "cummin cumprod cumsum deg2rad diag diag_embed diagonal div dot eq erf erfc erfinv exp exp2 expm1 eye "
    "flip floor floor_divide fmod full full_like gather ge gru gt hypot index_add index_copy index_fill "
    "index_select isfinite isinf isnan kthvalue le lerp log log10 log1p log2 log_softmax logaddexp "
    "logcumsumexp logical_and logical_not logical_or logical_xor logsumexp lstm lt masked_fill masked_select "
    "max maximum mean median min minimum mm mode mul mv ne neg norm ones ones_like outer pow prod rand randn "
    "reciprocal relu remainder repeat_interleave rnn_relu rnn_tanh roll round rsqrt rsub scatter scatter_add "
    "scatter_reduce searchsorted select_scatter selu sgn sigmoid sign sin sinh slice_scatter softmax sort "
    "sqrt square stack std std_mean sub sum take_along_dim tan tanh topk trace tril triu trunc var var_mean "
    "vdot where zeros zeros_like nan_to_num frac sinc cross renorm tile repeat polar"
)
"""``torch.NAME`` takes ATen's arguments in ATen's order."""

_FUNCTIONAL = words(
    "hardsigmoid hardswish hardtanh leaky_relu logsigmoid mish relu6 silu softplus softsign tanhshrink "
    "threshold adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d "
    "adaptive_max_pool2d pixel_shuffle pixel_unshuffle cosine_similarity one_hot glu linear bilinear"
)
"""``torch.nn.functional.NAME`` takes ATen's arguments in ATen's order."""

_NOT_PASSED = words("device layout pin_memory memory_format non_blocking half_to_float generator")


def call(work: Work, node: Node) -> Call | None:
    """The torch call of a node; None where none is known."""
    name = base(node.op)
    rule = _RULES.get(name)
    if rule is not None:
        return rule(work, node)
    kwargs = {key: value for key, value in node.kwargs.items() if key not in _NOT_PASSED and value is not None}
    if name in _TORCH:
        return Call(f"torch.{name}", _trimmed(node.args), kwargs, len(node.results))
    if name in _FUNCTIONAL:
        return Call(f"{_F}.{name}", _trimmed(node.args), kwargs, len(node.results))
    return None


def _trimmed(args: tuple[Any, ...]) -> tuple[Any, ...]:
    while args and args[-1] is None:
        args = args[:-1]
    return args


def _one(function: str, *args: Any, **kwargs: Any) -> Call:
    return Call(function, _trimmed(args), kwargs, 1)


def _convolution(work: Work, node: Node) -> Call | None:
    source, weight, bias, stride, padding, dilation, transposed, output_padding, groups = node.args[:9]
    rank = len(work.spec(weight).shape) - 2
    kwargs: dict[str, Any] = {}
    for name, value, default in (("stride", stride, 1), ("padding", padding, 0), ("dilation", dilation, 1)):
        if any(item != default for item in value):
            kwargs[name] = value
    if transposed and any(output_padding):
        kwargs["output_padding"] = output_padding
    if groups != 1:
        kwargs["groups"] = groups
    return _one(f"{_F}.conv{'_transpose' if transposed else ''}{rank}d", source, weight, bias, **kwargs)


def _pool(kind: str) -> Callable[[Work, Node], Call | None]:
    def rule(work: Work, node: Node) -> Call | None:
        # An empty stride means the kernel's size.
        args = [None if place == 2 and arg == [] else arg for place, arg in enumerate(node.args)]
        if not only_first(work, node):
            return Call(f"{_F}.{kind}", _trimmed(tuple(args)), {"return_indices": True}, 2)
        return _one(f"{_F}.{kind}", *args)

    return rule


def _batch_norm(work: Work, node: Node) -> Call | None:
    if not only_first(work, node):
        return None
    source, weight, bias, mean, variance, training, momentum, eps = node.args[:8]
    # In training the running statistics are only written, never read.
    kept = (None, None) if training else (mean, variance)
    return _one(f"{_F}.batch_norm", source, *kept, weight, bias, training, momentum, eps)


def _batch_norm_eval(work: Work, node: Node) -> Call | None:
    source, weight, bias, mean, variance, momentum, eps = node.args[:7]
    return _one(f"{_F}.batch_norm", source, mean, variance, weight, bias, False, momentum, eps)


def _batch_norm_no_stats(work: Work, node: Node) -> Call | None:
    source, weight, bias, training, momentum, eps = node.args[:6]
    return _one(f"{_F}.batch_norm", source, None, None, weight, bias, training, momentum, eps)


def _instance_norm(work: Work, node: Node) -> Call | None:
    source, weight, bias, mean, variance, use_input, momentum, eps = node.args[:8]
    kept = (None, None) if use_input else (mean, variance)
    return _one(f"{_F}.instance_norm", source, *kept, weight, bias, use_input, momentum, eps)


def _group_norm(work: Work, node: Node) -> Call | None:
    return _one(f"{_F}.group_norm", *node.args[:5])


def _native_group_norm(work: Work, node: Node) -> Call | None:
    source, weight, bias, _, _, _, groups, eps = node.args[:8]
    return _one(f"{_F}.group_norm", source, groups, weight, bias, eps) if only_first(work, node) else None


def _layer_norm(work: Work, node: Node) -> Call | None:
    return _one(f"{_F}.layer_norm", *node.args[:5]) if only_first(work, node) else None


def _rms_norm(work: Work, node: Node) -> Call | None:
    return _one(f"{_F}.rms_norm", *node.args[:4])


def _softmax(function: str) -> Callable[[Work, Node], Call | None]:
    return lambda work, node: _one(f"torch.{function}", *node.args[:2])


def _dropout(work: Work, node: Node) -> Call | None:
    source, share, train = (*node.args, True)[:3]
    return _one(f"{_F}.dropout", source, share, train is not False) if only_first(work, node) else None


def _attention(work: Work, node: Node) -> Call | None:
    kwargs = {name: value for name, value in node.kwargs.items() if value not in (None, False)}
    names = ("attn_mask", "dropout_p", "is_causal")
    for name, value in zip(names, node.args[3:], strict=False):
        if value not in (None, False, 0, 0.0):
            kwargs[name] = value
    return _one(f"{_F}.scaled_dot_product_attention", *node.args[:3], **kwargs)


def _cross_entropy(work: Work, node: Node) -> Call | None:
    source, target, *given = node.args
    defaults: list[Any] = [None, 1, -100, 0.0]
    weight, reduction, ignore, smoothing = given + defaults[len(given) :]
    kwargs: dict[str, Any] = {"reduction": ("none", "mean", "sum")[reduction]}
    if weight is not None:
        kwargs["weight"] = weight
    if ignore != -100:
        kwargs["ignore_index"] = ignore
    if smoothing:
        kwargs["label_smoothing"] = smoothing
    return _one(f"{_F}.cross_entropy", source, target, **kwargs)


def _vector_norm(work: Work, node: Node) -> Call | None:
    kwargs = {key: value for key, value in node.kwargs.items() if value is not None}
    return Call("torch.linalg.vector_norm", _trimmed(node.args), kwargs, 1)


def _pad(mode: str) -> Callable[[Work, Node], Call | None]:
    def rule(work: Work, node: Node) -> Call | None:
        source, pad, *value = node.args
        if mode == "constant":
            return _one(f"{_F}.pad", source, pad, mode, *(value or [0]))
        return _one(f"{_F}.pad", source, pad, mode)

    return rule


def _upsample(work: Work, node: Node) -> Call | None:
    """To a size or by factors, as the graph says: both give an index's source."""
    source, size, scales = (*node.args, None, None)[:3]
    if size is not None:
        return _one(f"{_F}.interpolate", source, size=size)
    return _one(f"{_F}.interpolate", source, scale_factor=scales)


def _embedding(work: Work, node: Node) -> Call | None:
    return _one(f"{_F}.embedding", node.args[1], node.args[0])


def _scalar(work: Work, node: Node) -> Call | None:
    kwargs = {"dtype": {"dtype": node.results[0].dtype.value}}
    return Call("torch.full", ([], node.args[0]), kwargs, 1)


def _range(work: Work, node: Node) -> Call | None:
    return Call("torch.arange", node.args, {"dtype": {"dtype": node.results[0].dtype.value}}, 1)


def _gelu(work: Work, node: Node) -> Call | None:
    return Call(f"{_F}.gelu", node.args[:1], dict(node.kwargs), 1)


def _elu(work: Work, node: Node) -> Call | None:
    numbers = [number(arg) for arg in node.args[1:]]
    return _one(f"{_F}.elu", *node.args[:2]) if all(value == 1 for value in numbers[1:]) else None


def _row_major(shape: tuple[int, ...]) -> list[int]:
    strides = [1] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * shape[axis + 1]
    return strides


def _unfold(work: Work, node: Node) -> Call | None:
    """Windows of one dimension, by strides: right for row-major sources, which the emitter makes sure of."""
    source, dimension, size, step = node.args[:4]
    shape = work.spec(source).shape
    strides = _row_major(shape)
    axis = dimension % len(shape)
    windows = (shape[axis] - size) // step + 1
    extents = [*shape[:axis], windows, *shape[axis + 1 :], size]
    moved = [*strides[:axis], strides[axis] * step, *strides[axis + 1 :], strides[axis]]
    return _one("torch.as_strided", source, extents, moved)


def _slice(work: Work, node: Node) -> Call | None:
    """A slice with a step, by strides, as ``_unfold``."""
    source, dimension, start, _, step = node.args[:5]
    shape = work.spec(source).shape
    axis = dimension % len(shape)
    strides = _row_major(shape)
    first = slice(start, None).indices(shape[axis])[0]
    moved = [*strides[:axis], strides[axis] * step, *strides[axis + 1 :]]
    return _one("torch.as_strided", source, list(node.results[0].shape), moved, first * strides[axis])


def _index(work: Work, node: Node) -> Call | None:
    """Rows of a table, by one tensor of integers."""
    source, places = node.args[:2]
    if len(places) != 1 or len(work.spec(source).shape) != 2:
        return None
    if work.spec(places[0]).dtype not in (DType.I64, DType.I32):
        return None
    return _one(f"{_F}.embedding", places[0], source)


_RULES: dict[str, Callable[[Work, Node], Call | None]] = {
    "convolution": _convolution,
    **{f"max_pool{rank}d": _pool(f"max_pool{rank}d") for rank in (1, 2, 3)},
    **{f"max_pool{rank}d_with_indices": _pool(f"max_pool{rank}d") for rank in (2, 3)},
    **{f"avg_pool{rank}d": _pool(f"avg_pool{rank}d") for rank in (1, 2, 3)},
    "_native_batch_norm_legit_functional": _batch_norm,
    "_native_batch_norm_legit": _batch_norm_no_stats,
    "_native_batch_norm_legit_no_training": _batch_norm_eval,
    "native_batch_norm": _batch_norm,
    "instance_norm": _instance_norm,
    "group_norm": _group_norm,
    "native_group_norm": _native_group_norm,
    "layer_norm": _layer_norm,
    "native_layer_norm": _layer_norm,
    "rms_norm": _rms_norm,
    "_softmax": _softmax("softmax"),
    "_log_softmax": _softmax("log_softmax"),
    "native_dropout": _dropout,
    "dropout": _dropout,
    "scaled_dot_product_attention": _attention,
    "cross_entropy_loss": _cross_entropy,
    "linalg_vector_norm": _vector_norm,
    "constant_pad_nd": _pad("constant"),
    **{f"upsample_nearest{rank}d": _upsample for rank in (1, 2, 3)},
    **{f"reflection_pad{rank}d": _pad("reflect") for rank in (1, 2, 3)},
    **{f"replication_pad{rank}d": _pad("replicate") for rank in (1, 2, 3)},
    "embedding": _embedding,
    "scalar_tensor": _scalar,
    "arange": _range,
    "gelu": _gelu,
    "elu": _elu,
    "log_sigmoid": lambda work, node: _one(f"{_F}.logsigmoid", node.args[0]),
    "unfold": _unfold,
    "slice": _slice,
    "index": _index,
}
