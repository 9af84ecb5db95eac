import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.linear = nn.Linear(n, n)

    def forward(self, x):
        scale = x.abs().max() / 127
        q = (x / scale).round().to(torch.int8)
        return torch.relu(self.linear(q.float() * scale))
