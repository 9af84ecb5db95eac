#include "problem.h"

#include <cuda_runtime.h>

__global__ void wide(const float4* x, const float4* bias, float4* y, int count, int width) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count / 4) {
    float4 v = x[i];
    const float4 b = bias[i % (width / 4)];
    v.x = fmaxf(v.x + b.x, 0.0f);
    v.y = fmaxf(v.y + b.y, 0.0f);
    v.z = fmaxf(v.z + b.z, 0.0f);
    v.w = fmaxf(v.w + b.w, 0.0f);
    y[i] = v;
  }
}

extern "C" int mucutlass_launch(const void* const* inputs, void* const* outputs, void* workspace, void* stream) {
  const float* x = problem::x::of(inputs);
  const float* bias = problem::bias::of(inputs);
  float* y = static_cast<float*>(outputs[0]);
  wide<<<(problem::x::size / 4 + 255) / 256, 256, 0, cudaStream_t(stream)>>>(reinterpret_cast<const float4*>(x), reinterpret_cast<const float4*>(bias), reinterpret_cast<float4*>(y), problem::x::size, problem::x::d1);
  return cudaGetLastError();
}
