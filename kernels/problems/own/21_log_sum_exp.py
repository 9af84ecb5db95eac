"""Logarithm of the sum of exponentials of each row."""

import torch
import torch.nn as nn

ROWS = 8192
COLUMNS = 8192

SIZES = {
    "cpu": {"ROWS": 1024, "COLUMNS": 2048},
    "gpu": {"ROWS": 8192, "COLUMNS": 8192},
}


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.logsumexp(x, dim=1)


def get_inputs():
    return [torch.randn(ROWS, COLUMNS)]


def get_init_inputs():
    return []
