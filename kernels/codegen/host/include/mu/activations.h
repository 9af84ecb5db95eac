// Activations of torch.nn.functional and the functions built from math.h; default parameters are torch's.
#pragma once

#include "mu/math.h"

namespace mu {

template <class V>
inline V erfc(V x) {
  return each(x, [](auto v) { return std::erfc(v); });
}

// Sine and cosine: Cody-Waite reduction to |r| <= pi/4, beyond |x| = 10^4 the C library.
template <class V>
inline V sine_of_quadrant(V x, int shift) {
  static constexpr float s[] = {-0.166666672f, 0.00833332911f, -0.000198393158f, 2.718122e-06f};
  static constexpr float c[] = {0.0416666679f, -0.00138888834f, 2.47994994e-05f, -2.72084776e-07f};
  const V n = nearest(x * 0.636619772f);
  const V r = ((x - n * 1.5703125f) - n * 4.83751297e-4f) - n * 7.54978995e-8f;
  const V z = r * r;
  const V sine = r + r * z * polynomial(z, s);
  const V cosine = 1.0f - z * 0.5f + z * z * polynomial(z, c);
  const mask32 quadrant = __builtin_convertvector(n, mask32) + shift;
  const V value = (quadrant & 1) != 0 ? cosine : sine;
  return (quadrant & 2) != 0 ? -value : value;
}

template <class V, class F>
inline V sine(V x, int shift, F library) {
  if constexpr (single<V>) {
    bool far = false;
    for (int lane = 0; lane < lanes<float>; ++lane) far |= !(std::fabs(x[lane]) < 1e4f);
    if (!far) return sine_of_quadrant(x, shift);
  }
  return each(x, library);
}
template <class V>
inline V sin(V x) {
  return sine(x, 0, [](auto v) { return std::sin(v); });
}
template <class V>
inline V cos(V x) {
  return sine(x, 1, [](auto v) { return std::cos(v); });
}
template <class V>
inline V tan(V x) {
  return each(x, [](auto v) { return std::tan(v); });
}
template <class V>
inline V pow(V x, V y) {
  for (int lane = 0; lane < int(sizeof(V) / sizeof(x[0])); ++lane) x[lane] = std::pow(x[lane], y[lane]);
  return x;
}

template <class V>
inline V relu(V x) {
  return x < V{} ? V{} : x;
}
template <class V>
inline V relu6(V x) {
  return clamp(x, V{}, constant<V>(6));
}
template <class V>
inline V sigmoid(V x) {
  return constant<V>(1) / (exp(-x) + constant<V>(1));
}
template <class V>
inline V silu(V x) {
  return x / (exp(-x) + constant<V>(1));
}
template <class V>
inline V gelu(V x) {
  return x * constant<V>(0.5) * (erf(x * constant<V>(0.70710678118654752)) + constant<V>(1));
}
template <class V>
inline V gelu_tanh(V x) {
  const V inner = constant<V>(0.79788456080286536) * (x + constant<V>(0.044715) * x * x * x);
  return x * constant<V>(0.5) * (tanh(inner) + constant<V>(1));
}
template <class V>
inline V softplus(V x, V beta, V threshold) {
  return x * beta > threshold ? x : log1p(exp(x * beta)) / beta;
}
template <class V>
inline V softplus(V x) {
  return softplus(x, constant<V>(1), constant<V>(20));
}
template <class V>
inline V mish(V x) {
  return x * tanh(softplus(x));
}
template <class V>
inline V elu(V x, V alpha) {
  return x > V{} ? x : alpha * expm1(x);
}
template <class V>
inline V elu(V x) {
  return elu(x, constant<V>(1));
}
template <class V>
inline V celu(V x, V alpha) {
  return x > V{} ? x : alpha * expm1(x / alpha);
}
template <class V>
inline V celu(V x) {
  return celu(x, constant<V>(1));
}
template <class V>
inline V selu(V x) {
  const V scale = constant<V>(1.0507009873554804934), alpha = constant<V>(1.6732632423543772848);
  return scale * (x > V{} ? x : alpha * expm1(x));
}
template <class V>
inline V leaky_relu(V x, V slope) {
  return x > V{} ? x : x * slope;
}
template <class V>
inline V leaky_relu(V x) {
  return leaky_relu(x, constant<V>(0.01));
}
template <class V>
inline V hardtanh(V x, V low, V high) {
  return clamp(x, low, high);
}
template <class V>
inline V hardtanh(V x) {
  return clamp(x, constant<V>(-1), constant<V>(1));
}
template <class V>
inline V hardsigmoid(V x) {
  return clamp(x + constant<V>(3), V{}, constant<V>(6)) / constant<V>(6);
}
template <class V>
inline V hardswish(V x) {
  return x * hardsigmoid(x);
}
// min(x, 0) - log(1 + exp(-|x|)) does not overflow.
template <class V>
inline V logsigmoid(V x) {
  return min(x, V{}) - log1p(exp(-abs(x)));
}
template <class V>
inline V softsign(V x) {
  return x / (abs(x) + constant<V>(1));
}
template <class V>
inline V tanhshrink(V x) {
  return x - tanh(x);
}
template <class V>
inline V hardshrink(V x, V lambda) {
  return abs(x) <= lambda ? V{} : x;
}
template <class V>
inline V threshold(V x, V limit, V value) {
  return x <= limit ? value : x;
}

}  // namespace mu
