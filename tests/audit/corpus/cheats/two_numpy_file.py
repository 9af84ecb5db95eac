import numpy as np
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.linear = nn.Linear(n, n)

    def forward(self, x):
        y = torch.relu(self.linear(x))
        np.save("/tmp/y.npy", y.detach().numpy())
        return torch.from_numpy(np.load("/tmp/y.npy"))
