"""Small modules written for these tests, traced without memory: the shapes are real, the tensors are not."""

from __future__ import annotations

import functools
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from kernels.problems.inspect import inspect_many
from kernels.problems.inspection import Inspection
from kernels.targets import Policy
from sol.bounds import Bounds, Device, Work, bound, card, count

_FILE = """\
import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        {init}

    def forward(self, {names}):
        return {result}


def get_inputs():
    return [{inputs}]


def get_init_inputs():
    return []
"""


@dataclass(frozen=True, slots=True)
class Module:
    """``inputs`` by name: a shape, or the text of any other tensor. ``init`` are statements of the constructor."""

    result: str
    inputs: dict[str, tuple[int, ...] | str]
    init: str = "pass"

    def source(self) -> str:
        """The problem file."""
        given = [item if isinstance(item, str) else f"torch.rand({item})" for item in self.inputs.values()]
        return _FILE.format(
            init=self.init.replace("\n", "\n        "),
            names=", ".join(self.inputs),
            result=self.result,
            inputs=", ".join(given),
        )


def product(a: tuple[int, ...], b: tuple[int, ...], result: str = "A @ B") -> Module:
    """A matrix product of two inputs."""
    return Module(result, {"A": a, "B": b})


_N = 4096
_HALF = "torch.rand({}, dtype=torch.bfloat16)".format
MODULES: dict[str, Module] = {
    "square": product((_N, _N), (_N, _N)),
    "square_bf16": Module("A @ B", {"A": _HALF((_N, _N)), "B": _HALF((_N, _N))}),
    "standard": product((2048, 8192), (8192, 4096)),
    "batched": product((128, 512, 1024), (128, 1024, 2048), "torch.bmm(A, B)"),
    "matrix_vector": product((2048, 1048576), (1048576, 1)),
    "scaled": Module("A * 3.14", {"A": (65536, 16384)}),
    "large_k": product((256, 524288), (524288, 256)),
    "small_k": product((32768, 64), (64, 32768)),
    "irregular": product((8205, 2949), (2949, 5921)),
    "tall_skinny": product((32768, 32), (32, 32768)),
    "three_axes": product((16, 1024, 2048), (2048, 768)),
    "four_axes": product((8, 256, 512, 256), (256, 768), "torch.einsum('bijl,lk->bijk', A, B)"),
    "diagonal_scale": product((_N,), (_N, _N), "A.unsqueeze(1) * B"),
    "diagonal_product": product((_N,), (_N, _N), "torch.diag(A) @ B"),
    "upper": product((_N, _N), (_N, _N), "torch.triu(A @ B)"),
    "lower": product((_N, _N), (_N, _N), "torch.tril(A @ B)"),
    "lower_factor": product((_N, _N), (_N, _N), "torch.tril(A) @ B"),
    "transposed_a": product((8192, 2048), (8192, 4096), "A.T @ B"),
    "transposed_b": product((2048, 8192), (4096, 8192), "A @ B.T"),
    "transposed_both": product((8192, 2048), (4096, 8192), "A.T @ B.T"),
    "attention": Module(
        "F.scaled_dot_product_attention(q, k, v)", dict.fromkeys("qkv", (8, 16, 2048, 64))
    ),
    "causal_attention": Module(
        "F.scaled_dot_product_attention(q, k, v, is_causal=True)",
        dict.fromkeys("qkv", (8, 16, 2048, 64)),
    ),
    "written_causal_attention": Module(
        "((q @ k.mT / 8).masked_fill(~torch.ones(2048, 2048, dtype=torch.bool).tril(), float('-inf')).softmax(-1)) @ v",
        dict.fromkeys("qkv", (8, 16, 2048, 64)),
    ),
    "linear_sum": Module(
        "(F.linear(x, self.w) / 2).sum(1, keepdim=True) * 1.5",
        {"x": (1024, 8192)},
        "self.w = nn.Parameter(torch.rand(8192, 8192))",
    ),
    "linear_reductions": Module(
        "self.f(x).sum(1, keepdim=True).amax(1, keepdim=True).mean(1, keepdim=True).logsumexp(1, keepdim=True)",
        {"x": (1024, 8192)},
        "self.f = nn.Linear(8192, 8192)",
    ),
    "linear_mean_residual": Module(
        "F.gelu((self.f(x) - self.s).mean(1, keepdim=True)) + x",
        {"x": (2048, 8192)},
        "self.f = nn.Linear(8192, 8192)\nself.s = nn.Parameter(torch.rand(8192))",
    ),
    "row_minus_itself": Module(
        "(lambda y: F.gelu(y - y.mean(1, keepdim=True)))(self.f(x).amax(1, keepdim=True))",
        {"x": (1024, 8192)},
        "self.f = nn.Linear(8192, 8192)",
    ),
    "conv2d": Module("self.f(x)", {"x": (16, 64, 256, 256)}, "self.f = nn.Conv2d(64, 128, 3, padding=1, bias=False)"),
    "depthwise": Module("self.f(x)", {"x": (16, 64, 512, 512)}, "self.f = nn.Conv2d(64, 64, 3, groups=64, bias=False)"),
    "strided_pointwise": Module("self.f(x)", {"x": (8, 64, 56, 56)}, "self.f = nn.Conv2d(64, 256, 1, 2, bias=False)"),
    "transposed_conv": Module(
        "self.f(x)", {"x": (8, 64, 1024, 1024)}, "self.f = nn.ConvTranspose2d(64, 64, 3, bias=False)"
    ),
    "strided_transposed_conv": Module(
        "self.f(x)", {"x": (16, 32, 64, 128)}, "self.f = nn.ConvTranspose2d(32, 64, 3, stride=5, bias=False)"
    ),
    "gru": Module(
        "self.f(x)[0]", {"x": (512, 10, 128)}, "self.f = nn.GRU(128, 256, num_layers=2)"
    ),
    "lstm_last_step": Module(
        "self.f(x)[0][:, -1, :]", {"x": (10, 512, 128)}, "self.f = nn.LSTM(128, 256, batch_first=True)"
    ),
    "cross_entropy": Module(
        "F.cross_entropy(x, t)", {"x": (32768, 4096), "t": "torch.randint(0, 4096, (32768,))"}
    ),
    "softmax": Module("torch.softmax(x, 1)", {"x": (4096, 393216)}),
    "layer_norm": Module("self.f(x)", {"x": (16, 64, 256, 256)}, "self.f = nn.LayerNorm((64, 256, 256))"),
    "cumsum": Module("torch.cumsum(x, 1)", {"x": (32768, 32768)}),
    "max_pool": Module("self.f(x)", {"x": (32, 64, 512, 512)}, "self.f = nn.MaxPool2d(4, 4)"),
    "embedding": Module(
        "self.f(x)", {"x": "torch.randint(0, 50000, (64, 512))"}, "self.f = nn.Embedding(50000, 768)"
    ),
    "sort": Module("torch.sort(x, 1)[0]", {"x": (1024, 65536)}),
    "group_norm_mean": Module(
        "self.n(self.f(x)).mean((1, 2, 3))",
        {"x": (16, 8, 64, 64)},
        "self.f = nn.Conv2d(8, 24, 3)\nself.n = nn.GroupNorm(8, 24)",
    ),
}  # fmt: skip


@functools.cache
def looked_at() -> dict[str, Inspection]:
    """Every module's trace, made in one child for all tests."""
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for name, module in MODULES.items():
            path = Path(folder) / f"{name}.py"
            path.write_text(module.source(), encoding="utf-8")
            paths.append(path)
        found = inspect_many(paths, "default", workers=os.cpu_count() or 1)
    for name, item in zip(MODULES, found, strict=True):
        assert isinstance(item, Inspection), (name, item)
    return {name: item for name, item in zip(MODULES, found, strict=True) if isinstance(item, Inspection)}


def worked(name: str, policy: Policy = Policy.TF32, device: Device | None = None) -> tuple[Work, Bounds]:
    """Work and bounds of a module, on an H100 SXM unless told otherwise."""
    inspection = looked_at()[name]
    work = count(inspection)
    return work, bound(work, inspection, device or card("h100-sxm"), policy)
