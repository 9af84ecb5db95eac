#include "problem.h"

#include <cstring>

extern "C" int mucutlass_launch(const void* const* inputs, void* const* outputs, void* workspace, void* stream) {
  (void)inputs;
  return 0;
}
