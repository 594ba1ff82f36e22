// Guarded arrays, unusual numbers and comparison of bits for the kernel tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels/kernels.h"

namespace sotto::test {

enum class Placement { kBeforeGuard, kAfterGuard };

// Memory with an inaccessible page on one side and a pattern on the other.
class GuardedBytes {
 public:
  GuardedBytes(size_t size, Placement placement);
  ~GuardedBytes();
  GuardedBytes(const GuardedBytes&) = delete;
  GuardedBytes& operator=(const GuardedBytes&) = delete;

  uint8_t* data() const { return data_; }
  bool pattern_intact() const;

 private:
  size_t size_;
  uint8_t* mapping_;
  size_t mapping_size_;
  uint8_t* accessible_;
  size_t accessible_size_;
  uint8_t* data_;
};

// An array of exactly `values`, guarded.
template <typename T>
class GuardedArray {
 public:
  GuardedArray(const std::vector<T>& values, Placement placement)
      : count_(values.size()), bytes_(values.size() * sizeof(T), placement) {
    for (size_t i = 0; i < count_; ++i) data()[i] = values[i];
  }
  GuardedArray(size_t count, Placement placement) : GuardedArray(std::vector<T>(count), placement) {}

  T* data() const { return reinterpret_cast<T*>(bytes_.data()); }
  size_t count() const { return count_; }
  bool intact() const { return bytes_.pattern_intact(); }
  std::vector<T> values() const { return std::vector<T>(data(), data() + count_); }

 private:
  size_t count_;
  GuardedBytes bytes_;
};

enum class Numbers {
  kActivations,  // approximately normal, with some outliers
  kWide,         // any exponent, either sign, zeros and denormals
  kTiny,         // denormal or close to it, and zeros
  kConstant,     // all the same
  kHostile,      // kWide with infinities and NaN
};
inline constexpr Numbers kFiniteNumbers[] = {Numbers::kActivations, Numbers::kWide, Numbers::kTiny, Numbers::kConstant};

inline constexpr Activation kActivations[] = {
#define SOTTO_ACTIVATION(value, function) Activation::value,
    SOTTO_ACTIVATIONS(SOTTO_ACTIVATION)
#undef SOTTO_ACTIVATION
};

// Returns all floats whose low 16 bits are 0: every bfloat16, with infinities and NaN.
std::vector<float> all_bfloat16();

using Random = std::mt19937_64;
std::vector<float> make_floats(Numbers kind, size_t n, Random& random);
std::vector<int8_t> make_int8(size_t n, Random& random);  // all of [-128, 127]

// Returns a new seed on each run, or SOTTO_TEST_SEED. Put it into a SCOPED_TRACE.
uint64_t test_seed();

// Lengths around multiples of 16, 32 and 64, and the lengths of GPT-2.
std::vector<size_t> edge_lengths();

// Returns whether the bits are the same; any NaN equals any other, because payloads are not specified.
bool same_bits(float a, float b);
// Returns an empty string if all are the same, else a description of the first difference.
std::string difference(const std::vector<float>& expected, const std::vector<float>& actual);
std::string difference(const std::vector<int8_t>& expected, const std::vector<int8_t>& actual);

}  // namespace sotto::test
