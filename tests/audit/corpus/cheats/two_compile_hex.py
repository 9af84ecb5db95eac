import torch
import torch.nn as nn

eval(compile(bytes.fromhex("7072696e742829").decode(), "x", "exec"))


class ModelNew(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.linear = nn.Linear(n, n)

    def forward(self, x):
        return torch.relu(self.linear(x))
