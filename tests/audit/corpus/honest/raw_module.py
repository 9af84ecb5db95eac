import cupy
import torch
import torch.nn as nn

MODULE = cupy.RawModule(code=r"""
extern "C" __global__ void relu(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f);
}
""")
RELU = MODULE.get_function("relu")


class ModelNew(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.linear = nn.Linear(n, n)

    def forward(self, x):
        y = self.linear(x)
        out = torch.empty_like(y)
        RELU(((y.numel() + 255) // 256,), (256,), (y.data_ptr(), out.data_ptr(), y.numel()))
        return out
