"""The sum of a linear layer's outputs."""
import torch
import torch.nn as nn

N = 512


class Model(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.linear = nn.Linear(n, n)

    def forward(self, x):
        y = self.linear(x)
        return torch.sum(y, dim=1, keepdim=True)


def get_inputs():
    return [torch.randn(N, N)]


def get_init_inputs():
    return [N]
