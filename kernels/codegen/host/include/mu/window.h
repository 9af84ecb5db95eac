// How a convolution's kernel meets its input along one dimension.
//
// Results are made in blocks of neighbouring steps. In a convolution a step is a result: at step j tap t reads the input
// at j * stride + t * dilation - padding, so taps read every stride-th element, and those that differ by a multiple of
// the stride read the same ones, shifted: a "slot" of the input. In a transposed one a step is `stride` results, its
// "phases", o = j * stride + phase - padding: each has taps of its own, which read the input at j - t * dilation / stride,
// and none is multiplied by the zeros between. Either way a tap reads, for steps side by side, elements side by side of
// one slot.
#pragma once

#include <cstdint>

namespace mu {

struct Axis {
  int64_t input, output, padding, dilation;
};

// Of two numbers, the second positive: rounded down, and rounded up.
inline int64_t floor_div(int64_t x, int64_t y) { return x >= 0 ? x / y : -((y - 1 - x) / y); }
inline int64_t ceil_div(int64_t x, int64_t y) { return -floor_div(-x, y); }

template <int Taps, int Stride, bool Transposed>
struct Window {
  static constexpr int phases = Transposed ? Stride : 1;
  static constexpr int64_t step = Transposed ? 1 : Stride;

  Axis axis;
  // The first step and how many there are; the largest shift; the number of slots.
  int64_t begin, steps, reach = 0;
  int slots = 0;
  int phase[Taps], slot[Taps];
  int64_t shift[Taps], start[Taps];

  explicit Window(Axis axis_) : axis(axis_) {
    begin = Transposed ? axis.padding / Stride : 0;
    steps = Transposed ? (axis.output - 1 + axis.padding) / Stride - begin + 1 : axis.output;
    for (int tap = 0; tap < Taps; ++tap) {
      shift[tap] = tap * axis.dilation / Stride;
      if (shift[tap] > reach) reach = shift[tap];
    }
    for (int tap = 0; tap < Taps; ++tap) {
      const int rest = int(tap * axis.dilation % Stride);
      phase[tap] = Transposed ? rest : 0;
      if constexpr (Transposed) {
        shift[tap] = reach - shift[tap];
        slot[tap] = 0;
        start[slots = 0] = -reach;
      } else {
        slot[tap] = 0;
        while (slot[tap] < slots && start[slot[tap]] != rest - axis.padding) ++slot[tap];
        if (slot[tap] == slots) start[slots++] = rest - axis.padding;
      }
    }
    if constexpr (Transposed) slots = 1;
  }

  // The element of the input at `place` of a slot: of step j, tap t reads place j + shift[t].
  int64_t source(int64_t place, int of_slot) const { return place * step + start[of_slot]; }
  // The first place whose element is not in front of `element`.
  int64_t place(int64_t element, int of_slot) const { return ceil_div(element - start[of_slot], step); }
  // The result of a step's phase; it may lie outside where there is more than one.
  int64_t result(int64_t j, int of_phase) const {
    return Transposed ? j * Stride + of_phase - axis.padding : j;
  }
  // The results of `count` steps from j: begin to end - 1.
  int64_t results_begin(int64_t j) const {
    const int64_t first = result(j, 0);
    return first < 0 ? 0 : first;
  }
  int64_t results_end(int64_t j, int64_t count) const {
    const int64_t last = result(j + count, 0);
    return last < axis.output ? last : axis.output;
  }
};

}  // namespace mu
