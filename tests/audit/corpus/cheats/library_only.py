import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.linear = nn.Linear(n, n)

    def forward(self, x):
        y = F.linear(x, self.linear.weight, self.linear.bias)
        return torch.clamp(y, min=0)
