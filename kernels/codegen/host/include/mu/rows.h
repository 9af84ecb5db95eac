// Reductions, softmax and norms: out = body(statistic(row)) or out[row, j] = body(statistic of the row on x[row, j]).
//
// A row is made of pieces whose elements lie side by side (often of one); out lies as x does, or holds one element a
// row. Threads take rows; where there are few and long ones, all threads take columns of each row, and merge their
// states in order. The body is the chain: it sees the index `at` of the row and, but for reductions, of the element.
// Rows whose elements lie apart are row_lanes.h's.
#pragma once

#include "mu/row_space.h"
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
  using X = RowSource<Config>;
  using Out = typename Config::Out;
  using State = typename Statistic::State;
  using Space = RowSpace<Config>;
  static constexpr int n = lanes<C>, outer = Config::reduced - 1;
  static constexpr bool reduces = Config::rank == Config::kept;
  static constexpr bool places = std::is_same_v<Out, int64_t>;

 public:
  // `x` is a pointer, or what computes the elements (row_source.h).
  template <class Source>
  Rows(const Space& space, Source x, void* out, const Body& body)
      : space_(space), x_(static_cast<X>(x)), out_(static_cast<Out*>(out)), body_(body), rows_(space.rows()),
        columns_(space.columns()), length_(space.reduced[outer]) {}

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
  // A row's index, with room for an element's, and where it begins in x.
  struct Row {
    int64_t at[Config::kept + Config::reduced];
    int64_t start;
  };

  const Space& space_;
  const X x_;
  Out* const out_;
  const Body& body_;
  const int64_t rows_, columns_, length_;
  // Two sets, so that a thread may begin the next row while another still reads the last one's.
  Slot slots_[2][max_threads];

  Row locate(int64_t row) const {
    Row made;
    Space::split(row, space_.kept, Config::kept, made.at);
    made.start = Space::distance(made.at, space_.kept_step, Config::kept);
    return made;
  }

  // Calls visit(from, begin, end, first) for each piece that columns [begin, end) of a row touch: elements begin to end
  // of the piece at `from`, whose own first column is `first`. Leaves the piece's index in row.at.
  template <class Visit>
  inline __attribute__((always_inline)) void each_piece(Row& row, int64_t begin, int64_t end, Visit visit) const {
    if constexpr (outer == 0) {
      visit(row.start, begin, end, int64_t(0));
    } else {
      for (int64_t piece = begin / length_; piece * length_ < end; ++piece) {
        int64_t* at = row.at + Config::kept;
        Space::split(piece, space_.reduced, outer, at);
        const int64_t first = piece * length_, to = end - first;
        visit(row.start + Space::distance(at, space_.reduced_step, outer), begin > first ? begin - first : 0,
              to < length_ ? to : length_, first);
      }
    }
  }

  State state_of(Row& row, int64_t begin, int64_t end) const {
    State state{};
    bool empty = true;
    each_piece(row, begin, end, [&](int64_t from, int64_t j, int64_t to, int64_t first) {
      for (; j < to; j += row_piece) {
        State part = Statistic::of(x_ + from, j, j + row_piece < to ? j + row_piece : to);
        if constexpr (places) part.place += first;
        state = empty ? part : Statistic::merge(state, part);
        empty = false;
      }
    });
    return state;
  }

  void whole_row(int64_t index) const {
    Row row = locate(index);
    if constexpr (std::is_same_v<Statistic, Softmax<Config>> && outer == 0) {
      if (columns_ <= row_piece) return short_softmax(row);
    }
    finish(state_of(row, 0, columns_), row, 0, columns_);
  }

  // The exponentials of a row that fits the cache are computed once.
  void short_softmax(Row& row) const {
    alignas(64) C kept[row_piece];
    const State state = Statistic::of(x_ + row.start, 0, columns_, [&](int64_t j, vec<C> value, auto extent) {
      store<C>(kept + j, value, extent);
    });
    const vec<C> scale = splat(Statistic::scale(state));
    write([&](int64_t j, auto extent) { return load<C>(kept + j, extent) * scale; }, row, row.start, 0, columns_);
  }

  void share_row(int64_t index, int64_t units, int thread, int threads) {
    Row row = locate(index);
    const Share mine = share(units, thread, threads);
    const int64_t begin = mine.begin * shared_unit;
    const int64_t end = mine.end * shared_unit < columns_ ? mine.end * shared_unit : columns_;
    Slot* slots = slots_[index & 1];
    slots[thread].filled = begin < end;
    if (begin < end) slots[thread].state = state_of(row, begin, end);
#pragma omp barrier
    if (reduces ? thread != 0 : begin >= end) return;
    int first = 0;
    while (!slots[first].filled) ++first;
    State state = slots[first].state;
    for (int other = first + 1; other < threads; ++other) {
      if (slots[other].filled) state = Statistic::merge(state, slots[other].state);
    }
    finish(state, row, begin, end);
  }

  // From the whole row's state to the results of [begin, end).
  void finish(State state, Row& row, int64_t begin, int64_t end) const {
    if constexpr (reduces) {
      Out* out = out_ + Space::distance(row.at, space_.result_step, Config::kept);
      if constexpr (places) {
        *out = Statistic::value(state, columns_);
      } else {
        int64_t at[Config::rank];
        for (int d = 0; d < Config::rank; ++d) at[d] = row.at[d];
        store<C>(out, body_(splat(Statistic::value(state, columns_)), at, Part{1}), Part{1});
      }
    } else {
      const auto result = Statistic::row(state, columns_);
      each_piece(row, begin, end, [&](int64_t from, int64_t j, int64_t to, int64_t) {
        const X x = x_ + from;
        write([&](int64_t at, auto extent) { return result(load<C>(x + at, extent)); }, row, from, j, to);
      });
    }
  }

  // Elements [begin, end) of the piece at `from`.
  template <class Source>
  inline __attribute__((always_inline)) void write(Source source, Row& row, int64_t from, int64_t begin,
                                                   int64_t end) const {
    int64_t at[Config::kept + Config::reduced];
    for (int d = 0; d < Config::kept + outer; ++d) at[d] = row.at[d];
    Out* out = out_ + from;
    int64_t& j = at[Config::kept + outer];
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
};

}  // namespace mu
