"""A linear layer, a scale by a constant and a clamp to a range."""

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
    def __init__(self, in_features: int, out_features: int, factor: float, low: float, high: float):
        super().__init__()
        self.gemm = nn.Linear(in_features, out_features)
        self.factor = factor
        self.low = low
        self.high = high

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.clamp(self.gemm(x) * self.factor, self.low, self.high)


def get_inputs():
    return [torch.randn(M, K)]


def get_init_inputs():
    return [K, N, 1.5, -0.5, 1.0]
