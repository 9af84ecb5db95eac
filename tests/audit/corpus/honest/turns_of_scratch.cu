#include "problem.h"

#include <cuda_runtime.h>

__global__ void relu_again(const float* x, float* y, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) y[i] = fmaxf(x[i], 0.0f);
}

__global__ void bias_relu(const float* x, const float* bias, float* y, int count, int width) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) {
    const float sum = x[i] + bias[i % width];
    y[i] = sum > 0.0f ? sum : 0.0f;
  }
}

extern "C" int mucutlass_launch(const void* const* inputs, void* const* outputs, void* workspace, void* stream) {
  const float* x = problem::x::of(inputs);
  const float* bias = problem::bias::of(inputs);
  float* y = static_cast<float*>(outputs[0]);
  static float* scratch[2] = {};
  static int turn = 0;
  turn = 1 - turn;
  if (!scratch[turn]) cudaMalloc(&scratch[turn], problem::x::size * 4);
  bias_relu<<<(problem::x::size + 255) / 256, 256, 0, cudaStream_t(stream)>>>(x, bias, scratch[turn], problem::x::size, problem::x::d1);
  relu_again<<<(problem::x::size + 255) / 256, 256, 0, cudaStream_t(stream)>>>(scratch[turn], y, problem::x::size);
  return cudaGetLastError();
}
