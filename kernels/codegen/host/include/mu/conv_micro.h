// The register tiles of a convolution: sums of `depth` products, kept in registers and added to a block of sums.
//
// `offset` says for each of the depth's (channel, tap) pairs where the input's element lies from that of the tile's first
// pixel; the weights lie in that order, one panel of filters side by side.
#pragma once

#include "mu/simd.h"

namespace mu {

// Pixels along the vectors: sums[filter * width + pixel], Rows filters by Vectors vectors of neighbouring pixels.
template <class C, int Rows, int Vectors>
__attribute__((noinline)) void pixels_in_lanes(const C* x, const int32_t* offset, const C* weights, int64_t depth,
                                               C* sums, int64_t width, bool first) {
  vec<C> acc[Rows][Vectors] = {};
  for (int64_t k = 0; k < depth; ++k, weights += Rows) {
    const C* from = x + offset[k];
    vec<C> right[Vectors];
#pragma GCC unroll 16
    for (int v = 0; v < Vectors; ++v) right[v] = load<C>(from + v * lanes<C>, Whole{});
#pragma GCC unroll 64
    for (int r = 0; r < Rows; ++r) {
      const vec<C> left = splat(weights[r]);
#pragma GCC unroll 16
      for (int v = 0; v < Vectors; ++v) acc[r][v] += left * right[v];
    }
  }
#pragma GCC unroll 64
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 16
    for (int v = 0; v < Vectors; ++v) {
      C* at = sums + r * width + v * lanes<C>;
      store<C>(at, first ? acc[r][v] : acc[r][v] + load<C>(at, Whole{}), Whole{});
    }
  }
}

// Filters along the vectors: sums[pixel * Vectors * lanes + filter], for Rows pixels that lie anywhere.
template <class C, int Rows, int Vectors>
__attribute__((noinline)) void filters_in_lanes(const C* const (&pixel)[Rows], const int32_t* offset, const C* weights,
                                                int64_t depth, C* sums, bool first) {
  constexpr int width = Vectors * lanes<C>;
  vec<C> acc[Rows][Vectors] = {};
  for (int64_t k = 0; k < depth; ++k, weights += width) {
    const int64_t from = offset[k];
    vec<C> right[Vectors];
#pragma GCC unroll 16
    for (int v = 0; v < Vectors; ++v) right[v] = load<C>(weights + v * lanes<C>, Whole{});
#pragma GCC unroll 64
    for (int r = 0; r < Rows; ++r) {
      const vec<C> left = splat(pixel[r][from]);
#pragma GCC unroll 16
      for (int v = 0; v < Vectors; ++v) acc[r][v] += left * right[v];
    }
  }
#pragma GCC unroll 64
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 16
    for (int v = 0; v < Vectors; ++v) {
      C* at = sums + r * width + v * lanes<C>;
      store<C>(at, first ? acc[r][v] : acc[r][v] + load<C>(at, Whole{}), Whole{});
    }
  }
}

}  // namespace mu
