// SIMD values of the host kernels: GCC vectors of one machine register, loads and stores that convert on the way.
//
// A kernel computes in float, double or int64_t ("C") and keeps its tensors in any element type ("S"). No mathematical
// functions here (math.h) and no intrinsics: the compiler picks the instructions for -march=native.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace mu {

#if defined(__AVX512F__)
constexpr int vector_bytes = 64;
#elif defined(__AVX__)
constexpr int vector_bytes = 32;
#else
constexpr int vector_bytes = 16;
#endif

using f16 = _Float16;
struct bf16 {
  uint16_t bits;
};
struct boolean {
  uint8_t byte;
};

template <class T, int N>
struct vector_of {
  typedef T type __attribute__((vector_size(sizeof(T) * N)));
};

template <class T, int N>
using array = typename vector_of<T, N>::type;

// How many values of the computing type C one register holds.
template <class C>
constexpr int lanes = vector_bytes / int(sizeof(C));

template <class C>
using vec = array<C, lanes<C>>;

// How much of a vector is there: all of it (known to the compiler), or the first `count` lanes at a tensor's edge.
struct Whole {};
struct Part {
  int count;
};

template <class C>
inline vec<C> splat(C value) {
  return value - vec<C>{};  // x - 0 is x for every x; x + 0 is not (-0), and would be computed
}

// Vectors ---------------------------------------------------------------------------------------------------------

template <class C, class S>
inline vec<C> load(const S* from, Whole) {
  constexpr int n = lanes<C>;
  if constexpr (std::is_same_v<S, bf16>) {
    array<uint16_t, n> half;
    std::memcpy(&half, from, sizeof half);
    const array<uint32_t, n> bits = __builtin_convertvector(half, array<uint32_t, n>) << 16;
    return __builtin_convertvector((array<float, n>)bits, vec<C>);
  } else if constexpr (std::is_same_v<S, boolean>) {
    return load<C>(reinterpret_cast<const uint8_t*>(from), Whole{});
  } else {
    array<S, n> stored;
    std::memcpy(&stored, from, sizeof stored);
    return __builtin_convertvector(stored, vec<C>);
  }
}

template <class C, class S>
inline vec<C> load(const S* from, Part part) {
  S edge[lanes<C>] = {};
  std::memcpy(edge, from, sizeof(S) * size_t(part.count));
  return load<C>(edge, Whole{});
}

// Lanes that are `stride` elements apart.
template <class C, class S, class Extent>
inline vec<C> gather(const S* from, int64_t stride, Extent extent) {
  S edge[lanes<C>] = {};
  int count = lanes<C>;
  if constexpr (std::is_same_v<Extent, Part>) count = extent.count;
  for (int lane = 0; lane < count; ++lane) edge[lane] = from[lane * stride];
  return load<C>(edge, Whole{});
}

// float -> bfloat16, to nearest even; every NaN becomes the quiet one.
template <int n>
inline array<uint16_t, n> round_to_bf16(array<float, n> value) {
  const array<uint32_t, n> bits = (array<uint32_t, n>)value;
  const array<uint32_t, n> rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const array<uint32_t, n> nan = rounded * 0u + 0x7fc0u;
  return __builtin_convertvector(value == value ? rounded : nan, array<uint16_t, n>);
}

template <class C, class S>
inline void store(S* to, vec<C> value, Whole) {
  constexpr int n = lanes<C>;
  if constexpr (std::is_same_v<S, C>) {
    std::memcpy(to, &value, sizeof value);
  } else if constexpr (std::is_same_v<S, bf16>) {
    const array<uint16_t, n> half = round_to_bf16<n>(__builtin_convertvector(value, array<float, n>));
    std::memcpy(to, &half, sizeof half);
  } else if constexpr (std::is_same_v<S, boolean>) {
    const array<C, n> one = splat(C(1));
    store<C>(reinterpret_cast<uint8_t*>(to), value != 0 ? one : one - one, Whole{});
  } else if constexpr (std::is_integral_v<S> && sizeof(S) < 4) {
    // Through 32 bits, so that a negative number wraps in an unsigned result as it does in torch.
    const array<S, n> stored = __builtin_convertvector(__builtin_convertvector(value, array<int32_t, n>), array<S, n>);
    std::memcpy(to, &stored, sizeof stored);
  } else {
    const array<S, n> stored = __builtin_convertvector(value, array<S, n>);
    std::memcpy(to, &stored, sizeof stored);
  }
}

template <class C, class S>
inline void store(S* to, vec<C> value, Part part) {
  S edge[lanes<C>];
  store<C>(edge, value, Whole{});
  std::memcpy(to, edge, sizeof(S) * size_t(part.count));
}

// Single elements -------------------------------------------------------------------------------------------------

template <class C, class S>
inline C element(const S* from) {
  if constexpr (std::is_same_v<S, bf16>) {
    const uint32_t bits = uint32_t(from->bits) << 16;
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return C(value);
  } else if constexpr (std::is_same_v<S, boolean>) {
    return C(from->byte != 0);
  } else {
    return C(*from);
  }
}

}  // namespace mu
