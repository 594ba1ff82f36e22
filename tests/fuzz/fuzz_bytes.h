// Reads numbers from a fuzzer's input, and zeros after its end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <limits>

// Ends the program with the failed condition.
#define REQUIRE(condition) \
  if (!(condition)) std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition), std::abort()

namespace sotto {

class FuzzBytes {
 public:
  FuzzBytes(const uint8_t* data, size_t size) : data_(data), size_(size) {}

  bool empty() const { return at_ >= size_; }
  uint8_t byte() { return empty() ? 0 : data_[at_++]; }
  uint32_t below(uint32_t limit) { return byte() % limit; }

  // Returns a significant value, or arbitrary bits.
  float number() {
    constexpr float kTelling[] = {0,
                                  1,
                                  0.5f,
                                  2,
                                  -1,
                                  1e-3f,
                                  100,
                                  0.999f,
                                  1e30f,
                                  -0.0f,
                                  std::numeric_limits<float>::quiet_NaN(),
                                  std::numeric_limits<float>::infinity(),
                                  -std::numeric_limits<float>::infinity()};
    const uint8_t kind = byte();
    if (kind < 200) return kTelling[kind % std::size(kTelling)];
    if (kind < 240) return static_cast<float>(byte()) / 32;
    uint32_t bits = 0;
    for (int i = 0; i < 4; ++i) bits = bits << 8 | byte();
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }

 private:
  const uint8_t* data_;
  size_t size_;
  size_t at_ = 0;
};

}  // namespace sotto
