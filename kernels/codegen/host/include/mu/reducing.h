// A product that is reduced over its columns or its rows, and never stored: each register tile keeps a partial result of
// its own, and a last pass combines them in order. So the bits do not depend on the number of threads.
//
// An epilogue that reduces names how as `Reduce`. Blocks are whole register tiles (the checker's rule), and K is whole.
#pragma once

#include "mu/statistics.h"
#include "mu/team.h"

namespace mu {

template <class Epilogue>
concept reducing = requires { typename Epilogue::Reduce; };

// How a product ends: `Kind` combines; over the columns of the product, or over its rows; the result is divided by the
// number of elements for a mean.
template <class Kind, bool over_columns, bool mean>
struct Reduce {
  using Combine = Kind;
  static constexpr bool columns = over_columns, divides = mean;
};

// The partial results of a product: for each batch and each register tile along what is reduced, one vector along the
// other extent.
template <class C, class Reduce>
class Partials {
  using Combine = typename Reduce::Combine;

 public:
  // Of products of m x n, whose register tiles are `rows` x `columns`.
  Partials(int64_t batch, int64_t m, int64_t n, int rows, int columns)
      : kept_(Reduce::columns ? m : n), gone_(Reduce::columns ? n : m), batch_(batch),
        tile_(Reduce::columns ? columns : rows) {}

  // Elements of all partial results.
  int64_t elements() const { return batch_ * tiles() * kept_; }

  // Where the register tile at (i, j) puts its own.
  C* at(C* partials, int64_t batch, int64_t i, int64_t j) const {
    const int64_t along = Reduce::columns ? j : i, across = Reduce::columns ? i : j;
    return partials + (batch * tiles() + along / tile_) * kept_ + across;
  }

  // The results of this thread's share.
  template <class Out>
  void combine(const C* partials, Out* out, int thread, int threads) const {
    const int64_t vectors = (kept_ + lanes<C> - 1) / lanes<C>;
    const Share mine = share(batch_ * vectors, thread, threads);
    for (int64_t index = mine.begin; index < mine.end; ++index) {
      const int64_t batch = index / vectors, first = index % vectors * lanes<C>;
      const C* from = partials + batch * tiles() * kept_ + first;
      Out* to = out + batch * kept_ + first;
      if (kept_ - first >= lanes<C>) combine_lanes(from, to, Whole{});
      else combine_lanes(from, to, Part{int(kept_ - first)});
    }
  }

 private:
  int64_t kept_, gone_, batch_, tile_;

  int64_t tiles() const { return (gone_ + tile_ - 1) / tile_; }

  template <class Out, class Extent>
  void combine_lanes(const C* from, Out* to, Extent extent) const {
    vec<C> total = load<C>(from, extent);
    for (int64_t tile = 1; tile < tiles(); ++tile) {
      total = Combine::combine(total, load<C>(from + tile * kept_, extent));
    }
    if constexpr (Reduce::divides) total = total / splat(C(gone_));
    store<C>(to, total, extent);
  }
};

// The partial result of one register tile, of `rows` x `columns` values in `block`, which is changed.
template <class Reduce, class C, int width>
inline void reduce_tile(C (*block)[width], int rows, int columns, C* partial) {
  using Combine = typename Reduce::Combine;
  constexpr int vectors = width / lanes<C>;
  const auto combine = [](auto x, auto y) { return Combine::combine(x, y); };
  if constexpr (Reduce::columns) {
    for (int r = 0; r < rows; ++r) {
      for (int c = columns; c < width; ++c) block[r][c] = C(Combine::identity);
      vec<C> total = load<C>(block[r], Whole{});
      for (int v = 1; v < vectors; ++v) total = combine(total, load<C>(block[r] + v * lanes<C>, Whole{}));
      partial[r] = across<C>(total, combine);
    }
  } else {
    for (int v = 0; v < vectors; ++v) {
      const int left = columns - v * lanes<C>;
      if (left <= 0) break;
      vec<C> total = load<C>(block[0] + v * lanes<C>, Whole{});
      for (int r = 1; r < rows; ++r) total = combine(total, load<C>(block[r] + v * lanes<C>, Whole{}));
      if (left >= lanes<C>) store<C>(partial + v * lanes<C>, total, Whole{});
      else store<C>(partial + v * lanes<C>, total, Part{left});
    }
  }
}

}  // namespace mu
