"""Matrix times vector: memory-bound, each element of the matrix is used once."""

import torch
import torch.nn as nn

M = 16384
K = 16384

SIZES = {
    "cpu": {"M": 4096, "K": 4096},
    "gpu": {"M": 16384, "K": 16384},
}


class Model(nn.Module):
    def forward(self, a: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return a @ v


def get_inputs():
    return [torch.randn(M, K), torch.randn(K)]


def get_init_inputs():
    return []
