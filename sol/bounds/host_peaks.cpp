// Measures what this machine can do at most: multiply-add rates from registers, copy and read rates from memory
// and from the second-level cache. Prints one "name value" pair a line, rates per second and sizes in bytes.
//
// Usage: host_peaks BUFFER_BYTES L2_BYTES SECONDS_PER_PEAK
//
// Every rate is the best of many short trials in which all threads start together, so that a neighbour's time slice
// spoils one trial and not the result. It measures peaks and nothing else: no kernel of ours runs here.

#include <omp.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Runs `work(thread)` on every thread at once until the time is up; gives the best sum of the threads' own rates.
// `work` returns how much it did.
template <typename Work>
double best_rate(double seconds, Work work) {
  const int threads = omp_get_max_threads();
  std::vector<double> rates(threads);
  double best = 0;
  const auto start = Clock::now();
  int trial = 0;
  do {
#pragma omp parallel num_threads(threads)
    {
      const int thread = omp_get_thread_num();
#pragma omp barrier
      const auto began = Clock::now();
      const double amount = work(thread);
      rates[thread] = amount / seconds_since(began);
    }
    double sum = 0;
    for (double rate : rates) sum += rate;
    if (trial > 0) best = std::max(best, sum);  // the first trial wakes clocks and wide units
  } while (++trial < 4 || seconds_since(start) < seconds);
  return best;
}

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

// Hides where a value comes from: the compiler may neither fold a chain nor merge two of them.
template <typename Vector>
inline void hide(Vector& value) {
#if defined(__AVX512F__)
  asm volatile("" : "+v"(value));
#elif defined(__x86_64__)
  asm volatile("" : "+x"(value));
#else
  asm volatile("" : "+w"(value));
#endif
}

// Chains of multiply-adds that do not wait for each other: enough to fill two units of five cycles' latency, few
// enough to stay in sixteen registers beside the two constants.
template <typename Scalar>
double multiply_adds(int rounds) {
  typedef Scalar Vector __attribute__((vector_size(kVectorBytes)));
  constexpr int kChains = 12;
  Vector sums[kChains];
  Vector scale, shift;
  for (int lane = 0; lane < int(kVectorBytes / sizeof(Scalar)); ++lane) {
    scale[lane] = Scalar(0.5f);
    shift[lane] = Scalar(0.25f);
  }
  hide(scale);
  hide(shift);
#pragma GCC unroll 12
  for (int chain = 0; chain < kChains; ++chain) {
    sums[chain] = shift;
    hide(sums[chain]);
  }
  for (int round = 0; round < rounds; ++round) {
#pragma GCC unroll 12
    for (int chain = 0; chain < kChains; ++chain) sums[chain] = sums[chain] * scale + shift;
  }
#pragma GCC unroll 12
  for (int chain = 0; chain < kChains; ++chain) hide(sums[chain]);
  return 2.0 * rounds * kChains * (kVectorBytes / sizeof(Scalar));
}

#if defined(__AMX_BF16__) && defined(__AMX_TILE__)
constexpr int kRequestTiles = 0x1023;  // ARCH_REQ_XCOMP_PERM
constexpr int kTileData = 18;          // XFEATURE_XTILEDATA

bool tiles_allowed() { return syscall(SYS_arch_prctl, kRequestTiles, kTileData) == 0; }

struct alignas(64) TileConfiguration {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};

// Six accumulators of 16 × 16, each step 16 × 16 × 32 multiply-adds of bf16 into f32.
double tile_products(int rounds) {
  TileConfiguration configuration;
  for (int tile = 0; tile < 8; ++tile) {
    configuration.row_bytes[tile] = 64;
    configuration.rows[tile] = 16;
  }
  _tile_loadconfig(&configuration);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_zero(4);
  _tile_zero(5);
  _tile_zero(6);
  _tile_zero(7);
  for (int round = 0; round < rounds; ++round) {
    _tile_dpbf16ps(0, 6, 7);
    _tile_dpbf16ps(1, 6, 7);
    _tile_dpbf16ps(2, 6, 7);
    _tile_dpbf16ps(3, 6, 7);
    _tile_dpbf16ps(4, 6, 7);
    _tile_dpbf16ps(5, 6, 7);
  }
  _tile_release();
  return 6.0 * rounds * 2 * 16 * 16 * 32;
}
#endif

// Stores that go around the cache where the machine has them: a plain store first reads the line it will overwrite.
void copy_streaming(char* to, const char* from, size_t bytes) {
#if defined(__AVX512F__)
  for (size_t at = 0; at < bytes; at += 64)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + at),
                        _mm512_load_si512(reinterpret_cast<const __m512i*>(from + at)));
  _mm_sfence();
#elif defined(__AVX__)
  for (size_t at = 0; at < bytes; at += 32)
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to + at),
                        _mm256_load_si256(reinterpret_cast<const __m256i*>(from + at)));
  _mm_sfence();
#else
  memcpy(to, from, bytes);
#endif
}

void copy_plain(char* to, const char* from, size_t bytes) {
  typedef char Vector __attribute__((vector_size(kVectorBytes)));
  for (size_t at = 0; at < bytes; at += 4 * kVectorBytes)
#pragma GCC unroll 4
    for (int part = 0; part < 4; ++part)
      *reinterpret_cast<Vector*>(to + at + part * kVectorBytes) =
          *reinterpret_cast<const Vector*>(from + at + part * kVectorBytes);
  asm volatile("" ::: "memory");
}

void read_all(const char* from, size_t bytes) {
  typedef int64_t Vector __attribute__((vector_size(kVectorBytes)));
  Vector sums[4] = {};
  for (size_t at = 0; at < bytes; at += 4 * kVectorBytes)
#pragma GCC unroll 4
    for (int part = 0; part < 4; ++part)
      sums[part] ^= *reinterpret_cast<const Vector*>(from + at + part * kVectorBytes);
  asm volatile("" ::"x"(sums[0]), "x"(sums[1]), "x"(sums[2]), "x"(sums[3]) : "memory");
}

// Pages that are really there, touched by the thread that will use them, in one call: a fault each is slow.
char* fresh_pages(size_t bytes) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS;
  void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (pages == MAP_FAILED) exit(3);
#if defined(MADV_HUGEPAGE)
  madvise(pages, bytes, MADV_HUGEPAGE);
#endif
#if defined(MADV_POPULATE_WRITE)
  if (madvise(pages, bytes, MADV_POPULATE_WRITE) == 0) return static_cast<char*>(pages);
#endif
  memset(pages, 1, bytes);
  return static_cast<char*>(pages);
}

struct Buffers {
  std::vector<char*> from, to;
  size_t bytes;  // of each buffer of each thread

  explicit Buffers(size_t bytes_each) : from(omp_get_max_threads()), to(omp_get_max_threads()) {
    bytes = std::max<size_t>(bytes_each / 4096 * 4096, 4096);
#pragma omp parallel
    {
      const int thread = omp_get_thread_num();
      from[thread] = fresh_pages(bytes);
      to[thread] = fresh_pages(bytes);
    }
  }
  ~Buffers() {
    for (char* buffer : from) munmap(buffer, bytes);
    for (char* buffer : to) munmap(buffer, bytes);
  }
};

void print(const char* name, double value) { printf("%s %.6e\n", name, value); }

// Each trial walks its own piece of a large buffer, so that trials stay short and no piece is still in a cache.
template <typename Move>
double memory_rate(double seconds, const Buffers& buffers, size_t piece, double counted, Move move) {
  std::vector<size_t> next(buffers.from.size());
  return best_rate(seconds, [&](int thread) {
    const size_t at = next[thread];
    next[thread] = at + 2 * piece > buffers.bytes ? 0 : at + piece;
    move(buffers.to[thread] + at, buffers.from[thread] + at, piece);
    return counted * double(piece);
  });
}

template <typename Move>
double cache_rate(double seconds, const Buffers& buffers, double counted, Move move) {
  constexpr int kRepeats = 64;
  return best_rate(seconds, [&](int thread) {
    for (int repeat = 0; repeat < kRepeats; ++repeat) move(buffers.to[thread], buffers.from[thread], buffers.bytes);
    return counted * kRepeats * double(buffers.bytes);
  });
}

void measure_memory(size_t buffer_bytes, double seconds) {
  Buffers large(buffer_bytes / omp_get_max_threads());
  const size_t piece = std::min<size_t>(large.bytes, size_t(4) << 20);
  const double plain = memory_rate(seconds / 2, large, piece, 2, copy_plain);
  const double streaming = memory_rate(seconds / 2, large, piece, 2, copy_streaming);
  print("copy_bytes_s", std::max(plain, streaming));
  print("read_bytes_s", memory_rate(seconds / 2, large, piece, 1, [](char*, const char* from, size_t bytes) {
          read_all(from, bytes);
        }));
  print("buffer_bytes", 2.0 * double(large.bytes) * omp_get_max_threads());
}

void measure_cache(size_t l2_bytes, double seconds) {
  Buffers small(l2_bytes / 4);  // two of them: half of the cache
  print("cache_copy_bytes_s", cache_rate(seconds / 2, small, 2, copy_plain));
  print("cache_read_bytes_s", cache_rate(seconds / 2, small, 1, [](char*, const char* from, size_t bytes) {
          read_all(from, bytes);
        }));
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 4) return 2;
  const size_t buffer_bytes = strtoull(arguments[1], nullptr, 10);
  const size_t l2_bytes = strtoull(arguments[2], nullptr, 10);
  const double seconds = strtod(arguments[3], nullptr);
#if defined(__AMX_BF16__) && defined(__AMX_TILE__)
  const bool tiles = tiles_allowed();  // before any thread starts: the permission is inherited
#endif
  print("threads", omp_get_max_threads());
  print("vector_bytes", kVectorBytes);
  constexpr int kRounds = 400000;
  print("f32_flops", best_rate(seconds, [](int) { return multiply_adds<float>(kRounds); }));
  print("f64_flops", best_rate(seconds, [](int) { return multiply_adds<double>(kRounds); }));
#if defined(__AVX512FP16__)
  print("f16_flops", best_rate(seconds, [](int) { return multiply_adds<_Float16>(kRounds); }));
#endif
#if defined(__AMX_BF16__) && defined(__AMX_TILE__)
  if (tiles) print("bf16_flops", best_rate(seconds, [](int) { return tile_products(kRounds / 16); }));
#endif
  measure_cache(l2_bytes, seconds);
  measure_memory(buffer_bytes, seconds);
  return 0;
}
