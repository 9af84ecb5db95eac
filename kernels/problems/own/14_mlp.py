"""Two linear layers with a ReLU between them."""

import torch
import torch.nn as nn

M = 4096
K = 2048
HIDDEN = 8192
N = 2048

SIZES = {
    "cpu": {"M": 512, "K": 512, "HIDDEN": 1024, "N": 512},
    "gpu": {"M": 4096, "K": 2048, "HIDDEN": 8192, "N": 2048},
}


class Model(nn.Module):
    def __init__(self, in_features: int, hidden: int, out_features: int):
        super().__init__()
        self.up = nn.Linear(in_features, hidden)
        self.down = nn.Linear(hidden, out_features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(torch.relu(self.up(x)))


def get_inputs():
    return [torch.randn(M, K)]


def get_init_inputs():
    return [K, HIDDEN, N]
