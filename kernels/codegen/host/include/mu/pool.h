// Pooling: out[n, c, o...] = body(largest element or mean of x[n, c, o * stride - padding + k * dilation ...]).
//
// Maxima and sums are taken one dimension after the other. For a piece of a row of results, the rows of x that its
// windows reach over are first combined, element by element, into one row of the computing type whose borders hold the
// neutral element; then windows slide along that row. x and the result are both row-major, where vectors run along the
// last dimension, or both channels-last, where they run along the channels.
#pragma once

#include <algorithm>

#include "mu/math.h"
#include "mu/team.h"

namespace mu {

// Elements of the row that a thread keeps: small enough for the nearest cache but one, and for a stack.
constexpr int64_t pool_row = 8192;
// Channels that are worked on at once.
constexpr int64_t pool_channels = 512;
constexpr int64_t pool_elements_a_thread = 8192;

template <class Config, class Body>
class Pool {
  using C = typename Config::Compute;
  using V = vec<C>;
  using X = typename Config::X;
  using Out = typename Config::Out;
  static constexpr int dims = Config::dims, n = lanes<C>, last = dims - 1;
  static constexpr int64_t step = Config::stride[last], hole = Config::dilation[last], taps = Config::kernel[last];
  // Elements that a window reaches over, along the last dimension.
  static constexpr int64_t reach = hole * (taps - 1) + 1;

 public:
  Pool(int64_t batch, int64_t channels, const int64_t (&in)[dims], const int64_t (&out)[dims], const void* x,
       void* result, const Body& body)
      : batch_(batch), channels_(channels), in_(in), out_(out), x_(static_cast<const X*>(x)),
        result_(static_cast<Out*>(result)), body_(body) {}

  // `wanted_threads` 0: as many as pay. Returns 0.
  int run(int64_t wanted_threads) {
    // Channels-last, the channels are the innermost extent of every element of a row; else they are rows of their own.
    const int64_t inner = Config::channels_last ? channels_ : 1;
    const int64_t width = std::min(inner, std::max(int64_t(n), std::min(pool_channels, pool_row / reach / n * n)));
    const int64_t fits = pool_row / width - reach;
    const int64_t length = std::min(out_[last], fits < 0 ? 1 : fits / step + 1);
    const int64_t blocks = (inner + width - 1) / width, pieces_a_row = (out_[last] + length - 1) / length;
    int64_t rows = batch_ * (Config::channels_last ? 1 : channels_);
    for (int d = 0; d < last; ++d) rows *= out_[d];
    const int64_t pieces = rows * pieces_a_row * blocks;
    const int64_t paying = rows * out_[last] * inner / pool_elements_a_thread + 1;
    const int threads = thread_count(wanted_threads, wanted_threads > 0 || paying > pieces ? pieces : paying);
#pragma omp parallel num_threads(threads)
    {
      alignas(64) C row[pool_row];
      const Share mine = share(pieces, omp_get_thread_num(), omp_get_num_threads());
      for (int64_t piece = mine.begin; piece < mine.end; ++piece) {
        const int64_t block = piece % blocks, part = piece / blocks % pieces_a_row;
        Place place = locate(piece / blocks / pieces_a_row);
        place.first = part * length;
        place.end = std::min(place.first + length, out_[last]);
        place.channel = block * width;
        place.width = std::min(width, inner - place.channel);
        if (fits >= 0) {
          combine(place, row);
          slide(place, row);
        } else {
          one_by_one(place);
        }
      }
    }
    return 0;
  }

 private:
  // A piece of a row of results: its index, the row's start in the result, and the start of its plane of x.
  struct Place {
    int64_t at[Config::rank];
    Out* out;
    const X* plane;
    int64_t first, end, channel, width;
    C outside;  // how many elements a window has along all dimensions but the last
  };

  const int64_t batch_, channels_;
  const int64_t (&in_)[dims];
  const int64_t (&out_)[dims];
  const X* const x_;
  Out* const result_;
  const Body& body_;

  static constexpr C neutral() { return Config::largest ? -std::numeric_limits<C>::infinity() : C(0); }
  static V join(V a, V b) {
    if constexpr (Config::largest) return max(a, b);
    else return a + b;
  }

  // Where the spatial index of dimension d stands in `at`.
  static constexpr int axis(int d) { return Config::channels_last ? 1 + d : 2 + d; }

  Place locate(int64_t row) const {
    Place place{};
    place.out = result_ + row * out_[last] * (Config::channels_last ? channels_ : 1);
    place.outside = C(1);
    int64_t rest = row, size = 1;
    for (int d = last - 1; d >= 0; --d) {
      place.at[axis(d)] = rest % out_[d];
      rest /= out_[d];
      place.outside *= C(counted(d, place.at[axis(d)]));
    }
    for (int d = 0; d < dims; ++d) size *= in_[d];
    place.plane = x_ + rest * size * (Config::channels_last ? channels_ : 1);
    place.at[0] = Config::channels_last ? rest : rest / channels_;
    if (!Config::channels_last) place.at[1] = rest % channels_;
    return place;
  }

  // The divisor's share of dimension d for the window at `o`, as torch counts it.
  int64_t counted(int d, int64_t o) const {
    const int64_t begin = o * Config::stride[d] - Config::padding[d];
    const int64_t end = std::min(begin + Config::kernel[d], in_[d] + Config::padding[d]);
    return Config::counts_border ? end - begin : std::min(end, in_[d]) - std::max(begin, int64_t(0));
  }

  // Calls use(pointer to a row of x, its number) for every row that the windows at `at` reach over.
  template <int d = 0, class Use>
  void each_row(const Place& place, const X* from, Use use) const {
    if constexpr (d == last) {
      use(from);
    } else {
      int64_t size = Config::channels_last ? channels_ : 1;
      for (int e = d + 1; e < dims; ++e) size *= in_[e];
      for (int64_t k = 0; k < Config::kernel[d]; ++k) {
        const int64_t i = place.at[axis(d)] * Config::stride[d] - Config::padding[d] + k * Config::dilation[d];
        if (i >= 0 && i < in_[d]) each_row<d + 1>(place, from + i * size, use);
      }
    }
  }

  // row[p * width + c] for the p-th element of x from the first window's first on, over all other dimensions.
  void combine(const Place& place, C* row) const {
    const int64_t span = (place.end - place.first - 1) * step + reach, width = place.width;
    const int64_t start = place.first * step - Config::padding[last];
    const int64_t low = std::clamp(-start, int64_t(0), span), high = std::clamp(in_[last] - start, low, span);
    bool empty = true;
    each_row(place, place.plane, [&](const X* from) {
      if (!Config::channels_last || width == channels_) {
        add(from + (start + low) * (Config::channels_last ? channels_ : 1), row + low * width, (high - low) * width, empty);
      } else {
        for (int64_t p = low; p < high; ++p) add(from + (start + p) * channels_ + place.channel, row + p * width, width, empty);
      }
      empty = false;
    });
    std::fill(row, row + (empty ? span : low) * width, neutral());
    std::fill(row + high * width, row + span * width, neutral());
  }

  static void add(const X* from, C* to, int64_t count, bool empty) {
    int64_t j = 0;
    for (; j + n <= count; j += n) {
      const V value = load<C>(from + j, Whole{});
      store<C>(to + j, empty ? value : join(load<C>(to + j, Whole{}), value), Whole{});
    }
    if (j == count) return;
    const Part part{int(count - j)};
    const V value = load<C>(from + j, part);
    store<C>(to + j, empty ? value : join(load<C>(to + j, part), value), part);
  }

  void slide(Place& place, const C* row) const {
    int64_t& o = place.at[axis(last)];
    if constexpr (Config::channels_last) {
      for (o = place.first; o < place.end; ++o) {
        const C* from = row + (o - place.first) * step * place.width;
        const V divisor = splat(place.outside * C(counted(last, o)));
        Out* out = place.out + o * channels_ + place.channel;
        for (int64_t j = 0; j < place.width; j += n) {
          place.at[Config::rank - 1] = place.channel + j;
          const auto window = [&](auto extent) {
            V value = load<C>(from + j, extent);
            for (int64_t k = 1; k < taps; ++k) value = join(value, load<C>(from + k * hole * place.width + j, extent));
            finish(place, value, divisor, out + j, extent);
          };
          if (j + n <= place.width) window(Whole{});
          else window(Part{int(place.width - j)});
        }
      }
    } else {
      for (o = place.first; o < place.end; o += n) {
        const auto windows = [&](auto extent) {
          V value = along(row + (o - place.first) * step, extent);
          for (int64_t k = 1; k < taps; ++k) {
            value = join(value, along(row + (o - place.first) * step + k * hole, extent));
          }
          finish(place, value, divisors(place, o), place.out + o, extent);
        };
        if (o + n <= place.end) windows(Whole{});
        else windows(Part{int(place.end - o)});
      }
    }
  }

  template <class Extent>
  static V along(const C* from, Extent extent) {
    if constexpr (step == 1) return load<C>(from, extent);
    else return gather<C>(from, step, extent);
  }

  V divisors(const Place& place, int64_t o) const {
    V divisor = splat(place.outside * C(taps));
    if constexpr (!Config::largest) {
      // In the middle of a row all windows count alike.
      const bool inside = o * step >= Config::padding[last] && (o + n - 1) * step - Config::padding[last] + taps <= in_[last];
      if (!inside) {
        for (int lane = 0; lane < n && o + lane < out_[last]; ++lane) {
          divisor[lane] = place.outside * C(counted(last, o + lane));
        }
      }
    }
    return divisor;
  }

  template <class Extent>
  void finish(const Place& place, V value, V divisor, Out* out, Extent extent) const {
    if constexpr (!Config::largest) value = value / divisor;
    store<C>(out, body_(value, place.at, extent), extent);
  }

  // Windows too wide for a row of the cache: one result after the other.
  void one_by_one(Place& place) const {
    int64_t& o = place.at[axis(last)];
    for (o = place.first; o < place.end; ++o) {
      for (int64_t c = 0; c < place.width; ++c) {
        const int64_t pitch = Config::channels_last ? channels_ : 1, start = o * step - Config::padding[last];
        if constexpr (Config::channels_last) place.at[Config::rank - 1] = place.channel + c;
        V value = splat(neutral());
        each_row(place, place.plane + place.channel + c, [&](const X* from) {
          for (int64_t k = 0; k < taps; ++k) {
            const int64_t i = start + k * hole;
            if (i >= 0 && i < in_[last]) value = join(value, splat(element<C>(from + i * pitch)));
          }
        });
        const V divisor = splat(place.outside * C(counted(last, o)));
        finish(place, value, divisor, place.out + o * pitch + place.channel + c, Part{1});
      }
    }
  }
};

}  // namespace mu
