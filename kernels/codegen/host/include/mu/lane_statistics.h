// What rows that lie side by side are reduced to: as statistics.h, but each lane of V vectors is a row of its own.
//
// A statistic has `of` (the state of elements [begin, end), few enough for the cache; read(i, v) gives element i of the
// rows of vector v), `merge` (the second state's elements follow the first's), and either `value` (the results of
// vector v) or `row` (what turns elements of vector v into their results). NaN and infinities come out as in torch.
#pragma once

#include "mu/math.h"
#include "mu/statistics.h"

namespace mu {

// Elements of a row taken in one go: places among them are whole numbers of any computing type.
constexpr int64_t lane_piece = 256;

template <class Config, int V>
struct LaneState {
  vec<typename Config::Compute> value[V];
};

template <class Config, class Rule, class Term = Itself>
struct LaneNumber {
  using C = typename Config::Compute;
  template <int V>
  using State = LaneState<Config, V>;
  template <int V, class Read>
  static State<V> of(Read read, int64_t begin, int64_t end) {
    State<V> state;
    for (int v = 0; v < V; ++v) state.value[v] = splat(C(Rule::identity));
    for (int64_t i = begin; i < end; ++i) {
#pragma GCC unroll 16
      for (int v = 0; v < V; ++v) state.value[v] = Rule::combine(state.value[v], Term::of(read(i, v)));
    }
    return state;
  }
  template <int V>
  static State<V> merge(State<V> left, const State<V>& right) {
    for (int v = 0; v < V; ++v) left.value[v] = Rule::combine(left.value[v], right.value[v]);
    return left;
  }
  template <int V>
  static vec<C> value(const State<V>& state, int v, int64_t) {
    return state.value[v];
  }
};

template <class Config>
using LaneSum = LaneNumber<Config, Adding>;
template <class Config>
using LaneProd = LaneNumber<Config, Multiplying>;
template <class Config>
using LaneMax = LaneNumber<Config, Greatest>;
template <class Config>
using LaneMin = LaneNumber<Config, Least>;
template <class Config>
using LaneSumSq = LaneNumber<Config, Adding, Squared>;
template <class Config>
using LaneNorm1 = LaneNumber<Config, Adding, Magnitude>;

template <class Config>
struct LaneMean : LaneSum<Config> {
  using C = typename Config::Compute;
  template <int V>
  static vec<C> value(const LaneState<Config, V>& state, int v, int64_t columns) {
    return state.value[v] / C(columns);
  }
};

template <class Config>
struct LaneNorm2 : LaneSumSq<Config> {
  template <int V>
  static vec<typename Config::Compute> value(const LaneState<Config, V>& state, int v, int64_t) {
    return sqrt(state.value[v]);
  }
};

template <class Config>
struct LaneRmsNorm : LaneSumSq<Config> {
  using C = typename Config::Compute;
  struct Row {
    vec<C> scale;
    vec<C> operator()(vec<C> x) const { return x * scale; }
  };
  template <int V>
  static Row row(const LaneState<Config, V>& state, int v, int64_t columns) {
    return {rsqrt(state.value[v] / C(columns) + C(Config::eps))};
  }
};

// Places ---------------------------------------------------------------------------------------------------------

template <class Config, class Rule>
struct LanePlace {
  using C = typename Config::Compute;
  static constexpr int n = lanes<C>;
  template <int V>
  struct State {
    C value[V * n];
    int64_t place[V * n];
  };
  // Whether `right`, which stands behind `left`, goes before it: NaN goes before all numbers.
  template <class T>
  static auto better(T left, T right) {
    return (left == left) & ((right != right) | ((Rule::combine(left, right) == right) & (left != right)));
  }
  template <int V, class Read>
  static State<V> of(Read read, int64_t begin, int64_t end) {
    vec<C> value[V], place[V];
    for (int v = 0; v < V; ++v) value[v] = read(begin, v), place[v] = vec<C>{};
    for (int64_t i = begin + 1; i < end; ++i) {
      for (int v = 0; v < V; ++v) {
        const vec<C> x = read(i, v);
        const auto taken = better(value[v], x);
        value[v] = taken ? x : value[v];
        place[v] = taken ? splat(C(i - begin)) : place[v];
      }
    }
    State<V> state;
    for (int l = 0; l < V * n; ++l) {
      state.value[l] = value[l / n][l % n];
      state.place[l] = begin + int64_t(place[l / n][l % n]);
    }
    return state;
  }
  template <int V>
  static State<V> merge(State<V> left, const State<V>& right) {
    for (int l = 0; l < V * n; ++l) {
      if (!better(left.value[l], right.value[l])) continue;
      left.value[l] = right.value[l];
      left.place[l] = right.place[l];
    }
    return left;
  }
};

template <class Config>
using LaneArgMax = LanePlace<Config, Greatest>;
template <class Config>
using LaneArgMin = LanePlace<Config, Least>;

// Exponentials ---------------------------------------------------------------------------------------------------

// As Exponentials of statistics.h: the greatest element (NaNs apart) and the sum of exp(x - it), of an infinite one exp(x).
template <class Config>
struct LaneExponentials {
  using C = typename Config::Compute;
  template <int V>
  struct State {
    vec<C> greatest[V], sum[V];
  };
  static vec<C> shift(vec<C> greatest) { return greatest - greatest == vec<C>{} ? greatest : vec<C>{}; }
  static vec<C> greater(vec<C> left, vec<C> right) { return right > left ? right : left; }
  template <int V, class Read>
  static State<V> of(Read read, int64_t begin, int64_t end) {
    State<V> state;
    for (int v = 0; v < V; ++v) state.greatest[v] = splat(-std::numeric_limits<C>::infinity()), state.sum[v] = vec<C>{};
    for (int64_t i = begin; i < end; ++i) {
      for (int v = 0; v < V; ++v) state.greatest[v] = greater(state.greatest[v], read(i, v));
    }
    vec<C> shifts[V];
    for (int v = 0; v < V; ++v) shifts[v] = shift(state.greatest[v]);
    for (int64_t i = begin; i < end; ++i) {
      for (int v = 0; v < V; ++v) state.sum[v] += exp(read(i, v) - shifts[v]);
    }
    return state;
  }
  template <int V>
  static State<V> merge(State<V> left, const State<V>& right) {
    for (int v = 0; v < V; ++v) {
      const vec<C> most = greater(left.greatest[v], right.greatest[v]);
      const auto scaled = [most](vec<C> greatest, vec<C> sum) {
        return greatest == most ? sum : sum * exp(greatest - most);
      };
      left.sum[v] = scaled(left.greatest[v], left.sum[v]) + scaled(right.greatest[v], right.sum[v]);
      left.greatest[v] = most;
    }
    return left;
  }
  // NaN where the greatest element is infinite, as inf - inf is in torch.
  static vec<C> unless_infinite(vec<C> greatest, vec<C> number) {
    return greatest - greatest == vec<C>{} ? number : splat(std::numeric_limits<C>::quiet_NaN());
  }
};

template <class Config>
struct LaneLogSumExp : LaneExponentials<Config> {
  using Base = LaneExponentials<Config>;
  using C = typename Config::Compute;
  template <int V>
  static vec<C> value(const typename Base::template State<V>& state, int v, int64_t) {
    return Base::shift(state.greatest[v]) + log(state.sum[v]);
  }
};

template <class Config>
struct LaneSoftmax : LaneExponentials<Config> {
  using Base = LaneExponentials<Config>;
  using C = typename Config::Compute;
  struct Row {
    vec<C> shift, scale;
    vec<C> operator()(vec<C> x) const { return exp(x - shift) * scale; }
  };
  template <int V>
  static Row row(const typename Base::template State<V>& state, int v, int64_t) {
    return {Base::shift(state.greatest[v]), Base::unless_infinite(state.greatest[v], reciprocal(state.sum[v]))};
  }
};

template <class Config>
struct LaneLogSoftmax : LaneExponentials<Config> {
  using Base = LaneExponentials<Config>;
  using C = typename Config::Compute;
  struct Row {
    vec<C> shift, logarithm;
    vec<C> operator()(vec<C> x) const { return (x - shift) - logarithm; }
  };
  template <int V>
  static Row row(const typename Base::template State<V>& state, int v, int64_t) {
    return {Base::shift(state.greatest[v]), Base::unless_infinite(state.greatest[v], log(state.sum[v]))};
  }
};

// Moments --------------------------------------------------------------------------------------------------------

template <class Config>
struct LaneMoments {
  using C = typename Config::Compute;
  template <int V>
  struct State {
    C count;
    vec<C> mean[V], squares[V];
  };
  template <int V, class Read>
  static State<V> of(Read read, int64_t begin, int64_t end) {
    State<V> state;
    state.count = C(end - begin);
    for (int v = 0; v < V; ++v) state.mean[v] = state.squares[v] = vec<C>{};
    for (int64_t i = begin; i < end; ++i) {
      for (int v = 0; v < V; ++v) state.mean[v] += read(i, v);
    }
    for (int v = 0; v < V; ++v) state.mean[v] /= state.count;
    for (int64_t i = begin; i < end; ++i) {
      for (int v = 0; v < V; ++v) {
        const vec<C> distance = read(i, v) - state.mean[v];
        state.squares[v] += distance * distance;
      }
    }
    return state;
  }
  template <int V>
  static State<V> merge(State<V> left, const State<V>& right) {
    const C count = left.count + right.count, share = right.count / count;
    for (int v = 0; v < V; ++v) {
      const vec<C> apart = right.mean[v] - left.mean[v];
      left.mean[v] += apart * share;
      left.squares[v] += right.squares[v] + apart * apart * (left.count * share);
    }
    left.count = count;
    return left;
  }
};

template <class Config>
struct LaneVar : LaneMoments<Config> {
  using C = typename Config::Compute;
  template <int V>
  static vec<C> value(const typename LaneMoments<Config>::template State<V>& state, int v, int64_t columns) {
    return state.squares[v] / C(columns - 1);
  }
};

template <class Config>
struct LaneStd : LaneVar<Config> {
  using C = typename Config::Compute;
  template <int V>
  static vec<C> value(const typename LaneMoments<Config>::template State<V>& state, int v, int64_t columns) {
    return sqrt(LaneVar<Config>::template value<V>(state, v, columns));
  }
};

template <class Config>
struct LaneLayerNorm : LaneMoments<Config> {
  using C = typename Config::Compute;
  struct Row {
    vec<C> mean, scale;
    vec<C> operator()(vec<C> x) const { return (x - mean) * scale; }
  };
  template <int V>
  static Row row(const typename LaneMoments<Config>::template State<V>& state, int v, int64_t columns) {
    return {state.mean[v], rsqrt(state.squares[v] / C(columns) + C(Config::eps))};
  }
};

}  // namespace mu
