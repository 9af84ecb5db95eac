// The language's functions on vectors, with torch's meaning: NaN and infinities travel as they do there.
//
// float: polynomials of a few units in the last place (fitted for this file by weighted minimax; each names its
// interval). double: the C library, lane by lane. int64_t: the functions that integers have.
#pragma once

#include <cmath>
#include <limits>

#include "mu/simd.h"

namespace mu {

template <class V>
using scalar = std::remove_cv_t<std::remove_reference_t<decltype(std::declval<V>()[0])>>;

template <class V>
constexpr bool single = std::is_same_v<scalar<V>, float>;

using mask32 = array<int32_t, lanes<float>>;

template <class V, class F>
inline V each(V x, F function) {
  for (int lane = 0; lane < int(sizeof(V) / sizeof(x[0])); ++lane) x[lane] = function(x[lane]);
  return x;
}

template <class V>
inline V constant(double value) {
  return scalar<V>(value) - V{};
}

// Comparisons give 1 and 0, as torch's do once they meet a number.
#define MU_COMPARISON(name, operation)                                                             \
  template <class V>                                                                               \
  inline V name(V x, V y) {                                                                        \
    return x operation y ? constant<V>(1) : V{};                                                   \
  }
MU_COMPARISON(gt, >)
MU_COMPARISON(lt, <)
MU_COMPARISON(ge, >=)
MU_COMPARISON(le, <=)
MU_COMPARISON(eq, ==)
MU_COMPARISON(ne, !=)
#undef MU_COMPARISON

template <class V>
inline V where(V condition, V x, V y) {
  return condition != V{} ? x : y;
}

template <class V>
inline V neg(V x) {
  return -x;
}
template <class V>
inline V add(V x, V y) {
  return x + y;
}
template <class V>
inline V sub(V x, V y) {
  return x - y;
}
template <class V>
inline V mul(V x, V y) {
  return x * y;
}
template <class V>
inline V div(V x, V y) {
  return x / y;
}
template <class V>
inline V min(V x, V y) {
  const V lesser = x < y ? x : y;  // y where either is NaN
  return x == x ? lesser : x;
}
template <class V>
inline V max(V x, V y) {
  const V greater = x > y ? x : y;
  return x == x ? greater : x;
}
template <class V>
inline V clamp(V x, V low, V high) {
  return min(max(x, low), high);
}
template <class V>
inline V abs(V x) {
  if constexpr (single<V>) return (V)((mask32)x & 0x7fffffff);
  else return x < V{} ? -x : x == V{} ? V{} : x;
}
template <class V>
inline V sign(V x) {
  return x > V{} ? constant<V>(1) : x < V{} ? constant<V>(-1) : x == x ? V{} : V{};
}
template <class V>
inline V square(V x) {
  return x * x;
}
template <class V>
inline V reciprocal(V x) {
  return constant<V>(1) / x;
}

// Rounding and roots are single instructions; the compiler makes vectors of these loops.
template <class V>
inline V sqrt(V x) {
  return each(x, [](auto v) { return std::sqrt(v); });
}
template <class V>
inline V rsqrt(V x) {
  return constant<V>(1) / sqrt(x);
}
template <class V>
inline V floor(V x) {
  return each(x, [](auto v) { return std::floor(v); });
}
template <class V>
inline V ceil(V x) {
  return each(x, [](auto v) { return std::ceil(v); });
}
template <class V>
inline V trunc(V x) {
  return each(x, [](auto v) { return std::trunc(v); });
}
template <class V>
inline V round(V x) {
  return each(x, [](auto v) { return __builtin_roundeven(v); });
}

// Sum of c[i] * x^i.
template <class V, int N>
inline V polynomial(V x, const float (&c)[N]) {
  V sum = V{} + c[N - 1];
  for (int i = N - 2; i >= 0; --i) sum = sum * x + c[i];
  return sum;
}

// To the nearest whole number, |x| < 2^22: the sum has no room for a fraction.
constexpr float whole_magic = 12582912.0f;
template <class V>
inline V nearest(V x) {
  return (x + whole_magic) - whole_magic;
}

// e^x as mantissa * 2^power. A NaN gives a NaN mantissa and some power, whose product is NaN.
template <class V>
struct Exponential {
  V mantissa;
  mask32 power;
};
template <class V>
inline Exponential<V> exponential(V x) {
  static constexpr float c[] = {0.5f, 0.166665167f, 0.0416662022f, 0.00836908817f, 0.00139508338f};  // |r| <= ln2/2
  const V shifted = x * 1.44269504f + whole_magic;
  const V n = shifted - whole_magic;
  const V r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  return {r + r * r * polynomial(r, c) + 1.0f, (mask32)shifted - 0x4b400000};
}

// x * 2^n for whole n in [-252, 254], in two steps so that results below the normal range come out right.
template <class V>
inline V scale_by_power_of_two(V x, mask32 n) {
  const mask32 half = n >> 1;
  return x * (V)((half + 127) << 23) * (V)((n - half + 127) << 23);
}

// e^x where |x| <= 80 is known.
template <class V>
inline V exp_within_80(V x) {
  const Exponential<V> e = exponential(x);
  return e.mantissa * (V)((e.power + 127) << 23);
}

template <class V>
inline V exp(V x) {
  if constexpr (!single<V>) {
    return each(x, [](auto v) { return std::exp(v); });
  } else {
    V y = x < -105.0f ? V{} - 105.0f : x;
    y = y > 89.0f ? V{} + 89.0f : y;
    const Exponential<V> e = exponential(y);
    return scale_by_power_of_two(e.mantissa, e.power);
  }
}

template <class V>
inline V exp2(V x) {
  if constexpr (!single<V>) {
    return each(x, [](auto v) { return std::exp2(v); });
  } else {
    V y = x < -151.0f ? V{} - 151.0f : x;
    y = y > 129.0f ? V{} + 129.0f : y;
    const V shifted = y + whole_magic;
    const V fraction = y - (shifted - whole_magic);
    return scale_by_power_of_two(exp_within_80(fraction * 0.693147181f), (mask32)shifted - 0x4b400000);
  }
}

template <class V>
inline V expm1(V x) {
  if constexpr (!single<V>) {
    return each(x, [](auto v) { return std::expm1(v); });
  } else {
    static constexpr float c[] = {0.5f,           0.166666672f, 0.0416666679f, 0.00833314098f,
                                  0.00138885435f, 0.0001997402f, 2.49702553e-05f};  // |x| <= 0.5
    const V near = x + x * x * polynomial(x, c);
    return abs(x) <= 0.5f ? near : exp(x) - 1.0f;
  }
}

template <class V>
inline V log(V x) {
  if constexpr (!single<V>) {
    return each(x, [](auto v) { return std::log(v); });
  } else {
    static constexpr float c[] = {0.333333105f,  -0.249999866f, 0.200022265f,  -0.16669251f, 0.142186582f,
                                  -0.123843484f, 0.118729763f,  -0.117898077f, 0.0691536814f};  // [2^-1/2, 2^1/2] - 1
    const float infinity = std::numeric_limits<float>::infinity();
    const V small = x < 1.17549435e-38f ? V{} + 1.0f : V{};  // below the normal range: scale up by 2^23
    const V y = small != V{} ? x * 8388608.0f : x;
    const mask32 bits = (mask32)y;
    const mask32 exponent = (bits - 0x3f3504f3) >> 23;  // so that the mantissa lies in [2^-1/2, 2^1/2)
    const V f = (V)(bits - (exponent << 23)) - 1.0f;
    const V e = __builtin_convertvector(exponent, V) - small * 23.0f;
    const V r = f * f * f * polynomial(f, c) + e * -2.12194440e-4f - f * f * 0.5f;
    V value = (r + f) + e * 0.693359375f;
    value = x == V{} + infinity ? x : value;
    value = x == V{} ? V{} - infinity : value;
    return x >= V{} ? value : V{} + std::numeric_limits<float>::quiet_NaN();
  }
}

template <class V>
inline V log2(V x) {
  if constexpr (!single<V>) return each(x, [](auto v) { return std::log2(v); });
  else return log(x) * 1.44269504f;
}

// log(1 + x) = log(u) x / (u - 1) with u = 1 + x rounded: the rounding error cancels.
template <class V>
inline V log1p(V x) {
  if constexpr (!single<V>) {
    return each(x, [](auto v) { return std::log1p(v); });
  } else {
    const V u = x + 1.0f;
    const V d = u - 1.0f;
    const V value = log(u) * (x / d);
    const V large = x > 1e30f ? log(x) : value;
    return d == V{} ? x : large;
  }
}

// The sign of y on the magnitude x.
template <class V>
inline V with_sign(V x, V y) {
  const mask32 sign = (mask32)y & int32_t(0x80000000);
  return (V)(((mask32)x & 0x7fffffff) | sign);
}

template <class V>
inline V tanh(V x) {
  if constexpr (!single<V>) {
    return each(x, [](auto v) { return std::tanh(v); });
  } else {
    static constexpr float c[] = {-0.333332777f, 0.133313283f, -0.0537292287f, 0.020601999f,
                                  -0.00566078024f};  // x^2 <= 0.4
    const V z = x * x;
    const V near = x + x * z * polynomial(z, c);
    const V t = abs(x) > 10.0f ? V{} + 10.0f : abs(x);
    const V far = with_sign(1.0f - 2.0f / (exp_within_80(t + t) + 1.0f), x);
    return t < 0.625f ? near : far;
  }
}

template <class V>
inline V erf(V x) {
  if constexpr (!single<V>) {
    return each(x, [](auto v) { return std::erf(v); });
  } else {
    static constexpr float near_c[] = {0.128379166f,   -0.376126319f,   0.112836741f,  -0.0268581863f,
                                       0.00519799162f, -0.000810808211f, 8.22398433e-05f};  // |x| <= 0.94
    static constexpr float far_c[] = {-1.12846172f,    -0.636114836f,    -0.104121611f,
                                      0.0211864412f,   -0.00174433959f,  -0.000541785266f,
                                      0.000225685086f, -3.55522425e-05f, 2.22308358e-06f};  // 0.92 <= |x| <= 4
    const V near = x + x * polynomial(x * x, near_c);
    const V t = abs(x) > 4.0f ? V{} + 4.0f : abs(x);
    const V far = with_sign(1.0f - exp_within_80(t * polynomial(t, far_c)), x);
    return t < 0.93f ? near : far;
  }
}
}  // namespace mu

#include "mu/activations.h"
