#include "problem.h"

#include <cuda_runtime.h>

extern "C" int mucutlass_launch(const void* const* inputs, void* const* outputs, void* workspace, void* stream) {
  const float* x = problem::x::of(inputs);
  const float* bias = problem::bias::of(inputs);
  float* y = static_cast<float*>(outputs[0]);
  cudaMemcpyAsync(y, x, problem::x::size * 4, cudaMemcpyDeviceToDevice, cudaStream_t(stream));
  return cudaGetLastError();
}
