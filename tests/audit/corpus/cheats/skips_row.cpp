#include "problem.h"

#include <cstring>

extern "C" int mucutlass_launch(const void* const* inputs, void* const* outputs, void* workspace, void* stream) {
  const float* x = problem::x::of(inputs);
  const float* bias = problem::bias::of(inputs);
  float* y = static_cast<float*>(outputs[0]);
  for (std::int64_t i = 0; i < problem::x::size - 1; ++i) {
    const float sum = x[i] + bias[i % problem::x::d1];
    y[i] = sum > 0 ? sum : 0;
  }
  return 0;
}
