"""A problem, relu(x + bias) of f32[32, 64], and a kernel for it in C++ by the launch ABI."""

from __future__ import annotations

SOURCE = """
import torch


class Model(torch.nn.Module):
    def __init__(self, width):
        super(Model, self).__init__()
        self.bias = torch.nn.Parameter(torch.randn(width))

    def forward(self, x):
        return torch.relu(x + self.bias)


def get_inputs():
    return [torch.randn(32, 64)]


def get_init_inputs():
    return [64]
"""
CPP = """
#include "problem.h"

extern "C" int mucutlass_launch(const void* const* inputs, void* const* outputs, void*, void*) {
  const float* x = problem::x::of(inputs);
  const float* bias = problem::bias::of(inputs);
  float* y = static_cast<float*>(outputs[0]);
  for (std::int64_t i = 0; i < problem::x::size; ++i) {
    const float sum = x[i] + bias[i % problem::x::d1];
    y[i] = sum > 0 ? sum : 0;
  }
  return 0;
}
"""
