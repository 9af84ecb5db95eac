// Where rows lie: groups of dimensions with an extent and x's step each, outermost first. Rows are numbered over `kept`,
// the elements of a row over `reduced`; both have a group at least. `result_step` is a reduction's result's.
#pragma once

#include <cstdint>

namespace mu {

template <class Config>
struct RowSpace {
  int64_t kept[Config::kept], kept_step[Config::kept], result_step[Config::kept];
  int64_t reduced[Config::reduced], reduced_step[Config::reduced];

  static constexpr int last_kept = Config::kept - 1, last_reduced = Config::reduced - 1;

  int64_t rows() const { return product(kept, Config::kept); }
  int64_t columns() const { return product(reduced, Config::reduced); }

  static int64_t product(const int64_t* extent, int count) {
    int64_t all = 1;
    for (int d = 0; d < count; ++d) all *= extent[d];
    return all;
  }

  // The indices of number `index` over the first `count` extents, into `at`.
  static void split(int64_t index, const int64_t* extent, int count, int64_t* at) {
    for (int d = count - 1; d > 0; --d) {
      at[d] = index % extent[d];
      index /= extent[d];
    }
    if (count > 0) at[0] = index;
  }

  static int64_t distance(const int64_t* at, const int64_t* step, int count) {
    int64_t sum = 0;
    for (int d = 0; d < count; ++d) sum += at[d] * step[d];
    return sum;
  }
};

}  // namespace mu
