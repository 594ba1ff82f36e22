// The tensor types of ggml: blocks of numbers with shared scales, and their conversion to float32 as ggml's reference
// (ggml-quants.c, and gguf-py's quants.py) defines it, bit for bit.
#pragma once

#include <cstdint>
#include <string_view>

namespace sotto {

struct GgmlType {
  uint32_t id;  // the number in a GGUF file
  const char* name;
  // The following members are 0 for unsupported types.
  uint32_t block_elements = 0;
  uint32_t block_bytes = 0;
  void (*dequantize)(const uint8_t* block, float* values) = nullptr;  // converts one block
};

// Both functions return null if there is no such type.
const GgmlType* find_ggml_type(uint32_t id);
const GgmlType* find_ggml_type(std::string_view name);

// The names of the supported types, for messages.
extern const char kGgmlTypeNames[];

constexpr uint32_t kGgmlF32 = 0;
constexpr uint32_t kGgmlQ8 = 8;
constexpr uint32_t kGgmlQ8Elements = 32;
constexpr uint32_t kGgmlQ8Bytes = 34;

// Quantizes a block of 32 finite values to Q8_0 with ggml's rounding.
void quantize_ggml_q8(const float* values, uint8_t* block);

}  // namespace sotto
