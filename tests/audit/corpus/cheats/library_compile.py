import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.linear = nn.Linear(n, n)
        self.run = torch.compile(self.linear)

    def forward(self, x):
        return self.run(x).relu()
