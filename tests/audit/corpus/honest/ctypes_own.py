import ctypes
from pathlib import Path

import torch
import torch.nn as nn

LIB = ctypes.CDLL(str(Path(__file__).parent / "relu.so"))


class ModelNew(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.linear = nn.Linear(n, n)

    def forward(self, x):
        y = self.linear(x)
        out = torch.empty_like(y)
        LIB.relu(ctypes.c_void_p(y.data_ptr()), ctypes.c_void_p(out.data_ptr()), ctypes.c_long(y.numel()))
        return out
