"""Scaled products of queries with keys over batch and heads: q·kᵀ/√d."""

import torch
import torch.nn as nn

BATCH = 8
HEADS = 16
LENGTH = 1024
DEPTH = 64

SIZES = {
    "cpu": {"BATCH": 2, "HEADS": 8, "LENGTH": 256, "DEPTH": 64},
    "gpu": {"BATCH": 8, "HEADS": 16, "LENGTH": 1024, "DEPTH": 64},
}


class Model(nn.Module):
    def forward(self, query: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
        return (query @ key.transpose(-2, -1)) * query.shape[-1] ** -0.5


def get_inputs():
    return [torch.randn(BATCH, HEADS, LENGTH, DEPTH), torch.randn(BATCH, HEADS, LENGTH, DEPTH)]


def get_init_inputs():
    return []
