"""A linear layer and GELU in its tanh form, over a batch of sequences."""

import torch
import torch.nn as nn

BATCH = 16
LENGTH = 512
K = 1024
N = 4096

SIZES = {
    "cpu": {"BATCH": 4, "LENGTH": 192, "K": 512, "N": 1024},
    "gpu": {"BATCH": 16, "LENGTH": 512, "K": 1024, "N": 4096},
}


class Model(nn.Module):
    def __init__(self, in_features: int, out_features: int):
        super().__init__()
        self.gemm = nn.Linear(in_features, out_features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.gelu(self.gemm(x), approximate="tanh")


def get_inputs():
    return [torch.randn(BATCH, LENGTH, K)]


def get_init_inputs():
    return [K, N]
