"""A linear layer and a ReLU: relu(x·Wᵀ + b)."""

import torch
import torch.nn as nn

M = 4096
K = 4096
N = 4096

SIZES = {
    "cpu": {"M": 1024, "K": 1024, "N": 1024},
    "gpu": {"M": 4096, "K": 4096, "N": 4096},
}


class Model(nn.Module):
    def __init__(self, in_features: int, out_features: int):
        super().__init__()
        self.gemm = nn.Linear(in_features, out_features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.gemm(x))


def get_inputs():
    return [torch.randn(M, K)]


def get_init_inputs():
    return [K, N]
