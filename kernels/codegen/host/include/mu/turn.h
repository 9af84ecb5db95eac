// map for operands whose elements lie side by side along another extent of the result than the last: x.T, permuted views.
//
// The result is made in tiles over that extent and the last. Such an operand's part of a tile is copied, transposed in
// registers, to where the body reads it along the last extent; all other operands are read as map.h reads them.
#pragma once

#include <utility>

#include "mu/map.h"

namespace mu {

// Elements on each side of a tile.
constexpr int64_t tile_side = 64;

namespace turning {

template <int bytes>
using word = std::conditional_t<
    bytes == 1, uint8_t, std::conditional_t<bytes == 2, uint16_t, std::conditional_t<bytes == 4, uint32_t, uint64_t>>>;

// Elements of T on each side of the square that registers turn at once.
template <class T>
constexpr int side = vector_bytes / int(sizeof(T)) < 16 ? vector_bytes / int(sizeof(T)) : 16;

template <class T>
using line = array<T, side<T>>;

// Exchanges the blocks of `step` elements that lie across the diagonal of two rows.
template <class T, int step, int... j>
inline __attribute__((always_inline)) void exchange(line<T>& a, line<T>& b, std::integer_sequence<int, j...>) {
  constexpr int n = side<T>;
  const line<T> upper = __builtin_shuffle(a, b, line<T>{T(j & step ? n + j - step : j)...});
  b = __builtin_shuffle(a, b, line<T>{T(j & step ? n + j : j + step)...});
  a = upper;
}

template <class T, int step>
inline __attribute__((always_inline)) void turn_by(line<T> (&rows)[side<T>]) {
  if constexpr (step < side<T>) {
#pragma GCC unroll 16
    for (int i = 0; i < side<T>; ++i) {
      if (!(i & step)) exchange<T, step>(rows[i], rows[i + step], std::make_integer_sequence<int, side<T>>{});
    }
    turn_by<T, 2 * step>(rows);
  }
}

template <class T>
inline void square(const T* from, int64_t pitch, T* to) {
  line<T> rows[side<T>];
#pragma GCC unroll 16
  for (int i = 0; i < side<T>; ++i) std::memcpy(&rows[i], from + i * pitch, sizeof rows[i]);
  turn_by<T, 1>(rows);
#pragma GCC unroll 16
  for (int i = 0; i < side<T>; ++i) std::memcpy(to + i * tile_side, &rows[i], sizeof rows[i]);
}

}  // namespace turning

// to[row][column] = from[column * pitch + row], for a tile of at most tile_side rows and columns.
template <class S>
void turn(const S* from, int64_t pitch, S* to, int64_t rows, int64_t columns) {
  using T = turning::word<int(sizeof(S))>;
  constexpr int64_t n = turning::side<T>;
  const int64_t whole_rows = rows / n * n, whole_columns = columns / n * n;
  const auto* source = reinterpret_cast<const T*>(from);
  auto* target = reinterpret_cast<T*>(to);
  // Along a line of memory first, so that its other half is read while it is in the cache.
  for (int64_t j = 0; j < whole_columns; j += n) {
    for (int64_t i = 0; i < whole_rows; i += n) turning::square(source + j * pitch + i, pitch, target + i * tile_side + j);
  }
  for (int64_t j = 0; j < columns; ++j) {
    for (int64_t i = j < whole_columns ? whole_rows : 0; i < rows; ++i) target[i * tile_side + j] = source[j * pitch + i];
  }
}

// As map(); Config::turned is the extent along which the body's turned operands lie side by side, and Body::Tiles holds
// their parts of a tile, whose first element has the indices `row` and `column`.
template <class Config, class Body>
int map_turned(const int64_t (&extent)[Config::rank], const Body& body, void* result, int64_t wanted_threads) {
  constexpr int last = Config::rank - 1, turned = Config::turned;
  auto* out = static_cast<typename Config::Out*>(result);
  int64_t tiles_of[Config::rank], stride[Config::rank], tiles = 1, elements = 1;
  for (int d = last; d >= 0; --d) {
    stride[d] = elements;
    elements *= extent[d];
    tiles_of[d] = d == last || d == turned ? (extent[d] + tile_side - 1) / tile_side : extent[d];
    tiles *= tiles_of[d];
  }
  const int64_t paying = elements / elements_a_thread + 1;
  const int threads = thread_count(wanted_threads, wanted_threads > 0 || paying > tiles ? tiles : paying);
#pragma omp parallel num_threads(threads)
  {
    typename Body::Tiles parts;
    const auto read = [&](const int64_t (&at)[Config::rank], auto many) { return body(at, many, parts); };
    const Share mine = share(tiles, omp_get_thread_num(), omp_get_num_threads());
    for (int64_t tile = mine.begin; tile < mine.end; ++tile) {
      int64_t at[Config::rank], rest = tile, first = 0;
      for (int d = last; d >= 0; --d) {
        at[d] = rest % tiles_of[d] * (d == last || d == turned ? tile_side : 1);
        rest /= tiles_of[d];
        if (d != last) first += at[d] * stride[d];
      }
      parts.row = at[turned];
      parts.column = at[last];
      const int64_t rows = extent[turned] - parts.row < tile_side ? extent[turned] - parts.row : tile_side;
      const int64_t columns = extent[last] - parts.column < tile_side ? extent[last] - parts.column : tile_side;
      body.turn(at, rows, columns, parts);
      for (int64_t row = 0; row < rows; ++row) {
        at[turned] = parts.row + row;
        map_run<Config>(read, out + first + row * stride[turned], at, parts.column, parts.column + columns);
      }
    }
  }
  return 0;
}

}  // namespace mu
