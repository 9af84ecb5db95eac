"""Small problem files that tests write to disk."""

from __future__ import annotations

GOOD = '''"""Twice the input."""

import torch
import torch.nn as nn

M = 4

SIZES = {"cpu": {"M": 8}, "gpu": {"M": 4096}}


class Model(nn.Module):
    def forward(self, x):
        return x * 2.0


def get_inputs():
    return [torch.randn(M, 3)]


def get_init_inputs():
    return []
'''


def problem(forward: str, *, init: str = "", inputs: str = "torch.randn(4, 8)", arguments: str = "x") -> str:
    """A problem file from the body of its forward and of its constructor."""
    lines = ["import torch", "import torch.nn as nn", "import torch.nn.functional as F", "class Model(nn.Module):"]
    lines += ["    def __init__(self):", "        super().__init__()"]
    lines += [f"        {line}" for line in init.splitlines()]
    lines += [f"    def forward(self, {arguments}):"]
    lines += [f"        {line}" for line in forward.splitlines()]
    lines += ["def get_inputs():", f"    return [{inputs}]", "def get_init_inputs():", "    return []"]
    return "\n".join(lines) + "\n"
