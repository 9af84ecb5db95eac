import torch
import torch.nn as nn
import triton
import triton.language as tl

@triton.jit
def relu_kernel(x_ptr, y_ptr, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < count
    tl.store(y_ptr + at, tl.maximum(tl.load(x_ptr + at, mask=mask), 0.0), mask=mask)


class ModelNew(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.linear = nn.Linear(n, n)
        self.out = None

    def forward(self, x):
        y = self.linear(x)
        if self.out is None or self.out.shape != y.shape:
            self.out = torch.empty_like(y)
        relu_kernel[(triton.cdiv(y.numel(), 1024),)](y, self.out, y.numel(), BLOCK=1024)
        return self.out
