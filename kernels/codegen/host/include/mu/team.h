// The threads of one kernel: how many there are, and a barrier for those that share a packed block.
#pragma once

#include <omp.h>
#include <sched.h>

#include <atomic>
#include <cstdint>

namespace mu {

// Most threads a kernel ever takes; the code generator sizes the workspace for as many.
constexpr int max_threads = 64;

// `wanted` threads, or (0) as many as the process may use; never more than there are pieces of work.
inline int thread_count(int64_t wanted, int64_t pieces) {
  int64_t count = wanted > 0 ? wanted : omp_get_max_threads();
  if (count > max_threads) count = max_threads;
  if (count > pieces) count = pieces;
  return int(count < 1 ? 1 : count);
}

// The half-open piece `index` of `total` things shared by `count`, sizes differing by one at most.
struct Share {
  int64_t begin, end;
};
inline Share share(int64_t total, int64_t index, int64_t count) {
  return {total * index / count, total * (index + 1) / count};
}

// All `size` threads of a team wait for each other. Threads that have no core to spin on yield it.
class alignas(64) Barrier {
 public:
  void wait(int size) {
    if (size == 1) return;
    const int generation = generation_.load(std::memory_order_acquire);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == size) {
      arrived_.store(0, std::memory_order_relaxed);
      generation_.store(generation + 1, std::memory_order_release);
      return;
    }
    for (int spins = 0; generation_.load(std::memory_order_acquire) == generation; ++spins) {
      if (spins > 2000) sched_yield();
#if defined(__x86_64__)
      else __builtin_ia32_pause();
#endif
    }
  }

 private:
  std::atomic<int> arrived_{0};
  std::atomic<int> generation_{0};
};

}  // namespace mu
