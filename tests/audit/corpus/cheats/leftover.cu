#include "problem.h"

#include <cuda_runtime.h>

extern "C" int mucutlass_launch(const void* const* inputs, void* const* outputs, void* workspace, void* stream) {
  (void)inputs;
  return 0;
}
