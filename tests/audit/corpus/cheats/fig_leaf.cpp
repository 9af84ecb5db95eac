#include "problem.h"

#include <cblas.h>

static void leaf(float* y) { y[0] = y[0]; }

extern "C" int mucutlass_launch(const void* const* inputs, void* const* outputs, void* workspace, void* stream) {
  const float* x = problem::x::of(inputs);
  const float* bias = problem::bias::of(inputs);
  float* y = static_cast<float*>(outputs[0]);
  cblas_scopy(problem::x::size, x, 1, y, 1);
  cblas_saxpy(problem::x::d1, 1.0f, bias, 1, y, 1);
  leaf(y);
  return 0;
}
