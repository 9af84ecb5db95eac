"""A linear layer and an exact (erf) GELU."""

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
    def __init__(self, in_features: int, out_features: int):
        super().__init__()
        self.gemm = nn.Linear(in_features, out_features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.gelu(self.gemm(x))


def get_inputs():
    return [torch.randn(M, K)]


def get_init_inputs():
    return [K, N]
