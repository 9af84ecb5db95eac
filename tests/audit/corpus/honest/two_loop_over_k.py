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

    def forward(self, x):
        total = self.linear.bias.expand(x.shape[0], -1).clone()
        for at in range(0, x.shape[1], 128):
            total += x[:, at : at + 128] @ self.linear.weight[:, at : at + 128].t()
        out = torch.empty_like(total)
        relu_kernel[(triton.cdiv(total.numel(), 1024),)](total, out, total.numel(), BLOCK=1024)
        return out
