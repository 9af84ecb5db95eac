// A tensor with a constant border around it, of any rank and element type. Nothing is computed: elements are copied.
//
// The result is row-major; threads take runs of its rows, as in map.h. The operand may have any strides.
#pragma once

#include <algorithm>

#include "mu/map.h"

namespace mu {

// `extent` is the result's; `before` says where the operand begins in it, and `inside` how much of it there is.
template <class Config>
int pad(const int64_t (&extent)[Config::rank], const int64_t (&inside)[Config::rank],
        const int64_t (&before)[Config::rank], const int64_t (&stride)[Config::rank], const void* operand, void* result,
        int64_t wanted_threads) {
  using T = typename Config::Element;
  constexpr int last = Config::rank - 1;
  const auto* x = static_cast<const T*>(operand);
  auto* out = static_cast<T*>(result);
  T border;
  store<typename Config::Compute>(&border, splat(typename Config::Compute(Config::value)), Part{1});
  int64_t rows = 1;
  for (int d = 0; d < last; ++d) rows *= extent[d];
  const int64_t runs_a_row = (extent[last] + run_length - 1) / run_length, runs = rows * runs_a_row;
  const int64_t paying = rows * extent[last] / elements_a_thread + 1;
  const int threads = thread_count(wanted_threads, wanted_threads > 0 || paying > runs ? runs : paying);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t run = 0; run < runs; ++run) {
    const int64_t row = run / runs_a_row, begin = run % runs_a_row * run_length;
    const int64_t end = std::min(begin + run_length, extent[last]);
    T* to = out + row * extent[last];
    const T* from = x;
    bool filled = true;
    int64_t rest = row;
    for (int d = last - 1; d >= 0; --d) {
      const int64_t at = rest % extent[d] - before[d];
      rest /= extent[d];
      filled = filled && at >= 0 && at < inside[d];
      from += at * stride[d];
    }
    // The part of the run that comes from the operand; all else is border.
    const int64_t first = filled ? std::clamp(before[last], begin, end) : end;
    const int64_t stop = filled ? std::clamp(before[last] + inside[last], first, end) : end;
    std::fill(to + begin, to + first, border);
    if (Config::unit) {
      if (first < stop) std::memcpy(to + first, from + (first - before[last]), size_t(stop - first) * sizeof(T));
    } else {
      for (int64_t j = first; j < stop; ++j) to[j] = from[(j - before[last]) * stride[last]];
    }
    std::fill(to + stop, to + end, border);
  }
  return 0;
}

}  // namespace mu
