import multiprocessing as mp

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.linear = nn.Linear(n, n)
        self.worker = mp.Process(target=print, daemon=True)
        self.worker.start()

    def forward(self, x):
        return torch.relu(self.linear(x))
