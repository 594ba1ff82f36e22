#include "runtime/base/range_check.h"

#include <cmath>
#include <cstring>

#include "runtime/base/arena.h"

namespace sotto {
namespace {

void add_number(MessageWriter* writer, double value) {
  constexpr double kMaxExact = 9007199254740992;  // 2^53, above which not every integer is exact
  if (!(std::fabs(value) <= kMaxExact) || value != std::floor(value)) return writer->add(static_cast<float>(value));
  writer->add(static_cast<int64_t>(value));
}

double read_field(const void* params, const RangeRow& row) {
  const auto* field = static_cast<const char*>(params) + row.offset;
  const auto read = [field]<typename T>(T value) {
    std::memcpy(&value, field, sizeof value);
    return static_cast<double>(value);
  };
  switch (row.type) {
    case RangeRow::kFloat:
      return read(float{});
    case RangeRow::kInt32:
      return read(int32_t{});
    case RangeRow::kUint32:
      return read(uint32_t{});
    case RangeRow::kUint64:
      return read(uint64_t{});
  }
  return 0;
}

Status reject(const char* name, double value, double low, double high, unsigned flags, double special, Error* error) {
  if (error == nullptr) return Status::kInvalidArgument;
  *error = {Status::kInvalidArgument, Error::kNoOffset, {}};
  MessageWriter writer(error);
  writer.add(name);
  writer.add(" is ");
  add_number(&writer, value);
  writer.add("; it must be ");
  if ((flags & RangeRow::kHasSpecial) != 0) {
    if (special == UINT32_MAX) {
      writer.add("UINT32_MAX");
    } else {
      add_number(&writer, special);
    }
    writer.add(" or ");
  }
  if ((flags & RangeRow::kOnlyEnds) != 0) {
    add_number(&writer, low);
    writer.add(" or ");
    add_number(&writer, high);
    return Status::kInvalidArgument;
  }
  const bool has_high = high != static_cast<double>(kNoLimit);
  const bool is_closed = (flags & (RangeRow::kAboveLow | RangeRow::kBelowHigh)) == 0;
  if (has_high && is_closed) {
    writer.add("from ");
  } else {
    writer.add((flags & RangeRow::kAboveLow) != 0 ? "greater than " : "at least ");
  }
  add_number(&writer, low);
  if (!has_high) return Status::kInvalidArgument;
  if (is_closed) {
    writer.add(" to ");
  } else {
    writer.add((flags & RangeRow::kBelowHigh) != 0 ? " and less than " : " and at most ");
  }
  add_number(&writer, high);
  return Status::kInvalidArgument;
}

}  // namespace

Status check_range(const char* name, double value, double low, double high, Error* error) {
  if (value >= low && value <= high) return Status::kOk;
  return reject(name, value, low, high, 0, 0, error);
}

Status check_tokens(const char* name, std::span<const int32_t> tokens, size_t vocabulary_size, Error* error) {
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (!is_token(tokens[i], vocabulary_size)) {
      return reject_token(error, tokens[i], vocabulary_size, name, "[", i, "]");
    }
  }
  return Status::kOk;
}

Status check_aligned(const void* memory, Error* error) {
  if (reinterpret_cast<uintptr_t>(memory) % kMemoryAlignment == 0) return Status::kOk;
  return fail(error, Status::kMemoryMisaligned, "memory is not aligned to 64 bytes");
}

Status check_memory(const void* memory, size_t size, size_t needed, Error* error) {
  SOTTO_TRY(check_aligned(memory, error));
  if (size >= needed) return Status::kOk;
  return fail(error, Status::kMemoryTooSmall, "memory_size is ", size, "; it must be at least ", needed);
}

Status check_rows(const void* params, std::span<const RangeRow> rows, Error* error) {
  for (const RangeRow& row : rows) {
    const double value = read_field(params, row);
    const double low = static_cast<double>(row.low), high = static_cast<double>(row.high);
    const bool above = (row.flags & RangeRow::kAboveLow) != 0 ? value > low : value >= low;
    const bool below = (row.flags & RangeRow::kBelowHigh) != 0 ? value < high : value <= high;
    const bool is_choice = (row.flags & RangeRow::kOnlyEnds) == 0 || value == low || value == high;
    if (above && below && is_choice) continue;
    const bool is_unsigned = row.type == RangeRow::kUint32 || row.type == RangeRow::kUint64;
    const double special =
        is_unsigned ? static_cast<double>(static_cast<uint32_t>(row.special)) : static_cast<double>(row.special);
    if ((row.flags & RangeRow::kHasSpecial) != 0 && value == special) continue;
    return reject(row.name, value, low, high, row.flags, special, error);
  }
  return Status::kOk;
}

}  // namespace sotto
