"""Matrix product of a tall and a narrow operand."""

import torch
import torch.nn as nn

M = 262144
K = 256
N = 32

SIZES = {
    "cpu": {"M": 16384, "K": 128, "N": 32},
    "gpu": {"M": 262144, "K": 256, "N": 32},
}


class Model(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a @ b


def get_inputs():
    return [torch.randn(M, K), torch.randn(K, N)]


def get_init_inputs():
    return []
