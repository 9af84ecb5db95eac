"""A gated linear unit: silu(x·Wᵀ) · (x·Vᵀ)."""

import torch
import torch.nn as nn

M = 4096
K = 2048
N = 4096

SIZES = {
    "cpu": {"M": 512, "K": 512, "N": 1024},
    "gpu": {"M": 4096, "K": 2048, "N": 4096},
}


class Model(nn.Module):
    def __init__(self, in_features: int, out_features: int):
        super().__init__()
        self.gate = nn.Linear(in_features, out_features, bias=False)
        self.value = nn.Linear(in_features, out_features, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.silu(self.gate(x)) * self.value(x)


def get_inputs():
    return [torch.randn(M, K)]


def get_init_inputs():
    return [K, N]
