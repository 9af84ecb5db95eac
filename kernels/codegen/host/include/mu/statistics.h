// What a row is reduced to: one state a piece of a row, merged with the states of the other pieces in order.
//
// A statistic has `of` (the state of a piece that fits the first-level cache), `merge`, and either `value` (what a
// reduction returns) or `row` (what turns an element of the row into its result). No loops over rows here (rows.h).
// NaN and infinities come out as in torch.
#pragma once

#include "mu/math.h"
#include "mu/row_source.h"

namespace mu {

// A row is read in pieces of this many elements, so that a second look at a piece finds it in the cache.
constexpr int64_t row_piece = 4096;

template <class C>
using lane_index = std::conditional_t<sizeof(C) == 4, array<int32_t, lanes<C>>, array<int64_t, lanes<C>>>;

// 0, 1, 2, ...
template <class C>
inline lane_index<C> lane_numbers() {
  lane_index<C> index{};
  for (int lane = 0; lane < lanes<C>; ++lane) index[lane] = lane;
  return index;
}

// Lanes [begin, end) of `value`, and `other` in the rest.
template <class C>
inline vec<C> lanes_between(vec<C> value, C other, int begin, int end) {
  const lane_index<C> index = lane_numbers<C>();
  const lane_index<C> inside = (index >= begin) & (index < end);
  return inside ? value : splat(other);
}

// Combines the lanes of `value`, each with the one half a vector away, a quarter, ...
template <class C, int width = lanes<C> / 2, class Combine>
inline C across(vec<C> value, Combine combine) {
  if constexpr (width == 0) {
    return value[0];
  } else {
    const vec<C> other = __builtin_shuffle(value, lane_numbers<C>() ^ width);
    return across<C, width / 2>(combine(value, other), combine);
  }
}

// Combines term(j, extent) over [begin, end) in Config::vectors registers; `identity` changes nothing it meets. A rest
// is read as the last whole vector, whose other lanes have been counted; where there is none, as part of a vector.
template <class Config, class Term, class Combine>
inline __attribute__((always_inline)) typename Config::Compute fold(int64_t begin, int64_t end,
                                                                    typename Config::Compute identity, Term term,
                                                                    Combine combine) {
  using C = typename Config::Compute;
  constexpr int n = lanes<C>;
  vec<C> acc[Config::vectors];
#pragma GCC unroll 16
  for (int v = 0; v < Config::vectors; ++v) acc[v] = splat(identity);
  int64_t j = begin;
  for (; j + n * Config::vectors <= end; j += n * Config::vectors) {
#pragma GCC unroll 16
    for (int v = 0; v < Config::vectors; ++v) acc[v] = combine(acc[v], term(j + v * n, Whole{}));
  }
  for (; j + n <= end; j += n) acc[0] = combine(acc[0], term(j, Whole{}));
  const int rest = int(end - j);
  if (rest > 0 && end - begin >= n) {
    acc[0] = combine(acc[0], lanes_between<C>(term(end - n, Whole{}), identity, n - rest, n));
  } else if (rest > 0) {
    acc[0] = combine(acc[0], lanes_between<C>(term(j, Part{rest}), identity, 0, rest));
  }
#pragma GCC unroll 16
  for (int v = 1; v < Config::vectors; ++v) acc[0] = combine(acc[0], acc[v]);
  return across<C>(acc[0], combine);
}

// Statistics that are one number ---------------------------------------------------------------------------------

struct Adding {
  static constexpr double identity = 0;
  template <class T>
  static T combine(T x, T y) {
    return x + y;
  }
};
struct Multiplying {
  static constexpr double identity = 1;
  template <class T>
  static T combine(T x, T y) {
    return x * y;
  }
};
struct Greatest {
  static constexpr double identity = -std::numeric_limits<double>::infinity();
  template <class T>
  static T combine(T x, T y) {
    return max(x, y);
  }
};
struct Least {
  static constexpr double identity = std::numeric_limits<double>::infinity();
  template <class T>
  static T combine(T x, T y) {
    return min(x, y);
  }
};

// What of an element is combined.
struct Itself {
  template <class V>
  static V of(V x) {
    return x;
  }
};
struct Squared {
  template <class V>
  static V of(V x) {
    return x * x;
  }
};
struct Magnitude {
  template <class V>
  static V of(V x) {
    return abs(x);
  }
};

template <class Config, class Rule, class Term = Itself>
struct Number {
  using C = typename Config::Compute;
  using State = C;
  static State of(RowSource<Config> x, int64_t begin, int64_t end) {
    return fold<Config>(
        begin, end, C(Rule::identity), [x](int64_t j, auto extent) { return Term::of(load<C>(x + j, extent)); },
        [](auto left, auto right) { return Rule::combine(left, right); });
  }
  static State merge(State left, State right) { return Rule::combine(left, right); }
  static C value(State state, int64_t) { return state; }
};

template <class Config>
using Sum = Number<Config, Adding>;
template <class Config>
using Prod = Number<Config, Multiplying>;
template <class Config>
using Max = Number<Config, Greatest>;
template <class Config>
using Min = Number<Config, Least>;
template <class Config>
using SumSq = Number<Config, Adding, Squared>;
template <class Config>
using Norm1 = Number<Config, Adding, Magnitude>;

template <class Config>
struct Norm2 : SumSq<Config> {
  using C = typename Config::Compute;
  static C value(C squares, int64_t) { return std::sqrt(squares); }
};

template <class Config>
struct Mean : Sum<Config> {
  using C = typename Config::Compute;
  static C value(C sum, int64_t columns) { return sum / C(columns); }
};

// Places ---------------------------------------------------------------------------------------------------------

// Where the greatest element (or the least) is, the first of equal ones; NaN goes before all numbers.
template <class Config, class Rule>
struct Place {
  using C = typename Config::Compute;
  struct State {
    C value;
    int64_t place;
  };
  static State of(RowSource<Config> x, int64_t begin, int64_t end) {
    const auto read = [x](int64_t j, auto extent) { return load<C>(x + j, extent); };
    const auto combine = [](auto left, auto right) { return Rule::combine(left, right); };
    const C found = fold<Config>(begin, end, C(Rule::identity), read, combine);
    const vec<C> wanted = splat(found), lane = __builtin_convertvector(lane_numbers<C>(), vec<C>);
    const vec<C> nowhere = splat(std::numeric_limits<C>::infinity());
    // A piece is short enough for its places to be whole numbers of C.
    const auto place = [&](int64_t j, auto extent) {
      const vec<C> value = read(j, extent);
      const auto here = found == found ? value == wanted : value != value;
      return here ? lane + C(j - begin) : nowhere;
    };
    const auto first = [](auto left, auto right) { return min(left, right); };
    return {found, begin + int64_t(fold<Config>(begin, end, std::numeric_limits<C>::infinity(), place, first))};
  }
  // Pieces are merged in order, so an equal element on the right comes later.
  static State merge(State left, State right) {
    const C best = Rule::combine(left.value, right.value);
    const bool kept = left.value != left.value || (best == left.value && right.value == right.value);
    return kept ? left : right;
  }
  static int64_t value(State state, int64_t) { return state.place; }
};

template <class Config>
using ArgMax = Place<Config, Greatest>;
template <class Config>
using ArgMin = Place<Config, Least>;

// Exponentials ---------------------------------------------------------------------------------------------------

// The greatest element m (NaNs apart, which the sum keeps) and the sum of exp(x - m); of an infinite m, of exp(x).
template <class Config>
struct Exponentials {
  using C = typename Config::Compute;
  struct State {
    C greatest, sum;
    bool finite() const { return std::isfinite(greatest); }
    C shift() const { return finite() ? greatest : C(0); }
  };

  // `keep(j, exponential, extent)` sees every exponential.
  template <class Keep>
  static State of(RowSource<Config> x, int64_t begin, int64_t end, Keep keep) {
    const auto greater = [](auto left, auto right) { return right > left ? right : left; };
    const auto read = [x](int64_t j, auto extent) { return load<C>(x + j, extent); };
    State state{fold<Config>(begin, end, -std::numeric_limits<C>::infinity(), read, greater), C(0)};
    const vec<C> shift = splat(state.shift());
    const auto exponential = [&](int64_t j, auto extent) {
      const vec<C> value = exp(read(j, extent) - shift);
      keep(j, value, extent);
      return value;
    };
    state.sum = fold<Config>(begin, end, C(0), exponential, [](auto left, auto right) { return left + right; });
    return state;
  }
  static State of(RowSource<Config> x, int64_t begin, int64_t end) {
    return of(x, begin, end, [](int64_t, vec<C>, auto) {});
  }
  static State merge(State left, State right) {
    const C greatest = right.greatest > left.greatest ? right.greatest : left.greatest;
    const auto scaled = [greatest](State state) {
      return state.greatest == greatest ? state.sum : state.sum * std::exp(state.greatest - greatest);
    };
    return {greatest, scaled(left) + scaled(right)};
  }
};

template <class Config>
struct LogSumExp : Exponentials<Config> {
  using C = typename Config::Compute;
  static C value(typename Exponentials<Config>::State state, int64_t) { return state.shift() + std::log(state.sum); }
};

// An infinite greatest element makes the whole row NaN, as inf - inf does in torch.
template <class Config>
struct Softmax : Exponentials<Config> {
  using C = typename Config::Compute;
  using State = typename Exponentials<Config>::State;
  struct Row {
    vec<C> shift, scale;
    vec<C> operator()(vec<C> x) const { return exp(x - shift) * scale; }
  };
  static C scale(State state) { return state.finite() ? C(1) / state.sum : std::numeric_limits<C>::quiet_NaN(); }
  static Row row(State state, int64_t) { return {splat(state.shift()), splat(scale(state))}; }
};

template <class Config>
struct LogSoftmax : Exponentials<Config> {
  using C = typename Config::Compute;
  using State = typename Exponentials<Config>::State;
  struct Row {
    vec<C> shift, logarithm;
    vec<C> operator()(vec<C> x) const { return (x - shift) - logarithm; }
  };
  static Row row(State state, int64_t) {
    const C logarithm = state.finite() ? std::log(state.sum) : std::numeric_limits<C>::quiet_NaN();
    return {splat(state.shift()), splat(logarithm)};
  }
};

// Norms ----------------------------------------------------------------------------------------------------------

// Mean and sum of squared distances from it, each piece in two looks; pieces merge by Chan, Golub and LeVeque's sums
// ("Updating formulae and a pairwise algorithm for computing sample variances", 1979).
template <class Config>
struct Moments {
  using C = typename Config::Compute;
  struct State {
    C count, mean, squares;
  };
  static State of(RowSource<Config> x, int64_t begin, int64_t end) {
    const auto add = [](auto left, auto right) { return left + right; };
    const auto read = [x](int64_t j, auto extent) { return load<C>(x + j, extent); };
    const C count = C(end - begin);
    const C mean = fold<Config>(begin, end, C(0), read, add) / count;
    const auto squared = [&](int64_t j, auto extent) {
      const vec<C> distance = read(j, extent) - splat(mean);
      return distance * distance;
    };
    return {count, mean, fold<Config>(begin, end, C(0), squared, add)};
  }
  static State merge(State left, State right) {
    const C count = left.count + right.count, apart = right.mean - left.mean;
    const C mean = left.mean + apart * (right.count / count);
    return {count, mean, left.squares + right.squares + apart * apart * (left.count * (right.count / count))};
  }
};

template <class Config>
struct Var : Moments<Config> {
  using C = typename Config::Compute;
  static C value(typename Moments<Config>::State state, int64_t columns) { return state.squares / C(columns - 1); }
};

template <class Config>
struct Std : Moments<Config> {
  using C = typename Config::Compute;
  static C value(typename Moments<Config>::State state, int64_t columns) {
    return std::sqrt(state.squares / C(columns - 1));
  }
};

template <class Config>
struct LayerNorm : Moments<Config> {
  using C = typename Config::Compute;
  struct Row {
    vec<C> mean, scale;
    vec<C> operator()(vec<C> x) const { return (x - mean) * scale; }
  };
  static Row row(typename Moments<Config>::State state, int64_t columns) {
    return {splat(state.mean), splat(C(1) / std::sqrt(state.squares / C(columns) + C(Config::eps)))};
  }
};

template <class Config>
struct RmsNorm : SumSq<Config> {
  using C = typename Config::Compute;
  struct Row {
    vec<C> scale;
    vec<C> operator()(vec<C> x) const { return x * scale; }
  };
  static Row row(C squares, int64_t columns) {
    return {splat(C(1) / std::sqrt(squares / C(columns) + C(Config::eps)))};
  }
};

}  // namespace mu
