// The register tile: micro_m x micro_n sums held in registers over one K block, then handed to the epilogue.
#pragma once

#include "mu/math.h"
#include "mu/reducing.h"

namespace mu {

struct Extents {
  int64_t batch, m, n, k;
};

// A matrix per batch index, with its strides in elements.
template <class T>
struct View {
  const T* data;
  int64_t batch, row, col;
  const T* at(int64_t index, int64_t i, int64_t j) const { return data + index * batch + i * row + j * col; }
};

// Whether a K block is the first of its sums, and whether the sums are done after it.
struct Pass {
  bool first, last;
};

template <class Config>
struct Tile {
  using C = typename Config::Compute;
  static constexpr int MR = Config::micro_m, NV = Config::micro_n / lanes<C>;
  static_assert(Config::micro_n % lanes<C> == 0, "the register tile is whole vectors wide");

  int64_t batch, i, j;
  int rows, columns;
  int64_t depth;
  Pass pass;
  const typename Config::A* a;
  const typename Config::B* b;
  int64_t a_row, a_col, b_row, b_col;
  const C* panel_a;
  const C* panel_b;
  C* sums;
  typename Config::Out* out;
  int64_t width;
  C* partial;  // of an epilogue that reduces, which stores nothing

  template <class Epilogue>
  void run(const Epilogue& epilogue) const {
    if (columns == Config::micro_n) run_whole(epilogue);
    else run_edge(epilogue);
  }

 private:
  template <class Epilogue>
  __attribute__((noinline)) void run_whole(const Epilogue& epilogue) const {
    vec<C> acc[MR][NV] = {};
    accumulate(acc, [](int) { return Whole{}; });
    finish(acc, epilogue, [](int) { return Whole{}; });
  }

  template <class Epilogue>
  __attribute__((noinline)) void run_edge(const Epilogue& epilogue) const {
    const auto extent = [this](int v) {
      const int left = columns - v * lanes<C>;
      return Part{left < 0 ? 0 : left < lanes<C> ? left : lanes<C>};
    };
    vec<C> acc[MR][NV] = {};
    accumulate(acc, extent);
    finish(acc, epilogue, extent);
  }

  template <class Extent>
  inline __attribute__((always_inline)) vec<C> value_b(int64_t k, int v, Extent extent) const {
    if constexpr (Config::pack_b) return load<C>(panel_b + k * Config::micro_n + v * lanes<C>, Whole{});
    else if constexpr (Config::b_unit) return Config::Round::apply(load<C>(b + k * b_row + v * lanes<C>, extent));
    else return Config::Round::apply(gather<C>(b + k * b_row + v * lanes<C> * b_col, b_col, extent));
  }

  inline __attribute__((always_inline)) vec<C> value_a(int64_t k, int r, const int64_t (&row)[MR]) const {
    if constexpr (Config::pack_a) return splat(panel_a[k * MR + r]);
    else return Config::Round::apply(splat(element<C>(a + row[r] + k * a_col)));
  }

  template <class Extent>
  inline __attribute__((always_inline)) void accumulate(vec<C> (&acc)[MR][NV], Extent extent) const {
    // Read in place, a row that is not there reads the last one that is; its sums are dropped.
    int64_t row[MR];
    for (int r = 0; r < MR; ++r) row[r] = (r < rows ? r : rows - 1) * a_row;
    // The sums so far are read after the loop; fetched now, they are there by then.
    if (!pass.first) {
      for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 16
        for (int v = 0; v < NV; ++v) __builtin_prefetch(sums + r * width + v * lanes<C>, 1);
      }
    }
    for (int64_t k = 0; k < depth; ++k) {
      vec<C> right[NV];
#pragma GCC unroll 16
      for (int v = 0; v < NV; ++v) right[v] = value_b(k, v, extent(v));
#pragma GCC unroll 64
      for (int r = 0; r < MR; ++r) {
        const vec<C> left = value_a(k, r, row);
#pragma GCC unroll 16
        for (int v = 0; v < NV; ++v) acc[r][v] += left * right[v];
      }
    }
  }

  template <class Epilogue, class Extent>
  inline __attribute__((always_inline)) void finish(vec<C> (&acc)[MR][NV], const Epilogue& epilogue,
                                                    Extent extent) const {
    if (pass.last) finish_sums(acc, epilogue, extent);
    else keep_sums(acc, extent);
  }

  template <class Extent>
  inline __attribute__((always_inline)) void keep_sums(vec<C> (&acc)[MR][NV], Extent extent) const {
#pragma GCC unroll 64
    for (int r = 0; r < MR; ++r) {
      if (r >= rows) break;
#pragma GCC unroll 16
      for (int v = 0; v < NV; ++v) {
        C* at = sums + r * width + v * lanes<C>;
        if (!pass.first) acc[r][v] += load<C>(at, extent(v));
        store<C>(at, acc[r][v], extent(v));
      }
    }
  }

  // Through a block in the first-level cache: the epilogue is compiled once, not once a register.
  template <class Epilogue, class Extent>
  inline __attribute__((always_inline)) void finish_sums(vec<C> (&acc)[MR][NV], const Epilogue& epilogue,
                                                         Extent extent) const {
    alignas(64) C block[MR][NV * lanes<C>];
#pragma GCC unroll 64
    for (int r = 0; r < MR; ++r) {
#pragma GCC unroll 16
      for (int v = 0; v < NV; ++v) store<C>(&block[r][v * lanes<C>], acc[r][v], Whole{});
    }
#pragma GCC unroll 1
    for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 2
      for (int v = 0; v < NV; ++v) {
        const int64_t at = r * width + v * lanes<C>;
        vec<C> sum = load<C>(&block[r][v * lanes<C>], Whole{});
        if (!pass.first) sum += load<C>(sums + at, extent(v));
        const vec<C> value = epilogue(sum, batch, i + r, j + v * lanes<C>, extent(v));
        if constexpr (reducing<Epilogue>) store<C>(&block[r][v * lanes<C>], value, Whole{});
        else store<C>(out + at, value, extent(v));
      }
    }
    if constexpr (reducing<Epilogue>) reduce_tile<typename Epilogue::Reduce, C>(block, rows, columns, partial);
  }
};

}  // namespace mu
