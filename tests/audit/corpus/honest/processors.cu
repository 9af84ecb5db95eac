#include "problem.h"

#include <cuda_runtime.h>

__global__ void stride(const float* x, const float* bias, float* y, int count, int width) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    y[i] = fmaxf(x[i] + bias[i % width], 0.0f);
  }
}

extern "C" int mucutlass_launch(const void* const* inputs, void* const* outputs, void* workspace, void* stream) {
  const float* x = problem::x::of(inputs);
  const float* bias = problem::bias::of(inputs);
  float* y = static_cast<float*>(outputs[0]);
  static int processors = 0;
  if (processors == 0) cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0);
  const int blocks = 4 * processors;
  stride<<<blocks, 256, 0, cudaStream_t(stream)>>>(x, bias, y, problem::x::size, problem::x::d1);
  return cudaGetLastError();
}
