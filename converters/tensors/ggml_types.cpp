#include "converters/tensors/ggml_types.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "converters/tensors/float_types.h"

namespace sotto {
namespace {

constexpr uint32_t kBlock = 32;
constexpr uint32_t kSuperBlock = 256;

template <typename T>
T load(const uint8_t* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

float load_half(const uint8_t* bytes) { return float_of_half(load<uint16_t>(bytes)); }

void dequantize_f32(const uint8_t* block, float* values) { *values = load<float>(block); }
void dequantize_f16(const uint8_t* block, float* values) { *values = load_half(block); }
void dequantize_bf16(const uint8_t* block, float* values) { *values = float_of_bfloat(load<uint16_t>(block)); }

// Q8_0: a scale and 32 signed bytes.
void dequantize_q8_0(const uint8_t* block, float* values) {
  const float scale = load_half(block);
  for (uint32_t i = 0; i < kBlock; ++i) values[i] = static_cast<float>(static_cast<int8_t>(block[2 + i])) * scale;
}

// Returns element `i` of 32 nibbles in 16 bytes: first the low nibbles of all bytes, then the high nibbles.
int nibble(const uint8_t* bytes, uint32_t i) { return i < 16 ? bytes[i] & 15 : bytes[i - 16] >> 4; }

// Returns element `i` of 32 five-bit numbers: nibbles as above, and bit `i` of `high` as the fifth bit.
int five_bits(const uint8_t* high, const uint8_t* bytes, uint32_t i) {
  return nibble(bytes, i) | static_cast<int>(load<uint32_t>(high) >> i & 1) << 4;
}

// Blocks of Q4_0 and Q5_0 begin with a scale, those of Q4_1 and Q5_1 with a scale and a minimum.
void dequantize_q4_0(const uint8_t* block, float* values) {
  const float scale = load_half(block);
  for (uint32_t i = 0; i < kBlock; ++i) values[i] = scale * static_cast<float>(nibble(block + 2, i) - 8);
}

void dequantize_q4_1(const uint8_t* block, float* values) {
  const float scale = load_half(block), minimum = load_half(block + 2);
  for (uint32_t i = 0; i < kBlock; ++i) values[i] = scale * static_cast<float>(nibble(block + 4, i)) + minimum;
}

void dequantize_q5_0(const uint8_t* block, float* values) {
  const float scale = load_half(block);
  for (uint32_t i = 0; i < kBlock; ++i) {
    values[i] = scale * static_cast<float>(five_bits(block + 2, block + 6, i) - 16);
  }
}

void dequantize_q5_1(const uint8_t* block, float* values) {
  const float scale = load_half(block), minimum = load_half(block + 2);
  for (uint32_t i = 0; i < kBlock; ++i) {
    values[i] = scale * static_cast<float>(five_bits(block + 4, block + 8, i)) + minimum;
  }
}

struct GroupScale {
  float scale;
  float minimum;
};

// Returns the scale and the minimum of one of eight groups of Q4_K and Q5_K. Twelve bytes hold eight 6-bit scales and
// eight 6-bit minima, in units of the two halves at the start of the block.
GroupScale group_scale(const uint8_t* block, uint32_t group) {
  const uint8_t* const packed = block + 4;
  const uint32_t k = group % 4;
  uint32_t scale = packed[k] & 63, minimum = packed[4 + k] & 63;
  if (group >= 4) {
    scale = (packed[8 + k] & 15u) | (packed[k] >> 6 << 4);
    minimum = (packed[8 + k] >> 4) | (packed[4 + k] >> 6 << 4);
  }
  return {load_half(block) * static_cast<float>(scale), load_half(block + 2) * static_cast<float>(minimum)};
}

// Q4_K: eight groups of 32 elements. Each 32 bytes hold two groups, the first in the low nibbles.
void dequantize_q4_k(const uint8_t* block, float* values) {
  for (uint32_t group = 0; group < 8; ++group) {
    const auto [scale, minimum] = group_scale(block, group);
    const uint8_t* const nibbles = block + 16 + group / 2 * 32;
    for (uint32_t i = 0; i < 32; ++i) {
      const int low = nibbles[i] >> (group % 2 * 4) & 15;
      values[group * 32 + i] = scale * static_cast<float>(low) - minimum;
    }
  }
}

// Q5_K: as Q4_K, with 32 more bytes; their bits g are the fifth bits of group g.
void dequantize_q5_k(const uint8_t* block, float* values) {
  for (uint32_t group = 0; group < 8; ++group) {
    const auto [scale, minimum] = group_scale(block, group);
    const uint8_t* const high = block + 16;
    const uint8_t* const nibbles = high + 32 + group / 2 * 32;
    for (uint32_t i = 0; i < 32; ++i) {
      const int low = nibbles[i] >> (group % 2 * 4) & 15;
      values[group * 32 + i] = scale * static_cast<float>(low | (high[i] >> group & 1) << 4) - minimum;
    }
  }
}

// Q6_K: sixteen groups of 16 elements. 128 bytes hold the low four bits and 64 bytes the high two bits, in runs of 32
// elements, followed by the 8-bit scales of the groups and a half, the scale of these scales.
void dequantize_q6_k(const uint8_t* block, float* values) {
  const uint8_t* const low = block;
  const uint8_t* const high = block + 128;
  const uint8_t* const scales = block + 192;
  const float unit = load_half(block + 208);
  for (uint32_t i = 0; i < kSuperBlock; ++i) {
    const uint32_t half = i / 128, run = i / 32 % 4, k = i % 32;
    const int four = low[half * 64 + run % 2 * 32 + k] >> (run / 2 * 4) & 15;
    const int two = high[half * 32 + k] >> (run * 2) & 3;
    const float scale = unit * static_cast<float>(static_cast<int8_t>(scales[i / 16]));
    values[i] = scale * static_cast<float>((four | two << 4) - 32);
  }
}

constexpr GgmlType kTypes[] = {{kGgmlF32, "F32", 1, 4, dequantize_f32},
                               {1, "F16", 1, 2, dequantize_f16},
                               {2, "Q4_0", kBlock, 18, dequantize_q4_0},
                               {3, "Q4_1", kBlock, 20, dequantize_q4_1},
                               {6, "Q5_0", kBlock, 22, dequantize_q5_0},
                               {7, "Q5_1", kBlock, 24, dequantize_q5_1},
                               {kGgmlQ8, "Q8_0", kGgmlQ8Elements, kGgmlQ8Bytes, dequantize_q8_0},
                               {12, "Q4_K", kSuperBlock, 144, dequantize_q4_k},
                               {13, "Q5_K", kSuperBlock, 176, dequantize_q5_k},
                               {14, "Q6_K", kSuperBlock, 210, dequantize_q6_k},
                               {30, "BF16", 1, 2, dequantize_bf16},
                               // Types that are only named in messages.
                               {10, "Q2_K"},
                               {11, "Q3_K"},
                               {16, "IQ2_XXS"},
                               {17, "IQ2_XS"},
                               {18, "IQ3_XXS"},
                               {19, "IQ1_S"},
                               {20, "IQ4_NL"},
                               {21, "IQ3_S"},
                               {22, "IQ2_S"},
                               {23, "IQ4_XS"},
                               {24, "I8"},
                               {25, "I16"},
                               {26, "I32"},
                               {27, "I64"},
                               {28, "F64"},
                               {29, "IQ1_M"},
                               {34, "TQ1_0"},
                               {35, "TQ2_0"},
                               {39, "MXFP4"},
                               {40, "NVFP4"},
                               {41, "Q1_0"}};

}  // namespace

const char kGgmlTypeNames[] = "F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K and Q6_K";

const GgmlType* find_ggml_type(uint32_t id) {
  for (const GgmlType& type : kTypes) {
    if (type.id == id) return &type;
  }
  return nullptr;
}

const GgmlType* find_ggml_type(std::string_view name) {
  for (const GgmlType& type : kTypes) {
    if (type.name == name) return &type;
  }
  return nullptr;
}

void quantize_ggml_q8(const float* values, uint8_t* block) {
  float largest = 0;
  for (uint32_t i = 0; i < kGgmlQ8Elements; ++i) largest = std::max(largest, std::fabs(values[i]));
  const float scale = largest / 127;
  const float inverse = scale == 0 ? 0 : 1 / scale;
  const uint16_t half = half_of_float(scale);
  std::memcpy(block, &half, sizeof half);
  for (uint32_t i = 0; i < kGgmlQ8Elements; ++i) {
    block[2 + i] = static_cast<uint8_t>(static_cast<int8_t>(std::round(values[i] * inverse)));
  }
}

}  // namespace sotto
