// A convolution's sizes and tensors, and the copy of the input that a block of results reads.
//
// The copy is padded with zeros, converted to the computing type and laid out in slots (window.h): for each tap along d,
// each slot of h and of w a plane of rows, `pitch` elements apart. For a row-major result it has one such set of planes a
// channel; for a channels-last one the channels lie innermost.
#pragma once

#include "mu/pack.h"
#include "mu/window.h"

namespace mu {

struct ConvBlock;

// Channels and filters are those of one group. A block is `rows` x `columns` steps, and sums `depth` channels at once.
struct ConvSize {
  int64_t batch, groups, channels, filters;
  Axis axis[3];
  int64_t rows, columns, depth;
};

// x[batch, groups * channels, d, h, w] with its strides in elements.
template <class T>
struct ConvView {
  const T* data;
  int64_t batch, channel, at[3];
};

// The weight as [groups, filters, channels, d, h, w] with its strides in elements, whichever way it is stored.
template <class T>
struct ConvWeight {
  const T* data;
  int64_t group, filter, channel, at[3];
};

template <class Config>
class ConvInput {
  using C = typename Config::Compute;
  using X = typename Config::X;
  using Round = typename Config::Round;

 public:
  using D = Window<Config::kernel_d, Config::stride_d, Config::transposed>;
  using H = Window<Config::kernel_h, Config::stride_h, Config::transposed>;
  using W = Window<Config::kernel_w, Config::stride_w, Config::transposed>;

  const D d;
  const H h;
  const W w;
  // Elements from one row of a slot to the next, in a slot's plane, and of all planes of a channel.
  const int64_t pitch, slot, plane;

  ConvInput(const ConvSize& size, const ConvView<X>& x)
      : d(size.axis[0]), h(size.axis[1]), w(size.axis[2]), pitch(size.columns + w.reach),
        slot((size.rows + h.reach) * pitch), plane(Config::kernel_d * h.slots * w.slots * slot), x_(x),
        channels_(size.channels), depth_(size.depth) {}

  // Where the element that a tap reads for the block's first step lies in the buffer.
  int64_t offset(int64_t c, int tap_d, int tap_h, int tap_w) const {
    const int64_t at = plane_of(tap_d, h.slot[tap_h], w.slot[tap_w]) + h.shift[tap_h] * pitch + w.shift[tap_w];
    return Config::channels_last ? at * depth_ + c : c * plane + at;
  }

  // Channels c to c + count - 1 of the group, as far as the block reads them.
  template <class Block>
  void read(const Block& at, int64_t c, int64_t count, C* buffer) const {
    const X* from = x_.data + at.image * x_.batch + (at.group * channels_ + c) * x_.channel;
    if constexpr (Config::channels_last) {
      read_planes(at, from, count, buffer);
    } else {
      for (int64_t i = 0; i < count; ++i) read_planes(at, from + i * x_.channel, 1, buffer + i * plane);
    }
  }

 private:
  const ConvView<X> x_;
  const int64_t channels_, depth_;

  int64_t plane_of(int tap_d, int slot_h, int slot_w) const {
    return ((tap_d * h.slots + slot_h) * w.slots + slot_w) * slot;
  }

  template <class Block>
  void read_planes(const Block& at, const X* from, int64_t count, C* buffer) const {
    constexpr bool last = Config::channels_last;
    const int64_t columns = at.columns + w.reach;
    for (int tap = 0; tap < Config::kernel_d; ++tap) {
      const int64_t z = d.source(at.j[0] + d.shift[tap], d.slot[tap]);
      for (int slot_h = 0; slot_h < h.slots; ++slot_h) {
        for (int64_t i = 0; i < at.rows + h.reach; ++i) {
          const int64_t y = h.source(at.j[1] + i, slot_h);
          const bool inside = z >= 0 && z < d.axis.input && y >= 0 && y < h.axis.input;
          for (int slot_w = 0; slot_w < w.slots; ++slot_w) {
            const X* row = from + z * x_.at[0] + y * x_.at[1];
            const int64_t to = plane_of(tap, slot_h, slot_w) + i * pitch;
            if constexpr (last) read_pixels(row, at.j[2], columns, count, slot_w, inside, buffer + to * depth_);
            else read_row(row, at.j[2], columns, slot_w, inside, buffer + to);
          }
        }
      }
    }
  }

  // The places of a slot, from `first` on, that lie inside the input: begin to end - 1 of `count`.
  struct Inside {
    int64_t begin, end;
  };
  Inside inside_of(int64_t first, int64_t count, int of_slot, bool inside) const {
    const int64_t begin = w.place(0, of_slot) - first, end = w.place(w.axis.input, of_slot) - first;
    const int64_t from = begin < 0 ? 0 : begin > count ? count : begin;
    const int64_t to = end < from ? from : end > count ? count : end;
    return inside ? Inside{from, to} : Inside{count, count};
  }

  void read_row(const X* from, int64_t first, int64_t count, int of_slot, bool inside, C* to) const {
    const Inside part = inside_of(first, count, of_slot, inside);
    for (int64_t j = 0; j < part.begin; ++j) to[j] = C(0);
    if (part.begin < part.end) {
      copy(from + w.source(first + part.begin, of_slot) * x_.at[2], W::step * x_.at[2], part.end - part.begin,
           to + part.begin);
    }
    for (int64_t j = part.end; j < count; ++j) to[j] = C(0);
  }

  void read_pixels(const X* from, int64_t first, int64_t count, int64_t channels, int of_slot, bool inside,
                   C* to) const {
    const Inside part = inside_of(first, count, of_slot, inside);
    for (int64_t j = 0; j < count; ++j, to += depth_) {
      if (j >= part.begin && j < part.end) {
        copy(from + w.source(first + j, of_slot) * x_.at[2], x_.channel, channels, to);
      } else {
        for (int64_t c = 0; c < channels; ++c) to[c] = C(0);
      }
    }
  }

  static void copy(const X* from, int64_t stride, int64_t count, C* to) {
    constexpr int n = lanes<C>;
    if (stride != 1) {
      for (int64_t j = 0; j < count; ++j) to[j] = rounded_element<C, Round>(from + j * stride);
    } else if (count < n) {
      for (int64_t j = 0; j < count; ++j) to[j] = rounded_element<C, Round>(from + j);
    } else {
      for (int64_t j = 0; j + n <= count; j += n) copy_vector(from + j, to + j);
      // The last vector overlaps the one before it where the count is no multiple.
      if (count % n) copy_vector(from + count - n, to + count - n);
    }
  }

  static void copy_vector(const X* from, C* to) { store<C>(to, Round::apply(load<C>(from, Whole{})), Whole{}); }
};

}  // namespace mu
