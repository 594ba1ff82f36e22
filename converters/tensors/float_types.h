// Conversions between float32 and the 16-bit float types of checkpoints.
#pragma once

#include <bit>
#include <cstdint>

namespace sotto {

inline float float_of_half(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
  const uint32_t exponent = half >> 10 & 31;
  const uint32_t mantissa = half & 0x3FF;
  if (exponent == 0) {  // zero and subnormal numbers are mantissa * 2^-24
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return sign != 0 ? -magnitude : magnitude;
  }
  const uint32_t float_exponent = exponent == 31 ? 255 : exponent + (127 - 15);
  return std::bit_cast<float>(sign | float_exponent << 23 | mantissa << 13);
}

inline float float_of_bfloat(uint16_t value) { return std::bit_cast<float>(static_cast<uint32_t>(value) << 16); }

// Rounds to nearest, ties to even. Magnitudes of 65520 and more become infinity.
inline uint16_t half_of_float(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits >> 16 & 0x8000;
  const float magnitude = std::bit_cast<float>(bits & 0x7FFFFFFF);
  if (magnitude >= 65520.0f) return static_cast<uint16_t>(sign | 0x7C00);
  if (magnitude < 0x1p-14f) {
    // Adding 1/2 rounds to a multiple of 2^-24, the spacing of subnormal halves, and of floats at 1/2.
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(magnitude + 0.5f) - std::bit_cast<uint32_t>(0.5f)));
  }
  const uint32_t rounded = (bits & 0x7FFFFFFF) + 0xFFF + (bits >> 13 & 1);
  return static_cast<uint16_t>(sign | ((rounded - (uint32_t{112} << 23)) >> 13));
}

}  // namespace sotto
