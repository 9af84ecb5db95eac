import torch
import torch.nn as nn
import triton
import triton.language as tl

@triton.jit
def rows(x_ptr, w_ptr, b_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row, column = tl.program_id(0), tl.program_id(1)
    total = 0.0
    for k in range(0, n, BLOCK):
        at = k + tl.arange(0, BLOCK)
        total += tl.sum(tl.load(x_ptr + row * n + at) * tl.load(w_ptr + column * n + at))
    total += tl.load(b_ptr + column)
    tl.store(y_ptr + row * n + column, tl.maximum(total, 0.0))


class ModelNew(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.linear = nn.Linear(n, n)

    def forward(self, x):
        out = torch.empty_like(x)
        n = x.shape[1]
        rows[(x.shape[0], n)](x, self.linear.weight, self.linear.bias, out, n, BLOCK=64)
        return out
