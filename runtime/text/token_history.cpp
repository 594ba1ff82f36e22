#include "runtime/text/token_history.h"

#include "runtime/base/sort.h"
#include "runtime/generated/params.h"

namespace sotto {
namespace {

size_t distinct_count(std::span<uint64_t> values) {
  sort_numbers(values.begin(), values.end());
  size_t count = 1;
  for (size_t i = 1; i < values.size(); ++i) count += values[i] != values[i - 1] ? 1 : 0;
  return count;
}

// Returns the length of the longest sequence of tokens that occurs twice. The two occurrences may overlap.
size_t longest_repeat(std::span<const int32_t> tokens) {
  size_t longest = 0;
  for (size_t distance = 1; distance + longest < tokens.size(); ++distance) {
    size_t length = 0;
    for (size_t i = distance; i < tokens.size(); ++i) {
      length = tokens[i] == tokens[i - distance] ? length + 1 : 0;
      longest = std::max(longest, length);
    }
  }
  return longest;
}

}  // namespace

float repetitiveness(const TokenHistory& history, size_t window) {
  constexpr size_t kFewest = 8;  // fewer tokens say nothing about repetition
  const TokenHistory newest = history.last(std::min<size_t>(window, SamplerParams::kMaxGuardWindow));
  const size_t n = newest.size();
  if (n < kFewest) return 0;
  int32_t tokens[SamplerParams::kMaxGuardWindow];
  int32_t* at = tokens;
  for (const auto piece : newest.pieces()) at = std::copy(piece.begin(), piece.end(), at);
  uint64_t values[SamplerParams::kMaxGuardWindow];
  for (size_t i = 0; i < n; ++i) values[i] = static_cast<uint32_t>(tokens[i]);
  const auto singles = static_cast<float>(distinct_count({values, n}));
  for (size_t i = 0; i + 1 < n; ++i) {
    values[i] = uint64_t{static_cast<uint32_t>(tokens[i])} << 32 | static_cast<uint32_t>(tokens[i + 1]);
  }
  const auto pairs = static_cast<float>(distinct_count({values, n - 1}));
  const auto repeat = static_cast<float>(longest_repeat({tokens, n}));
  const auto count = static_cast<float>(n);
  return (std::max(0.0f, 1 - 2 * singles / count) + (1 - pairs / (count - 1)) + std::min(1.0f, 2 * repeat / count)) / 3;
}

}  // namespace sotto
