#include "tests/bench/machine/read_limit.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <iterator>

#include "tests/bench/machine/workers.h"

namespace sotto::bench {
namespace {

constexpr size_t kPartAlignment = 4096;
constexpr size_t kPrefetchDistance = 2048;

struct Bytes16 {
  typedef uint64_t Type __attribute__((vector_size(16), may_alias));
};
struct Bytes32 {
  typedef uint64_t Type __attribute__((vector_size(32), may_alias));
};
struct Bytes64 {
  typedef uint64_t Type __attribute__((vector_size(64), may_alias));
};

// Reads `size` bytes, a multiple of kPartAlignment, as kStreams streams of equal length in lockstep. The result depends
// on every byte, so that the compiler cannot omit a load.
template <typename Vector, size_t kStreams, bool kPrefetch>
[[gnu::always_inline]] inline uint64_t read(const uint8_t* bytes, size_t size) {
  using V = typename Vector::Type;
  constexpr size_t kPerStream = 8 / kStreams;
  constexpr size_t kStep = kPerStream * sizeof(V);
  V sums[8] = {};
  const size_t stream = size / kStreams;
  for (size_t at = 0; at < stream; at += kStep) {
    for (size_t s = 0; s < kStreams; ++s) {
      const uint8_t* from = bytes + s * stream + at;
      for (size_t line = 0; kPrefetch && line < kStep; line += 64) {
        __builtin_prefetch(from + kPrefetchDistance + line);
      }
      const V* vectors = reinterpret_cast<const V*>(from);
      for (size_t i = 0; i < kPerStream; ++i) sums[s * kPerStream + i] ^= vectors[i];
    }
  }
  uint64_t folded = 0;
  for (size_t i = 0; i < 8; ++i) {
    for (size_t lane = 0; lane < sizeof(V) / sizeof(uint64_t); ++lane) folded ^= sums[i][lane];
  }
  return folded;
}

using Reader = uint64_t (*)(const uint8_t* bytes, size_t size);

#if defined(__x86_64__)
#  define SOTTO_READERS(name, vector, features)                                        \
    [[gnu::target(features)]] uint64_t name##_plain(const uint8_t* b, size_t n) {      \
      return read<vector, 1, false>(b, n);                                             \
    }                                                                                  \
    [[gnu::target(features)]] uint64_t name##_prefetched(const uint8_t* b, size_t n) { \
      return read<vector, 1, true>(b, n);                                              \
    }                                                                                  \
    [[gnu::target(features)]] uint64_t name##_streams(const uint8_t* b, size_t n) {    \
      return read<vector, 4, false>(b, n);                                             \
    }                                                                                  \
    constexpr Reader name[] = {name##_plain, name##_prefetched, name##_streams};
SOTTO_READERS(read_avx512, Bytes64, "avx512f")
SOTTO_READERS(read_avx2, Bytes32, "avx2")
#endif

constexpr Reader kPortable[] = {read<Bytes16, 1, false>, read<Bytes16, 1, true>, read<Bytes16, 4, false>};
constexpr size_t kPatternCount = std::size(kPortable);

const Reader* readers() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return read_avx512;
  if (__builtin_cpu_supports("avx2")) return read_avx2;
#endif
  return kPortable;
}

size_t part_of(size_t size, size_t thread_count) {
  const size_t part = (size + thread_count - 1) / thread_count;
  return (part + kPartAlignment - 1) / kPartAlignment * kPartAlignment;
}

}  // namespace

ReadLimit::ReadLimit(size_t size, Pages pages, size_t thread_count)
    : thread_count_(thread_count), part_size_(part_of(size, thread_count)), block_(part_size_ * thread_count, pages) {
  std::memset(block_.bytes(), 1, block_.size());
  double best = 0;
  for (size_t pattern = 0; pattern < kPatternCount; ++pattern) {
    double seconds = seconds_per_pass(pattern, 0);
    for (int i = 0; i < 2; ++i) seconds = std::min(seconds, seconds_per_pass(pattern, 0));
    if (pattern > 0 && seconds >= best) continue;
    best = seconds;
    pattern_ = pattern;
  }
}

double ReadLimit::seconds_per_pass(size_t pattern, double least_seconds) const {
  const Reader reader = readers()[pattern];
  const auto read_part = [&](size_t thread, size_t passes) {
    uint64_t sink = 0;
    for (size_t i = 0; i < passes; ++i) {
      sink += reader(block_.bytes() + thread * part_size_, part_size_);
      asm volatile("" : "+r"(sink) : : "memory");  // makes every pass read the memory
    }
  };
  const double first = time_on_threads(thread_count_, [&](size_t t) { read_part(t, 1); });
  if (first >= least_seconds) return first;
  const auto passes = static_cast<size_t>(std::ceil(least_seconds / std::max(first, 1e-6)));
  return time_on_threads(thread_count_, [&](size_t t) { read_part(t, passes); }) / static_cast<double>(passes);
}

double ReadLimit::bytes_per_second(double least_seconds) const {
  return static_cast<double>(block_.size()) / seconds_per_pass(pattern_, least_seconds);
}

}  // namespace sotto::bench
