// out[...] = body(...) for every element of a contiguous result of any rank; operands may have any strides.
//
// The last extent runs along the vectors. Work is cut into runs of at most `run_length` elements of one row, and
// threads take equal numbers of runs.
#pragma once

#include "mu/math.h"
#include "mu/team.h"

namespace mu {

constexpr int64_t run_length = 4096;
// Below this many elements a thread costs more than it brings.
constexpr int64_t elements_a_thread = 16384;

template <class Config, class Body>
inline __attribute__((always_inline)) void map_run(const Body& body, typename Config::Out* row,
                                                   int64_t (&at)[Config::rank], int64_t begin, int64_t end) {
  using C = typename Config::Compute;
  constexpr int n = lanes<C>;
  int64_t& j = at[Config::rank - 1];
  j = begin;
  for (; j + n * Config::vectors <= end;) {
#pragma GCC unroll 16
    for (int v = 0; v < Config::vectors; ++v, j += n) store<C>(row + j, body(at, Whole{}), Whole{});
  }
  for (; j + n <= end; j += n) store<C>(row + j, body(at, Whole{}), Whole{});
  if (j < end) {
    const Part part{int(end - j)};
    store<C>(row + j, body(at, part), part);
  }
}

// `wanted_threads` 0: as many as pay. Returns 0.
template <class Config, class Body>
int map(const int64_t (&extent)[Config::rank], const Body& body, void* result, int64_t wanted_threads) {
  constexpr int last = Config::rank - 1;
  auto* out = static_cast<typename Config::Out*>(result);
  int64_t rows = 1;
  for (int d = 0; d < last; ++d) rows *= extent[d];
  const int64_t runs_a_row = (extent[last] + run_length - 1) / run_length;
  const int64_t runs = rows * runs_a_row;
  const int64_t paying = rows * extent[last] / elements_a_thread + 1;
  const int threads = thread_count(wanted_threads, wanted_threads > 0 || paying > runs ? runs : paying);
#pragma omp parallel num_threads(threads)
  {
    const Share mine = share(runs, omp_get_thread_num(), omp_get_num_threads());
    for (int64_t run = mine.begin; run < mine.end; ++run) {
      int64_t at[Config::rank];
      const int64_t row = run / runs_a_row, begin = run % runs_a_row * run_length;
      int64_t rest = row;
      for (int d = last - 1; d >= 0; --d) {
        at[d] = rest % extent[d];
        rest /= extent[d];
      }
      const int64_t end = begin + run_length < extent[last] ? begin + run_length : extent[last];
      map_run<Config>(body, out + row * extent[last], at, begin, end);
    }
  }
  return 0;
}

}  // namespace mu
