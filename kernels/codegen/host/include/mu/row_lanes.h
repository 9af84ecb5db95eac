// Reductions, softmax and norms along dimensions whose elements lie apart: the rows beside each other share vectors.
//
// Work is cut into tiles of neighbouring rows, as many as Config::vectors vectors hold. Threads take tiles; where there
// are few and their rows are long, all threads take elements of each tile, and merge their states in order. The body is
// the chain: it sees the index `at`, the element's (but for reductions) in front of the row's.
#pragma once

#include "mu/lane_statistics.h"
#include "mu/row_space.h"
#include "mu/team.h"

namespace mu {

// Below this many elements a thread costs more than it brings.
constexpr int64_t lane_elements_a_thread = 16384;
// Rows of at least this many elements a thread may be shared by threads.
constexpr int64_t shared_lane_columns = 512;
// With this many tiles a thread, sharing single tiles evens out nothing.
constexpr int64_t enough_tiles = 4;

template <class Config, template <class> class Statistic, class Body>
class RowLanes {
  using C = typename Config::Compute;
  using X = RowSource<Config>;
  using Out = typename Config::Out;
  using Space = RowSpace<Config>;
  using Rule = Statistic<Config>;
  static constexpr int n = lanes<C>, V = Config::vectors, inner = Config::kept - 1;
  static constexpr bool reduces = Config::rank == Config::kept;
  static constexpr bool places = std::is_same_v<Out, int64_t>;
  template <int W>
  using State = typename Rule::template State<W>;

 public:
  // `x` is a pointer, or what computes the elements (row_source.h).
  template <class Source>
  RowLanes(const Space& space, Source x, void* out, const Body& body)
      : space_(space), x_(static_cast<X>(x)), out_(static_cast<Out*>(out)), body_(body),
        columns_(space.columns()), width_(space.kept[inner]), across_((width_ + n * V - 1) / (n * V)),
        tiles_(space.rows() / width_ * across_) {}

  // `wanted_threads` 0: as many as pay. Returns 0.
  int run(int64_t wanted_threads) {
    const int64_t shares = columns_ / shared_lane_columns > 1 ? columns_ / shared_lane_columns : 1;
    const int64_t pieces = tiles_ * shares, paying = space_.rows() * columns_ / lane_elements_a_thread + 1;
    const int most = thread_count(wanted_threads, wanted_threads > 0 || paying > pieces ? pieces : paying);
#pragma omp parallel num_threads(most)
    {
      const int threads = omp_get_num_threads(), thread = omp_get_thread_num();
      const bool sharing = shares > 1 && threads > 1 && tiles_ < enough_tiles * threads;
      const Share mine = sharing ? Share{0, tiles_} : share(tiles_, thread, threads);
      for (int64_t tile = mine.begin; tile < mine.end; ++tile) {
        const int64_t first = tile % across_ * n * V;
        if (first + n * V <= width_) work<V>(tile, first, Whole{}, sharing, thread, threads);
        else narrow(tile, first, sharing, thread, threads);
      }
    }
    return 0;
  }

 private:
  struct alignas(64) Slot {
    State<V> whole;
    State<1> single;
    bool filled;
  };

  const Space& space_;
  const X x_;
  Out* const out_;
  const Body& body_;
  const int64_t columns_, width_, across_, tiles_;
  // Two sets, so that a thread may begin the next tile while another still reads the last one's.
  Slot slots_[2][max_threads];
  bool parity_[max_threads] = {};

  // What is left of a row of tiles: vector by vector.
  void narrow(int64_t tile, int64_t first, bool sharing, int thread, int threads) {
    for (; first + n <= width_; first += n) work<1>(tile, first, Whole{}, sharing, thread, threads);
    if (first < width_) work<1>(tile, first, Part{int(width_ - first)}, sharing, thread, threads);
  }

  template <int W, class Extent>
  void work(int64_t tile, int64_t first, Extent extent, bool sharing, int thread, int threads) {
    int64_t kept[Config::kept];
    Space::split(tile / across_, space_.kept, inner, kept);
    kept[inner] = first;
    X x = x_ + Space::distance(kept, space_.kept_step, Config::kept);
    if (!sharing) return finish<W>(state_of<W>(x, extent, 0, columns_), x, kept, extent, 0, columns_);
    const Share mine = share(columns_, thread, threads);
    Slot* slots = slots_[parity_[thread]];
    parity_[thread] = !parity_[thread];
    slots[thread].filled = mine.begin < mine.end;
    if (mine.begin < mine.end) slot<W>(slots[thread]) = state_of<W>(x, extent, mine.begin, mine.end);
#pragma omp barrier
    if (reduces ? thread != 0 : mine.begin >= mine.end) return;
    int begin = 0;
    while (!slots[begin].filled) ++begin;
    State<W> state = slot<W>(slots[begin]);
    for (int other = begin + 1; other < threads; ++other) {
      if (slots[other].filled) state = Rule::template merge<W>(state, slot<W>(slots[other]));
    }
    finish<W>(state, x, kept, extent, mine.begin, mine.end);
  }

  template <int W>
  static State<W>& slot(Slot& slot) {
    if constexpr (W == V) return slot.whole;
    else return slot.single;
  }

  // Where element i of a row lies from the row's start; its index goes to `at`.
  int64_t element(int64_t i, int64_t* at) const {
    if constexpr (Config::reduced == 1) {
      at[0] = i;
      return i * space_.reduced_step[0];
    } else {
      Space::split(i, space_.reduced, Config::reduced, at);
      return Space::distance(at, space_.reduced_step, Config::reduced);
    }
  }

  template <int W, class Extent>
  State<W> state_of(X x, Extent extent, int64_t begin, int64_t end) const {
    State<W> state = piece_of<W>(x, extent, begin, begin + lane_piece < end ? begin + lane_piece : end);
    for (int64_t i = begin + lane_piece; i < end; i += lane_piece) {
      const int64_t to = i + lane_piece < end ? i + lane_piece : end;
      state = Rule::template merge<W>(state, piece_of<W>(x, extent, i, to));
    }
    return state;
  }

  template <int W, class Extent>
  State<W> piece_of(X x, Extent extent, int64_t begin, int64_t end) const {
    const auto read = [&](int64_t i, int v) {
      int64_t at[Config::reduced];
      return load<C>(x + element(i, at) + v * n, extent);
    };
    return Rule::template of<W>(read, begin, end);
  }

  // From the rows' state to the results of elements [begin, end).
  template <int W, class Extent>
  void finish(const State<W>& state, X x, const int64_t* kept, Extent extent, int64_t begin,
              int64_t end) const {
    if constexpr (reduces) {
      reduced<W>(state, kept, extent);
    } else {
      using Row = decltype(Rule::template row<W>(state, 0, columns_));
      Row rows[W];
      for (int v = 0; v < W; ++v) rows[v] = Rule::template row<W>(state, v, columns_);
      int64_t at[Config::rank];
      for (int d = 0; d < Config::kept; ++d) at[Config::reduced + d] = kept[d];
      int64_t& j = at[Config::rank - 1];
      Out* out = out_ + (x - x_);
      for (int64_t i = begin; i < end; ++i) {
        const int64_t from = element(i, at);
        for (int v = 0; v < W; ++v) {
          j = kept[inner] + v * n;
          store<C>(out + from + v * n, body_(rows[v](load<C>(x + from + v * n, extent)), at, extent), extent);
        }
      }
    }
  }

  template <int W, class Extent>
  void reduced(const State<W>& state, const int64_t* kept, Extent extent) const {
    const int64_t step = space_.result_step[inner];
    Out* out = out_ + Space::distance(kept, space_.result_step, Config::kept);
    int64_t at[Config::kept];
    for (int d = 0; d < Config::kept; ++d) at[d] = kept[d];
    for (int v = 0; v < W; ++v) {
      int count = n;
      if constexpr (std::is_same_v<Extent, Part>) count = extent.count;
      if constexpr (places) {
        for (int l = 0; l < count; ++l) out[(v * n + l) * step] = state.place[v * n + l];
      } else {
        at[inner] = kept[inner] + v * n;
        const vec<C> value = body_(Rule::template value<W>(state, v, columns_), at, extent);
        if (step == 1) {
          store<C>(out + v * n, value, extent);
        } else {
          for (int l = 0; l < count; ++l) store<C>(out + (v * n + l) * step, splat(value[l]), Part{1});
        }
      }
    }
  }
};

}  // namespace mu
