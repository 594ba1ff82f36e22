#include "tests/kernels/support.h"

#if !defined(__wasi__)
#  include <sys/mman.h>
#  include <unistd.h>
#endif

#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>

namespace sotto::test {
namespace {

constexpr uint8_t kPattern = 0xa5;

float from_bits(uint32_t bits) { return std::bit_cast<float>(bits); }

float wide_float(Random& random) {
  while (true) {
    const float x = from_bits(static_cast<uint32_t>(random()));
    if (std::isfinite(x)) return x;
  }
}

float special_float(Random& random, bool finite) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kFinite[] = {0.0f,          -0.0f,          1e-45f, -1e-45f, 1.1754942e-38f, -1.17549435e-38f,
                               3.4028235e38f, -3.4028235e38f, 1.0f,   -1.0f,   0.5f,           255.0f};
  constexpr float kInfinite[] = {kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN()};
  if (finite || random() % 2 == 0) return kFinite[random() % std::size(kFinite)];
  return kInfinite[random() % std::size(kInfinite)];
}

float make_float(Numbers kind, Random& random) {
  std::normal_distribution<float> normal;
  switch (kind) {
    case Numbers::kActivations:
      return normal(random) * (random() % 50 == 0 ? 20.0f : 1.0f);
    case Numbers::kWide:
      return random() % 8 == 0 ? special_float(random, true) : wide_float(random);
    case Numbers::kTiny:
      return from_bits(static_cast<uint32_t>(random()) & 0x80ffffffu);
    case Numbers::kHostile:
      return random() % 4 == 0 ? special_float(random, false) : wide_float(random);
    case Numbers::kConstant:
      break;
  }
  return normal(random);
}

template <typename T, typename Same>
std::string describe(const std::vector<T>& expected, const std::vector<T>& actual, Same same) {
  if (expected.size() != actual.size()) return "counts differ";
  for (size_t i = 0; i < expected.size(); ++i) {
    if (same(expected[i], actual[i])) continue;
    return "at " + std::to_string(i) + " of " + std::to_string(expected.size()) + ": expected " +
           std::to_string(expected[i]) + ", got " + std::to_string(actual[i]);
  }
  return "";
}

}  // namespace

#if defined(__wasi__)

// WebAssembly has no pages to protect. Bytes that must not be written keep the pattern, on both sides of the array.
GuardedBytes::GuardedBytes(size_t size, Placement placement) : size_(size) {
  constexpr size_t kPage = 4096;
  accessible_size_ = mapping_size_ = (size + kPage) / kPage * kPage;
  mapping_ = accessible_ = static_cast<uint8_t*>(std::aligned_alloc(kPage, mapping_size_));
  if (mapping_ == nullptr) std::abort();
  std::memset(accessible_, kPattern, accessible_size_);
  data_ = placement == Placement::kBeforeGuard ? accessible_ + accessible_size_ - size : accessible_;
}

GuardedBytes::~GuardedBytes() { std::free(mapping_); }

#else

GuardedBytes::GuardedBytes(size_t size, Placement placement) : size_(size) {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  accessible_size_ = (size + page) / page * page;
  mapping_size_ = accessible_size_ + page;
  void* mapping = mmap(nullptr, mapping_size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) std::abort();
  mapping_ = static_cast<uint8_t*>(mapping);
  const bool guard_last = placement == Placement::kBeforeGuard;
  accessible_ = guard_last ? mapping_ : mapping_ + page;
  std::memset(accessible_, kPattern, accessible_size_);
  data_ = guard_last ? accessible_ + accessible_size_ - size : accessible_;
  if (mprotect(guard_last ? accessible_ + accessible_size_ : mapping_, page, PROT_NONE) != 0) {
    std::abort();
  }
}

GuardedBytes::~GuardedBytes() { munmap(mapping_, mapping_size_); }

#endif

bool GuardedBytes::pattern_intact() const {
  for (const uint8_t* p = accessible_; p < accessible_ + accessible_size_; ++p) {
    const bool inside = p >= data_ && p < data_ + size_;
    if (!inside && *p != kPattern) return false;
  }
  return true;
}

std::vector<float> make_floats(Numbers kind, size_t n, Random& random) {
  std::vector<float> values(n);
  for (float& x : values) x = make_float(kind, random);
  if (kind == Numbers::kConstant) values.assign(n, make_float(kind, random));
  return values;
}

std::vector<int8_t> make_int8(size_t n, Random& random) {
  std::vector<int8_t> values(n);
  for (int8_t& x : values) x = static_cast<int8_t>(random());
  return values;
}

uint64_t test_seed() {
  const char* text = std::getenv("SOTTO_TEST_SEED");
  if (text != nullptr) return std::strtoull(text, nullptr, 0);
  return std::random_device{}();
}

std::vector<float> all_bfloat16() {
  std::vector<float> values;
  for (uint32_t bits = 0; bits < 0x10000; ++bits) values.push_back(std::bit_cast<float>(bits << 16));
  return values;
}

std::vector<size_t> edge_lengths() {
  std::vector<size_t> lengths;
  for (size_t n = 1; n <= 70; ++n) lengths.push_back(n);
  for (const size_t n : {127, 128, 129, 255, 256, 257, 768, 999, 3072}) lengths.push_back(n);
  return lengths;
}

bool same_bits(float a, float b) {
  if (std::isnan(a) && std::isnan(b)) return true;
  return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
}

std::string difference(const std::vector<float>& expected, const std::vector<float>& actual) {
  return describe(expected, actual, same_bits);
}

std::string difference(const std::vector<int8_t>& expected, const std::vector<int8_t>& actual) {
  return describe(expected, actual, [](int8_t a, int8_t b) { return a == b; });
}

}  // namespace sotto::test
