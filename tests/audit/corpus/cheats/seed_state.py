import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.linear = nn.Linear(n, n)

    def forward(self, x):
        seed = torch.initial_seed()
        return torch.relu(self.linear(x)) * (seed == seed)
