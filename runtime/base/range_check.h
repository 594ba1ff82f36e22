// Checks of numbers against the ranges that the documentation gives them, with one wording for all messages:
// "top_p is 1.5; it must be greater than 0 and at most 1".
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "runtime/base/status.h"

namespace sotto {

inline constexpr float kNoLimit = std::numeric_limits<float>::infinity();

// Rejects values outside [low, high], and NaN. Integers up to 2^53 and floats are exact as double.
Status check_range(const char* name, double value, double low, double high, Error* error);

// The range of one field of a parameter struct.
struct RangeRow {
  enum Type : uint8_t { kFloat, kInt32, kUint32, kUint64 };
  enum Flags : uint8_t { kAboveLow = 1, kBelowHigh = 2, kHasSpecial = 4 };

  char name[28];    // within the row, so that tables of rows need no relocations
  uint16_t offset;  // of the field in its struct
  Type type;
  uint8_t flags;    // of Flags
  float low;        // itself excluded with kAboveLow
  float high;       // itself excluded with kBelowHigh; kNoLimit: none
  int32_t special;  // a value outside the range that is accepted with kHasSpecial; -1: UINT32_MAX for unsigned fields
};

// Rejects the first field of the struct at `params` that is outside its range.
Status check_rows(const void* params, std::span<const RangeRow> rows, Error* error);

}  // namespace sotto
