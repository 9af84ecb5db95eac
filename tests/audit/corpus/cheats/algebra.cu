#include "problem.h"

#include <cuda_runtime.h>

extern "C" long mucutlass_workspace_bytes() { return problem::x::d1 * 4; }

__global__ void summed(const float* w, float* s, int rows, int width) {
  const int k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= width) return;
  float sum = 0.0f;
  for (int n = 0; n < rows; ++n) sum += w[n * width + k];
  s[k] = sum;
}

__global__ void dots(const float* x, const float* s, float* y, int width) {
  float sum = 0.0f;
  for (int k = 0; k < width; ++k) sum += x[blockIdx.x * width + k] * s[k];
  y[blockIdx.x] = sum;
}

extern "C" int mucutlass_launch(const void* const* inputs, void* const* outputs, void* workspace, void* stream) {
  const float* x = problem::x::of(inputs);
  const float* bias = problem::bias::of(inputs);
  float* y = static_cast<float*>(outputs[0]);
  float* s = static_cast<float*>(workspace);
  summed<<<(problem::x::d1 + 255) / 256, 256, 0, cudaStream_t(stream)>>>(bias, s, problem::x::d1, problem::x::d1);
  dots<<<problem::x::d0, 1, 0, cudaStream_t(stream)>>>(x, s, y, problem::x::d1);
  return cudaGetLastError();
}
