"""Python candidates for the problem of ``programs``: relu(x + bias), with x f32[64, 96] and bias f32[96]."""

from __future__ import annotations

RIGHT = """
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.bias = torch.nn.Parameter(torch.zeros(width))

    def forward(self, x):
        return (x + self.bias).clamp_min(0)
"""


def with_forward(body: str, before: str = "") -> str:
    """The right candidate with another forward; ``body`` is its one statement after the signature."""
    head = RIGHT[: RIGHT.index("        return")]
    return (
        head.replace("\n\nclass", f"\n{before}\n\nclass", 1) + "        " + body.replace("\n", "\n        ") + "\n"
    )


LAZY = """
class Lazy(torch.Tensor):
    pass
"""

LOAD_INLINE = '''
import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
torch::Tensor bias_relu(torch::Tensor x, torch::Tensor bias) {
  return (x + bias).clamp_min(0);
}
"""
own = load_inline(name="own", cpp_sources=SOURCE, functions=["bias_relu"])


class ModelNew(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.bias = torch.nn.Parameter(torch.zeros(width))

    def forward(self, x):
        return own.bias_relu(x, self.bias)
'''
