// Reductions, softmax and norms: out = body(statistic(row)) or out[row, j] = body(statistic of the row on x[row, j]).
//
// x is rows x columns, row-major and contiguous. Threads take rows; where there are few and long ones, all threads take
// columns of each row, and merge their states in order. The body is the chain: it sees the index `at` of the result.
#pragma once

#include "mu/statistics.h"
#include "mu/team.h"

namespace mu {

// Below this many elements a thread costs more than it brings.
constexpr int64_t row_elements_a_thread = 16384;
// Rows of at least this many columns may be shared by threads, in units of `shared_unit` columns.
constexpr int64_t shared_columns = 32768;
constexpr int64_t shared_unit = 1024;
// With this many rows a thread, sharing single rows evens out nothing.
constexpr int64_t enough_rows = 4;

template <class Config, class Statistic, class Body>
class Rows {
  using C = typename Config::Compute;
  using Out = typename Config::Out;
  using State = typename Statistic::State;
  static constexpr int n = lanes<C>;
  static constexpr bool reduces = Config::rank == Config::outer;

 public:
  Rows(const int64_t (&extent)[Config::outer], int64_t columns, const void* x, void* out, const Body& body)
      : extent_(extent), columns_(columns), x_(static_cast<const typename Config::X*>(x)), out_(static_cast<Out*>(out)),
        body_(body) {
    for (int d = 0; d < Config::outer; ++d) rows_ *= extent[d];
  }

  // `wanted_threads` 0: as many as pay. Returns 0.
  int run(int64_t wanted_threads) {
    const int64_t units = columns_ >= shared_columns ? (columns_ + shared_unit - 1) / shared_unit : 1;
    const int64_t pieces = rows_ * units, paying = rows_ * columns_ / row_elements_a_thread + 1;
    const int most = thread_count(wanted_threads, wanted_threads > 0 || paying > pieces ? pieces : paying);
#pragma omp parallel num_threads(most)
    {
      const int threads = omp_get_num_threads(), thread = omp_get_thread_num();
      if (units > 1 && threads > 1 && rows_ < enough_rows * threads) {
        for (int64_t row = 0; row < rows_; ++row) share_row(row, units, thread, threads);
      } else {
        const Share mine = share(rows_, thread, threads);
        for (int64_t row = mine.begin; row < mine.end; ++row) whole_row(row);
      }
    }
    return 0;
  }

 private:
  struct alignas(64) Slot {
    State state;
    bool filled;
  };

  const int64_t (&extent_)[Config::outer];
  const int64_t columns_;
  const typename Config::X* const x_;
  Out* const out_;
  const Body& body_;
  int64_t rows_ = 1;
  // Two sets, so that a thread may begin the next row while another still reads the last one's.
  Slot slots_[2][max_threads];

  State state_of(const typename Config::X* x, int64_t begin, int64_t end) const {
    State state = Statistic::of(x, begin, begin + row_piece < end ? begin + row_piece : end);
    for (int64_t j = begin + row_piece; j < end; j += row_piece) {
      state = Statistic::merge(state, Statistic::of(x, j, j + row_piece < end ? j + row_piece : end));
    }
    return state;
  }

  void whole_row(int64_t row) const {
    const typename Config::X* x = x_ + row * columns_;
    if constexpr (std::is_same_v<Statistic, Softmax<Config>>) {
      if (columns_ <= row_piece) return short_softmax(x, row);
    }
    finish(state_of(x, 0, columns_), x, row, 0, columns_);
  }

  // The exponentials of a row that fits the cache are computed once.
  void short_softmax(const typename Config::X* x, int64_t row) const {
    alignas(64) C kept[row_piece];
    const State state = Statistic::of(x, 0, columns_, [&](int64_t j, vec<C> value, auto extent) {
      store<C>(kept + j, value, extent);
    });
    const vec<C> scale = splat(Statistic::scale(state));
    write([&](int64_t j, auto extent) { return load<C>(kept + j, extent) * scale; }, row, 0, columns_);
  }

  void share_row(int64_t row, int64_t units, int thread, int threads) {
    const typename Config::X* x = x_ + row * columns_;
    const Share mine = share(units, thread, threads);
    const int64_t begin = mine.begin * shared_unit;
    const int64_t end = mine.end * shared_unit < columns_ ? mine.end * shared_unit : columns_;
    Slot* slots = slots_[row & 1];
    slots[thread].filled = begin < end;
    if (begin < end) slots[thread].state = state_of(x, begin, end);
#pragma omp barrier
    if (reduces ? thread != 0 : begin >= end) return;
    int first = 0;
    while (!slots[first].filled) ++first;
    State state = slots[first].state;
    for (int other = first + 1; other < threads; ++other) {
      if (slots[other].filled) state = Statistic::merge(state, slots[other].state);
    }
    finish(state, x, row, begin, end);
  }

  // From the whole row's state to the results of [begin, end).
  void finish(State state, const typename Config::X* x, int64_t row, int64_t begin, int64_t end) const {
    if constexpr (reduces) {
      int64_t at[Config::rank];
      locate(row, at);
      store<C>(out_ + row, body_(splat(Statistic::value(state, columns_)), at, Part{1}), Part{1});
    } else {
      const auto result = Statistic::row(state, columns_);
      write([&](int64_t j, auto extent) { return result(load<C>(x + j, extent)); }, row, begin, end);
    }
  }

  template <class Source>
  inline __attribute__((always_inline)) void write(Source source, int64_t row, int64_t begin, int64_t end) const {
    int64_t at[Config::rank];
    locate(row, at);
    Out* out = out_ + row * columns_;
    int64_t& j = at[Config::rank - 1];
    j = begin;
    for (; j + n * Config::vectors <= end;) {
#pragma GCC unroll 16
      for (int v = 0; v < Config::vectors; ++v, j += n) {
        store<C>(out + j, body_(source(j, Whole{}), at, Whole{}), Whole{});
      }
    }
    for (; j + n <= end; j += n) store<C>(out + j, body_(source(j, Whole{}), at, Whole{}), Whole{});
    if (j == end) return;
    if (end - begin >= n) {
      // The last whole vector once more: what it overlaps is written again with the same numbers.
      j = end - n;
      store<C>(out + j, body_(source(j, Whole{}), at, Whole{}), Whole{});
    } else {
      const Part part{int(end - j)};
      store<C>(out + j, body_(source(j, part), at, part), part);
    }
  }

  void locate(int64_t row, int64_t (&at)[Config::rank]) const {
    for (int d = Config::outer - 1; d > 0; --d) {
      at[d] = row % extent_[d];
      row /= extent_[d];
    }
    at[0] = row;
  }
};

}  // namespace mu
