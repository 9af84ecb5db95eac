"""The problem of most cheats: a linear layer with a ReLU."""

import torch
import torch.nn as nn

N = 512

SIZES = {"cpu": {"N": 512}, "gpu": {"N": 4096}}


class Model(nn.Module):
    def __init__(self, n: int) -> None:
        super().__init__()
        self.linear = nn.Linear(n, n)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.linear(x))


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(N, N)]


def get_init_inputs() -> list[int]:
    return [N]
