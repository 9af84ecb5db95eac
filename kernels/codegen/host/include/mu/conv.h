// out = epilogue(x convolved with w), and transposed, in one to three dimensions, with groups, from any strides.
//
// A thread takes a block of steps (window.h) of one image and group: it copies the input that the block reads into a
// buffer, padded and in slots, and multiplies it, tile after tile, with the packed weights. Channels are summed in blocks
// of `depth`. The epilogue sees the sums of a panel of filters right after its last channels. A row-major result has
// pixels along the vectors, rows of a block one behind the other with the elements between them computed for nothing;
// a channels-last one has filters there. Fewer than three dimensions are three with leading extents of one. What a
// Config must have is listed in the generated unit.
#pragma once

#include "mu/conv_input.h"
#include "mu/conv_micro.h"
#include "mu/math.h"
#include "mu/team.h"

namespace mu {

// A result's block: image, group, first steps and how many, panels of filters from `panel` to `panels` - 1.
struct ConvBlock {
  int64_t image, group, j[3], rows, columns, panel, panels;
};

template <class Config, class Epilogue>
class Convolution {
  using C = typename Config::Compute;
  using Out = typename Config::Out;
  using Input = ConvInput<Config>;
  static constexpr bool filters_last = Config::channels_last;
  static constexpr int panel_size = filters_last ? Config::micro_n : Config::micro_m;
  static constexpr int tile_size = filters_last ? Config::micro_m : Config::micro_n;
  static constexpr int vectors = Config::micro_n / lanes<C>;
  static constexpr int kernel = Config::kernel_d * Config::kernel_h * Config::kernel_w;
  static constexpr int phases_d = Input::D::phases, phases_h = Input::H::phases, phases_w = Input::W::phases;
  static constexpr int phases = phases_d * phases_h * phases_w;
  static constexpr int rank = Config::merged ? 4 : 5;
  static constexpr int64_t slack = 64 / int64_t(sizeof(C));
  static_assert(Config::micro_n % lanes<C> == 0, "the register tile is whole vectors wide");

 public:
  Convolution(const ConvSize& size_, const ConvView<typename Config::X>& x, const ConvWeight<typename Config::W>& w_,
              void* out_, const Epilogue& epilogue_)
      : size(size_), input(size_, x), w(w_), out(static_cast<Out*>(out_)), epilogue(epilogue_) {
    order_taps();
  }

  // `wanted_threads` 0: as many as the process may use. Returns 0.
  int run(void* workspace, int64_t wanted_threads) {
    const int64_t blocks = size.batch * size.groups * input.d.steps * pieces(input.h.steps, size.rows) *
                           pieces(input.w.steps, size.columns);
    const int most = thread_count(wanted_threads, blocks * input.h.steps * panels_);
    cut(blocks, most);
    lay_out(workspace);
#pragma omp parallel num_threads(most)
    {
      const int threads = omp_get_num_threads(), thread = omp_get_thread_num();
      C* const scratch = scratch_ + scratch_size_ * thread;
      const Share mine = share(size.groups * panels_, thread, threads);
      for (int64_t panel = mine.begin; panel < mine.end; ++panel) pack_panel(panel);
#pragma omp barrier
#pragma omp for schedule(dynamic)
      for (int64_t item = 0; item < items_; ++item) multiply(block(item), scratch);
    }
    return 0;
  }

 private:
  struct Tap {
    int d, h, w;
  };

  const ConvSize size;
  const Input input;
  const ConvWeight<typename Config::W> w;
  Out* const out;
  const Epilogue& epilogue;
  const int64_t panels_ = pieces(size.filters, panel_size);
  const int64_t width_ = padded((size.rows - 1) * input.pitch + size.columns, tile_size);
  const int64_t panel_sums_ = phases * panel_size * width_;
  // The kernel's taps, those of a phase side by side: phase p has begin_[p] to begin_[p + 1] - 1.
  Tap taps_[kernel];
  int64_t begin_[phases + 1];
  int64_t rows_, slices_, items_;
  int32_t* offsets_;
  C* weights_;
  C* scratch_;
  int64_t scratch_size_;

  static int64_t pieces(int64_t extent, int64_t width) { return (extent + width - 1) / width; }
  static int64_t padded(int64_t extent, int64_t width) { return pieces(extent, width) * width; }
  static int64_t least(int64_t x, int64_t y) { return x < y ? x : y; }

  void order_taps() {
    int64_t count = 0;
    for (int phase = 0; phase < phases; ++phase) {
      begin_[phase] = count;
      for (int d = 0; d < Config::kernel_d; ++d) {
        for (int h = 0; h < Config::kernel_h; ++h) {
          for (int x = 0; x < Config::kernel_w; ++x) {
            const int at = (input.d.phase[d] * phases_h + input.h.phase[h]) * phases_w + input.w.phase[x];
            if (at == phase) taps_[count++] = Tap{d, h, x};
          }
        }
      }
    }
    begin_[phases] = count;
  }

  // Fewer rows a block, then fewer filters, where there would be too little for each thread.
  void cut(int64_t blocks, int threads) {
    rows_ = least(size.rows, input.h.steps);
    const int64_t others = blocks / pieces(input.h.steps, size.rows);
    while (rows_ > 1 && others * pieces(input.h.steps, rows_) < 2 * threads && rows_ * size.columns > tile_size) {
      rows_ = (rows_ + 1) / 2;
    }
    items_ = others * pieces(input.h.steps, rows_);
    slices_ = items_ < threads ? least(panels_, pieces(threads, items_)) : 1;
    items_ *= slices_;
  }

  // The workspace: offsets, packed weights, then for each thread a buffer, sums and a row (conv_workspace.py computes
  // the same).
  void lay_out(void* workspace) {
    const uintptr_t aligned = (reinterpret_cast<uintptr_t>(workspace) + 63) & ~uintptr_t(63);
    offsets_ = reinterpret_cast<int32_t*>(aligned);
    weights_ = reinterpret_cast<C*>(aligned + size_t(padded(size.depth * kernel, 16)) * sizeof(int32_t));
    scratch_ = weights_ + padded(size.groups * panels_ * size.channels * kernel * panel_size, slack);
    const bool once = size.depth >= size.channels;
    scratch_size_ = padded(size.depth * input.plane + tile_size, slack) +
                    padded((once ? 1 : panels_) * panel_sums_, slack) + row_size();
    for (int phase = 0; phase < phases; ++phase) {
      const int64_t taps = begin_[phase + 1] - begin_[phase];
      int32_t* to = offsets_ + begin_[phase] * size.depth;
      for (int64_t c = 0; c < size.depth; ++c) {
        for (int64_t at = 0; at < taps; ++at) {
          const Tap tap = taps_[begin_[phase] + at];
          to[c * taps + at] = int32_t(input.offset(c, tap.d, tap.h, tap.w));
        }
      }
    }
  }

  int64_t row_size() const { return padded((size.columns + 1) * phases_w + slack, slack); }

  // Weights of a phase, a group and a panel: a row of panel_size filters for each channel and tap.
  C* panel_of(int phase, int64_t panel, int64_t channel) const {
    const int64_t taps = begin_[phase + 1] - begin_[phase];
    return weights_ + (begin_[phase] * size.groups * panels_ * size.channels + (panel * size.channels + channel) * taps) *
                          panel_size;
  }

  void pack_panel(int64_t panel) {
    const int64_t group = panel / panels_, first = panel % panels_ * panel_size;
    const int count = int(least(panel_size, size.filters - first));
    const auto* from = w.data + group * w.group + first * w.filter;
    const bool dense = w.at[2] == 1 && w.at[1] == Config::kernel_w && w.at[0] == Config::kernel_h * w.at[1] &&
                       w.channel == kernel;
    if (phases == 1 && dense) {
      pack<C, panel_size, typename Config::Round>(panel_of(0, panel, 0), from, w.filter, 1, count,
                                                  size.channels * kernel);
      return;
    }
    for (int phase = 0; phase < phases; ++phase) {
      C* to = panel_of(phase, panel, 0);
      for (int64_t c = 0; c < size.channels; ++c) {
        for (int64_t at = begin_[phase]; at < begin_[phase + 1]; ++at, to += panel_size) {
          const auto* tap = from + c * w.channel + taps_[at].d * w.at[0] + taps_[at].h * w.at[1] + taps_[at].w * w.at[2];
          pack<C, panel_size, typename Config::Round>(to, tap, w.filter, 0, count, 1);
        }
      }
    }
  }

  ConvBlock block(int64_t item) const {
    ConvBlock made{};
    const int64_t slice = item % slices_, columns = pieces(input.w.steps, size.columns);
    item /= slices_;
    const int64_t column = item % columns * size.columns;
    item /= columns;
    const int64_t rows = pieces(input.h.steps, rows_), row = item % rows * rows_;
    item /= rows;
    made.j[0] = input.d.begin + item % input.d.steps;
    item /= input.d.steps;
    made.group = item % size.groups;
    made.image = item / size.groups;
    made.j[1] = input.h.begin + row;
    made.j[2] = input.w.begin + column;
    made.rows = least(rows_, input.h.steps - row);
    made.columns = least(size.columns, input.w.steps - column);
    const Share part = share(panels_, slice, slices_);
    made.panel = part.begin;
    made.panels = part.end;
    return made;
  }

  void multiply(const ConvBlock& at, C* scratch) {
    C* const sums = scratch + padded(size.depth * input.plane + tile_size, slack);
    C* const row = scratch + scratch_size_ - row_size();
    for (int64_t c = 0; c < size.channels; c += size.depth) {
      const int64_t depth = least(size.depth, size.channels - c);
      input.read(at, c, depth, scratch);
      for (int64_t panel = at.panel; panel < at.panels; ++panel) {
        C* mine = sums + (size.depth < size.channels ? panel * panel_sums_ : 0);
        for (int phase = 0; phase < phases; ++phase) {
          const C* weights = panel_of(phase, at.group * panels_ + panel, c);
          tiles(at, phase, scratch, weights, depth * (begin_[phase + 1] - begin_[phase]),
                mine + phase * panel_size * width_, c == 0);
        }
        if (c + depth < size.channels) continue;
        if constexpr (filters_last) finish_pixels(at, panel, mine);
        else finish_rows(at, panel, mine, row);
      }
    }
  }

  void tiles(const ConvBlock& at, int phase, const C* buffer, const C* weights, int64_t depth, C* sums, bool first) const {
    const int32_t* offsets = offsets_ + begin_[phase] * size.depth;
    if constexpr (filters_last) {
      const int64_t count = at.rows * at.columns;
      for (int64_t i = 0; i < count; i += tile_size) {
        const C* pixel[tile_size];
        for (int r = 0; r < tile_size; ++r) {
          const int64_t p = least(i + r, count - 1);
          pixel[r] = buffer + (p / at.columns * input.pitch + p % at.columns) * size.depth;
        }
        filters_in_lanes<C, tile_size, vectors>(pixel, offsets, weights, depth, sums + i * panel_size, first);
      }
    } else {
      const int64_t count = (at.rows - 1) * input.pitch + at.columns;
      for (int64_t i = 0; i < count; i += tile_size) {
        pixels_in_lanes<C, panel_size, vectors>(buffer + i, offsets, weights, depth, sums + i, width_, first);
      }
    }
  }

  // The result's row of filter `k` that begins at `h`, `x`: `count` sums.
  void store_row(const C* sums, int64_t count, int64_t image, int64_t k, int64_t d, int64_t h, int64_t x) const {
    const int64_t along = h * input.w.axis.output + x;
    Out* to = out + ((image * size.groups * size.filters + k) * input.d.axis.output + d) * input.h.axis.output *
                        input.w.axis.output + along;
    int64_t at[rank];
    at[0] = image, at[1] = k, at[2] = d;
    if constexpr (!Config::merged) at[3] = h;
    const int64_t begin = Config::merged ? along : x;
    int64_t j = 0;
    for (; j + lanes<C> <= count; j += lanes<C>) {
      at[rank - 1] = begin + j;
      store<C>(to + j, epilogue(load<C>(sums + j, Whole{}), at, Whole{}), Whole{});
    }
    if (j < count) {
      at[rank - 1] = begin + j;
      const Part part{int(count - j)};
      store<C>(to + j, epilogue(load<C>(sums + j, Whole{}), at, part), part);
    }
  }

  void finish_rows(const ConvBlock& at, int64_t panel, C* sums, C* row) const {
    const int64_t first = panel * panel_size, count = least(panel_size, size.filters - first);
    for (int64_t f = 0; f < count; ++f) {
      const int64_t k = at.group * size.filters + first + f;
      for (int pd = 0; pd < phases_d; ++pd) {
        const int64_t d = input.d.result(at.j[0], pd);
        if (d < 0 || d >= input.d.axis.output) continue;
        if (Config::merged && phases_h * phases_w == 1 && at.columns == input.w.axis.output) {
          C* plane = sums + (pd * panel_size + f) * width_;
          close_up(plane, at.rows, at.columns);
          store_row(plane, at.rows * at.columns, at.image, k, d, input.h.result(at.j[1], 0), 0);
          continue;
        }
        for (int64_t i = 0; i < at.rows; ++i) {
          for (int ph = 0; ph < phases_h; ++ph) {
            const int64_t h = input.h.result(at.j[1] + i, ph);
            if (h < 0 || h >= input.h.axis.output) continue;
            const C* from = sums + ((pd * phases_h + ph) * phases_w * panel_size + f) * width_ + i * input.pitch;
            const int64_t begin = input.w.results_begin(at.j[2]), end = input.w.results_end(at.j[2], at.columns);
            store_row(interleaved(from, at, begin, end, row), end - begin, at.image, k, d, h, begin);
          }
        }
      }
    }
  }

  // Rows that lie `pitch` apart, moved together, each from its front to its end.
  void close_up(C* plane, int64_t rows, int64_t columns) const {
    if (columns == input.pitch) return;
    for (int64_t i = 1; i < rows; ++i) {
      const C* from = plane + i * input.pitch;
      C* to = plane + i * columns;
      if (columns < lanes<C>) {
        for (int64_t j = 0; j < columns; ++j) to[j] = from[j];
        continue;
      }
      // The last vector overlaps the one before it, and is read before that is written.
      const vec<C> end = load<C>(from + columns - lanes<C>, Whole{});
      for (int64_t j = 0; j + lanes<C> <= columns; j += lanes<C>) store<C>(to + j, load<C>(from + j, Whole{}), Whole{});
      store<C>(to + columns - lanes<C>, end, Whole{});
    }
  }

  // One row of results of all phases of a row of steps, from `begin` to `end` - 1.
  const C* interleaved(const C* from, const ConvBlock& at, int64_t begin, int64_t end, C* row) const {
    if constexpr (phases_w == 1) return from;
    for (int phase = 0; phase < phases_w; ++phase, from += panel_size * width_) {
      const int64_t first = input.w.result(at.j[2], phase);
      for (int64_t j = first < begin ? 1 : 0; first + j * phases_w < end; ++j) row[first + j * phases_w - begin] = from[j];
    }
    return row;
  }

  void finish_pixels(const ConvBlock& at, int64_t panel, const C* sums) const {
    for (int phase = 0; phase < phases; ++phase, sums += panel_size * width_) {
      const int64_t d = input.d.result(at.j[0], phase / (phases_h * phases_w));
      if (d < 0 || d >= input.d.axis.output) continue;
      for (int64_t i = 0; i < at.rows; ++i) {
        const int64_t h = input.h.result(at.j[1] + i, phase / phases_w % phases_h);
        if (h < 0 || h >= input.h.axis.output) continue;
        for (int64_t j = 0; j < at.columns; ++j) {
          const int64_t x = input.w.result(at.j[2] + j, phase % phases_w);
          if (x < 0 || x >= input.w.axis.output) continue;
          store_pixel(sums + (i * at.columns + j) * panel_size, at, panel, d, h, x);
        }
      }
    }
  }

  void store_pixel(const C* sums, const ConvBlock& block, int64_t panel, int64_t d, int64_t h, int64_t x) const {
    const int64_t first = panel * panel_size, count = least(panel_size, size.filters - first);
    const int64_t k = block.group * size.filters + first;
    const int64_t pixel =
        ((block.image * input.d.axis.output + d) * input.h.axis.output + h) * input.w.axis.output + x;
    Out* to = out + pixel * size.groups * size.filters + k;
    int64_t at[5] = {block.image, d, h, x, k};
    for (int64_t j = 0; j < count; j += lanes<C>, at[4] += lanes<C>) {
      const vec<C> sum = load<C>(sums + j, Whole{});
      if (count - j >= lanes<C>) {
        store<C>(to + j, epilogue(sum, at, Whole{}), Whole{});
      } else {
        const Part part{int(count - j)};
        store<C>(to + j, epilogue(sum, at, part), part);
      }
    }
  }
};

}  // namespace mu
