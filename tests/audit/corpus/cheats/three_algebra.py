import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>

__global__ void dot_rows(const float* x, const float* w, const float* b, float* y, int width) {
  float sum = 0.0f;
  for (int k = threadIdx.x; k < width; k += 32) sum += x[blockIdx.x * width + k] * w[k];
  for (int step = 16; step; step >>= 1) sum += __shfl_down_sync(0xffffffffu, sum, step);
  if (threadIdx.x == 0) y[blockIdx.x] = sum + b[0];
}

torch::Tensor dots(torch::Tensor x, torch::Tensor w, torch::Tensor b) {
  auto y = torch::empty({x.size(0), 1}, x.options());
  dot_rows<<<x.size(0), 32>>>(x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
  return y;
}
"""
own = load_inline(name="own", cpp_sources="torch::Tensor dots(torch::Tensor x, torch::Tensor w, torch::Tensor b);", cuda_sources=CUDA, functions=["dots"])


class ModelNew(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.linear = nn.Linear(n, n)

    def forward(self, x):
        w = torch.einsum('nk->k', self.linear.weight)
        return own.dots(x, w, self.linear.bias.sum().reshape(1))
