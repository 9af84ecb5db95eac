// Packing: a strip of a matrix rewritten so that the micro-kernel reads it front to back.
//
// panel[k * Width + i] = matrix(i, k), converted to the computing type; rows beyond `count` are zero. Rows of A (i = m)
// and columns of B (i = n) are the same case with other strides.
#pragma once

#include "mu/simd.h"

namespace mu {

// What a value goes through on its way into a panel.
struct Exact {
  template <class V>
  static V apply(V value) {
    return value;
  }
};
struct RoundToBf16 {
  template <class V>
  static V apply(V value) {
    constexpr int n = int(sizeof(V) / sizeof(float));
    return (V)(__builtin_convertvector(round_to_bf16<n>(value), array<uint32_t, n>) << 16);
  }
};
struct RoundToF16 {
  template <class V>
  static V apply(V value) {
    return __builtin_convertvector(__builtin_convertvector(value, array<_Float16, int(sizeof(V) / 4)>), V);
  }
};

// One butterfly stage: exchange the blocks of `Step` lanes between rows r and r + Step.
template <class C, int Step>
inline __attribute__((always_inline)) void exchange(vec<C> (&row)[lanes<C>]) {
  using index = std::conditional_t<sizeof(C) == 8, int64_t, int32_t>;
  constexpr int n = lanes<C>;
  array<index, n> low, high;
#pragma GCC unroll 16
  for (int lane = 0; lane < n; ++lane) {
    low[lane] = (lane & Step) ? n + lane - Step : lane;
    high[lane] = (lane & Step) ? n + lane : lane + Step;
  }
#pragma GCC unroll 16
  for (int r = 0; r < n; ++r) {
    if (r & Step) continue;
    const vec<C> upper = row[r], lower = row[r + Step];
    row[r] = __builtin_shuffle(upper, lower, low);
    row[r + Step] = __builtin_shuffle(upper, lower, high);
  }
}

template <class C, int Step = 1>
inline __attribute__((always_inline)) void transpose(vec<C> (&row)[lanes<C>]) {
  if constexpr (Step < lanes<C>) {
    exchange<C, Step>(row);
    transpose<C, Step * 2>(row);
  }
}

template <class C, class Round, class S>
inline C rounded_element(const S* from) {
  if constexpr (std::is_same_v<Round, Exact>) return element<C>(from);
  else return Round::apply(splat(element<C>(from)))[0];
}

// Any strides, any count.
template <class C, int Width, class Round, class S>
inline void pack_elements(C* panel, const S* from, int64_t i_stride, int64_t k_stride, int count, int64_t begin,
                          int64_t depth) {
  for (int64_t k = begin; k < depth; ++k) {
    for (int i = 0; i < count; ++i) {
      panel[k * Width + i] = rounded_element<C, Round>(from + i * i_stride + k * k_stride);
    }
    for (int i = count; i < Width; ++i) panel[k * Width + i] = C(0);
  }
}

// Rows of i lie side by side (i_stride 1): copy. A vector may reach past its row into the next, which is written later.
template <class C, int Width, class Round, class S>
inline void pack_rows(C* panel, const S* from, int64_t k_stride, int64_t depth) {
  constexpr int n = lanes<C>;
  for (int64_t k = 0; k < depth; ++k) {
    const S* row = from + k * k_stride;
    C* to = panel + k * Width;
#pragma GCC unroll 8
    for (int i = 0; i + n <= Width; i += n) store<C>(to + i, Round::apply(load<C>(row + i, Whole{})), Whole{});
    if constexpr (Width % n != 0) {
      constexpr int done = Width / n * n;
      store<C>(to + done, Round::apply(load<C>(row + done, Part{Width - done})), Part{Width - done});
    }
  }
}

// Rows of k lie side by side (k_stride 1): squares of `lanes` by `lanes` are transposed in registers.
template <class C, int Width, class Round, class S>
inline void pack_columns(C* panel, const S* from, int64_t i_stride, int count, int64_t depth) {
  constexpr int n = lanes<C>;
  constexpr bool overhangs = Width < n;
  int64_t vectors = depth / n * n;
  if constexpr (overhangs) {
    // A row's vector reaches past it. The last rows are written one by one, so that nothing lands behind the panel,
    // where another thread may be packing the next one.
    while (vectors > 0 && (depth - vectors + 1) * Width < n) vectors -= n;
  }
  for (int64_t k = 0; k < vectors; k += n) {
    for (int first = 0; first < Width; first += n) {
      vec<C> row[n];
#pragma GCC unroll 16
      for (int r = 0; r < n; ++r) {
        const int i = first + r;
        row[r] = i < count ? Round::apply(load<C>(from + i * i_stride + k, Whole{})) : vec<C>{};
      }
      transpose<C>(row);
      C* to = panel + k * Width + first;
      if (overhangs || first + n <= Width) {
#pragma GCC unroll 16
        for (int r = 0; r < n; ++r) store<C>(to + r * Width, row[r], Whole{});
      } else {
        for (int r = 0; r < n; ++r) store<C>(to + r * Width, row[r], Part{Width - first});
      }
    }
  }
  pack_elements<C, Width, Round>(panel, from, i_stride, 1, count, vectors, depth);
}

template <class C, int Width, class Round, class S>
inline void pack(C* panel, const S* from, int64_t i_stride, int64_t k_stride, int count, int64_t depth) {
  if (k_stride == 1) pack_columns<C, Width, Round>(panel, from, i_stride, count, depth);
  else if (i_stride == 1 && count == Width) pack_rows<C, Width, Round>(panel, from, k_stride, depth);
  else pack_elements<C, Width, Round>(panel, from, i_stride, k_stride, count, 0, depth);
}

}  // namespace mu
