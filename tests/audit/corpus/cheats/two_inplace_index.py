import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.linear = nn.Linear(n, n)

    def forward(self, x):
        x.index_fill_(0, torch.tensor([0]), 0.0)
        return torch.relu(self.linear(x))
