// out[b] = epilogue(A[b] B[b]) on this machine's cores: cache blocking, packing, a register tile, any strides.
//
// The loops are Goto's: column blocks of tile_n, K blocks of tile_k, row blocks of tile_m; inside, register tiles of
// micro_m x micro_n. A packed block of B is shared by a group of threads, a packed block of A belongs to one thread.
// `split` cuts K; the pieces are summed, in a fixed order, by a last pass. The epilogue sees each register tile right
// after its last K block. What a Config must have is listed in the generated unit.
#pragma once

#include "mu/micro.h"
#include "mu/pack.h"
#include "mu/team.h"

namespace mu {

template <class Config, class Epilogue>
class Gemm {
  using C = typename Config::Compute;
  using Out = typename Config::Out;
  using Round = typename Config::Round;
  static constexpr int MR = Config::micro_m, NR = Config::micro_n;
  static constexpr int64_t slack = 64 / int64_t(sizeof(C));
  static constexpr bool reduces = reducing<Epilogue>;
  static constexpr bool in_out = std::is_same_v<C, Out> && Config::split == 1 && !reduces;
  static_assert(!reduces || (Config::split == 1 && Config::tile_m % MR == 0 && Config::tile_n % NR == 0));

 public:
  Gemm(Extents size_, View<typename Config::A> a_, View<typename Config::B> b_, void* out_, Epilogue epilogue_)
      : size(size_), a(a_), b(b_), out(static_cast<Out*>(out_)), epilogue(epilogue_) {}

  // `wanted_threads` 0: as many as the process may use. Returns 0.
  int run(void* workspace, int64_t wanted_threads) {
    const int64_t items = size.batch * Config::split;
    const int most = thread_count(wanted_threads, items * panels(size.m, MR) * panels(size.n, NR));
    lay_out(workspace, items, most);
#pragma omp parallel num_threads(most)
    {
      const int threads = omp_get_num_threads(), thread = omp_get_thread_num();
      const int groups = int(items < threads ? items : threads);
      Team team = team_of(thread, threads, groups);
      for (int64_t item = team.group; item < items; item += groups) multiply(item, team);
      if constexpr (Config::split > 1) {
#pragma omp barrier
        const Share rows = share(size.batch * size.m, thread, threads);
        for (int64_t row = rows.begin; row < rows.end; ++row) reduce(row);
      }
      if constexpr (reduces) {
#pragma omp barrier
        ended().combine(ends_, out, thread, threads);
      }
    }
    return 0;
  }

 private:
  struct Team {
    int group, rank, size, rank_m, size_m, rank_n, size_n;
    C* block_a;
    C* block_b;
    Barrier* barrier;
  };

  const Extents size;
  const View<typename Config::A> a;
  const View<typename Config::B> b;
  Out* const out;
  const Epilogue epilogue;
  Barrier barriers_[max_threads];
  C* partial_;
  C* ends_ = nullptr;  // partial results of an epilogue that reduces
  C* blocks_b_;
  C* blocks_a_;
  int64_t block_a_, block_b_;

  static int64_t panels(int64_t extent, int64_t width) { return (extent + width - 1) / width; }
  static int64_t padded(int64_t extent, int64_t width) { return panels(extent, width) * width; }
  static int64_t least(int64_t x, int64_t y) { return x < y ? x : y; }

  auto ended() const { return Partials<C, typename Epilogue::Reduce>(size.batch, size.m, size.n, MR, NR); }

  // The workspace: partial sums, partial results of an epilogue that reduces, a block of B a group, a block of A a
  // thread (workspace.py computes the same).
  void lay_out(void* workspace, int64_t items, int threads) {
    const int64_t depth = least(Config::tile_k, size.k);
    const bool sums = !in_out && (Config::split > 1 || size.k > Config::tile_k);
    partial_ = in_out ? reinterpret_cast<C*>(out) : aligned(workspace);
    C* next = aligned(workspace) + (sums ? padded(items * size.m * size.n, slack) : 0);
    if constexpr (reduces) {
      ends_ = next;
      next += padded(ended().elements(), slack);
    }
    block_b_ = Config::pack_b ? padded(padded(least(Config::tile_n, size.n), NR) * depth, slack) : 0;
    block_a_ = Config::pack_a ? padded(padded(least(Config::tile_m, size.m), MR) * depth, slack) : 0;
    blocks_b_ = next;
    blocks_a_ = next + block_b_ * least(items, threads);
  }

  static C* aligned(void* workspace) {
    return reinterpret_cast<C*>((reinterpret_cast<uintptr_t>(workspace) + 63) & ~uintptr_t(63));
  }

  // Threads of a group share rows and columns so that the largest piece has as few register tiles as can be.
  Team team_of(int thread, int threads, int groups) {
    Team team{};
    while (share(threads, team.group, groups).end <= thread) ++team.group;
    const Share members = share(threads, team.group, groups);
    team.rank = int(thread - members.begin);
    team.size = int(members.end - members.begin);
    const int64_t columns = panels(least(Config::tile_n, size.n), NR);
    int64_t best = INT64_MAX;
    for (int across = 1; across <= team.size; ++across) {
      if (team.size % across) continue;
      const int down = team.size / across;
      const int64_t work = panels(panels(size.m, MR), down) * panels(columns, across);
      if (work >= best) continue;
      best = work;
      team.size_m = down;
      team.size_n = across;
    }
    team.rank_m = team.rank / team.size_n;
    team.rank_n = team.rank % team.size_n;
    team.block_b = blocks_b_ + block_b_ * team.group;
    team.block_a = blocks_a_ + block_a_ * thread;
    team.barrier = &barriers_[team.group];
    return team;
  }

  void multiply(int64_t item, Team& team) {
    const int64_t batch = item / Config::split, piece = item % Config::split;
    const Share depth = share(size.k, piece, Config::split);
    const Share rows = share(panels(size.m, MR), team.rank_m, team.size_m);
    C* sums = partial_ + (in_out ? batch : item) * size.m * size.n;
    for (int64_t n = 0; n < size.n; n += Config::tile_n) {
      const int64_t width = least(Config::tile_n, size.n - n);
      const Share columns = share(panels(width, NR), team.rank_n, team.size_n);
      for (int64_t k = depth.begin; k < depth.end; k += Config::tile_k) {
        const Share block{k, least(k + Config::tile_k, depth.end)};
        const Pass pass{k == depth.begin, block.end == depth.end && Config::split == 1};
        if constexpr (Config::pack_b) {
          pack_b(batch, n, width, block, team);
          team.barrier->wait(team.size);
        }
        for (int64_t m = rows.begin * MR; m < least(rows.end * MR, size.m); m += Config::tile_m) {
          const Share down{m, least(least(m + Config::tile_m, rows.end * MR), size.m)};
          if constexpr (Config::pack_a) pack_a(batch, down, block, team);
          tiles(batch, down, n, width, columns, block, team, sums, pass);
        }
        if constexpr (Config::pack_b) team.barrier->wait(team.size);
      }
    }
  }

  void pack_b(int64_t batch, int64_t n, int64_t width, Share block, const Team& team) {
    const Share mine = share(panels(width, NR), team.rank, team.size);
    const int64_t depth = block.end - block.begin;
    for (int64_t panel = mine.begin; panel < mine.end; ++panel) {
      const int64_t first = panel * NR;
      pack<C, NR, Round>(team.block_b + first * depth, b.at(batch, block.begin, n + first), b.col, b.row,
                         int(least(NR, width - first)), depth);
    }
  }

  void pack_a(int64_t batch, Share down, Share block, const Team& team) {
    const int64_t depth = block.end - block.begin;
    for (int64_t m = down.begin; m < down.end; m += MR) {
      pack<C, MR, Round>(team.block_a + (m - down.begin) * depth, a.at(batch, m, block.begin), a.row, a.col,
                         int(least(MR, down.end - m)), depth);
    }
  }

  void tiles(int64_t batch, Share down, int64_t n, int64_t width, Share columns, Share block, const Team& team,
             C* sums, Pass pass) {
    const int64_t depth = block.end - block.begin;
    for (int64_t panel = columns.begin; panel < columns.end; ++panel) {
      const int64_t j = n + panel * NR;
      for (int64_t i = down.begin; i < down.end; i += MR) {
        Tile<Config> tile{};
        tile.batch = batch, tile.i = i, tile.j = j, tile.depth = depth, tile.pass = pass;
        tile.rows = int(least(MR, down.end - i)), tile.columns = int(least(NR, n + width - j));
        tile.a = a.at(batch, i, block.begin);
        tile.b = b.at(batch, block.begin, j);
        tile.a_row = a.row, tile.a_col = a.col, tile.b_row = b.row, tile.b_col = b.col;
        tile.panel_a = team.block_a + (i - down.begin) * depth;
        tile.panel_b = team.block_b + panel * NR * depth;
        tile.sums = sums + i * size.n + j;
        if constexpr (reduces) tile.partial = ended().at(ends_, batch, i, j);
        else tile.out = out + (batch * size.m + i) * size.n + j;
        tile.width = size.n;
        tile.run(epilogue);
      }
    }
  }

  void reduce(int64_t row) {
    const int64_t batch = row / size.m, i = row % size.m;
    const int64_t plane = size.m * size.n;
    const C* from = partial_ + batch * Config::split * plane + i * size.n;
    for (int64_t j = 0; j < size.n; j += lanes<C>) {
      if (size.n - j >= lanes<C>) reduce_lanes(from, plane, batch, i, j, Whole{});
      else reduce_lanes(from, plane, batch, i, j, Part{int(size.n - j)});
    }
  }

  template <class Extent>
  void reduce_lanes(const C* from, int64_t plane, int64_t batch, int64_t i, int64_t j, Extent extent) {
    vec<C> sum{};
    for (int piece = 0; piece < Config::split; ++piece) {
      const Share depth = share(size.k, piece, Config::split);
      // More pieces than K has elements: nobody has written the sums of an empty one.
      if (depth.begin < depth.end) sum += load<C>(from + piece * plane + j, extent);
    }
    store<C>(out + (batch * size.m + i) * size.n + j, epilogue(sum, batch, i, j, extent), extent);
  }
};

}  // namespace mu
