// What the elements of rows are read from: a pointer to x, or an expression at a place of x.
//
// x is dense, so where an element lies in it says where those lie that an expression computes it from.
#pragma once

#include <type_traits>

#include "mu/math.h"

namespace mu {

// `Expression` gives the elements at `place` of x and on as expression(place, extent).
template <class Expression>
struct Computed {
  const Expression* expression;
  int64_t place;
  Computed operator+(int64_t step) const { return {expression, place + step}; }
  int64_t operator-(Computed other) const { return place - other.place; }
};

template <class C, class Expression, class Extent>
inline __attribute__((always_inline)) vec<C> load(Computed<Expression> from, Extent extent) {
  return (*from.expression)(from.place, extent);
}

template <class Config, class = void>
struct RowSourceOf {
  using type = const typename Config::X*;
};
template <class Config>
struct RowSourceOf<Config, std::void_t<typename Config::Expression>> {
  using type = Computed<typename Config::Expression>;
};
template <class Config>
using RowSource = typename RowSourceOf<Config>::type;

}  // namespace mu
