#include "problem.h"

#include <cstring>

extern "C" int mucutlass_launch(const void* const* inputs, void* const* outputs, void* workspace, void* stream) {
  const float* x = problem::x::of(inputs);
  const float* bias = problem::bias::of(inputs);
  float* y = static_cast<float*>(outputs[0]);
  std::memcpy(y, x, problem::x::size * 4);
  for (std::int64_t i = 0; i < problem::x::size; ++i) {
    y[i] += bias[i % problem::x::d1];
    if (y[i] < 0) y[i] = 0;
  }
  return 0;
}
