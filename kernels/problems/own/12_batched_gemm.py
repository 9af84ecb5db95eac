"""Batched matrix product: one product for each entry of the batch."""

import torch
import torch.nn as nn

BATCH = 64
M = 1024
K = 512
N = 1024

SIZES = {
    "cpu": {"BATCH": 8, "M": 256, "K": 256, "N": 256},
    "gpu": {"BATCH": 64, "M": 1024, "K": 512, "N": 1024},
}


class Model(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.bmm(a, b)


def get_inputs():
    return [torch.randn(BATCH, M, K), torch.randn(BATCH, K, N)]


def get_init_inputs():
    return []
