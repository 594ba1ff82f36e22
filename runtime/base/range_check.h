// Range checks of parameters and memory. All messages have one form: "top_p is 1.5; it must be greater than 0 and at
// most 1".
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "runtime/base/status.h"

namespace sotto {

inline constexpr float kNoLimit = std::numeric_limits<float>::infinity();

// Rejects NaN and values outside [low, high]. Integers up to 2^53 and all floats are exact as double.
Status check_range(const char* name, double value, double low, double high, Error* error);

constexpr bool is_token(int32_t token, size_t vocabulary_size) {
  return static_cast<uint32_t>(token) < vocabulary_size;
}

// Rejects a token outside the vocabulary. The parts of its name are joined:
//   reject_token(error, token, vocabulary_size, "bad_words[", i, "].tokens[", k, "]")
template <typename... Name>
Status reject_token(Error* error, int32_t token, size_t vocabulary_size, const Name&... name) {
  return fail(error, Status::kInvalidArgument, name..., " is ", token, "; it must be a token id from 0 to ",
              vocabulary_size - 1);
}

// Rejects the first token of a list that is outside the vocabulary.
Status check_tokens(const char* name, std::span<const int32_t> tokens, size_t vocabulary_size, Error* error);

// Rejects memory that is not aligned to kMemoryAlignment.
Status check_aligned(const void* memory, Error* error);
// Rejects memory that is not aligned to kMemoryAlignment or has fewer than `needed` bytes.
Status check_memory(const void* memory, size_t size, size_t needed, Error* error);

// The range of one field of a parameter struct.
struct RangeRow {
  enum Type : uint8_t { kFloat, kInt32, kUint32, kUint64 };
  enum Flags : uint8_t { kAboveLow = 1, kBelowHigh = 2, kHasSpecial = 4, kOnlyEnds = 8 };

  char name[28];    // an array, because a pointer would need a relocation in every row of a table
  uint16_t offset;  // offset of the field in its struct
  Type type;
  uint8_t flags;  // a combination of Flags
  float low;      // the lower bound; kAboveLow excludes the bound itself
  float high;     // the upper bound or kNoLimit; kBelowHigh excludes the bound itself
  // With kHasSpecial, a value outside the range that is accepted too. -1 stands for UINT32_MAX in unsigned fields.
  int32_t special;
};

// Rejects the first field of the struct at `params` that is outside its range.
Status check_rows(const void* params, std::span<const RangeRow> rows, Error* error);

}  // namespace sotto
