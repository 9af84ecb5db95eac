"""Matrix product C = A·B, all row-major."""

import torch
import torch.nn as nn

M = 4096
K = 4096
N = 4096

SIZES = {
    "cpu": {"M": 768, "K": 768, "N": 768},
    "gpu": {"M": 4096, "K": 4096, "N": 4096},
}


class Model(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a @ b


def get_inputs():
    return [torch.randn(M, K), torch.randn(K, N)]


def get_init_inputs():
    return []
