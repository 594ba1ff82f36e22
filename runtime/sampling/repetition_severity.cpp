#include "runtime/sampling/repetition_severity.h"

#include <algorithm>
#include <cstdint>
#include <span>

#include "runtime/base/sort.h"

namespace sotto {

namespace {

size_t distinct_count(std::span<uint64_t> values) {
  sort_numbers(values.begin(), values.end());
  size_t count = 1;
  for (size_t i = 1; i < values.size(); ++i) count += values[i] != values[i - 1] ? 1 : 0;
  return count;
}

// Returns the largest value of the prefix function (Knuth, Morris and Pratt 1977) of tokens that are newest
// first: the length of the longest suffix of the text that also occurs earlier.
size_t longest_repeat(std::span<const int32_t> tokens) {
  uint16_t border[SamplerParams::kMaxGuardWindow];
  border[0] = 0;
  size_t longest = 0;
  for (size_t i = 1, length = 0; i < tokens.size(); ++i) {
    while (length > 0 && tokens[i] != tokens[length]) length = border[length - 1];
    if (tokens[i] == tokens[length]) ++length;
    border[i] = static_cast<uint16_t>(length);
    longest = std::max(longest, length);
  }
  return longest;
}

}  // namespace

float repetition_severity(const TokenHistory& history, size_t window) {
  constexpr size_t kFewest = 8;
  const TokenHistory newest = history.last(std::min<size_t>(window, SamplerParams::kMaxGuardWindow));
  const size_t n = newest.size();
  if (n < kFewest) return 0;
  int32_t tokens[SamplerParams::kMaxGuardWindow];
  int32_t* place = tokens;
  for (size_t piece = 3; piece-- > 0;) {
    const auto part = newest.pieces()[piece];
    place = std::reverse_copy(part.begin(), part.end(), place);
  }
  uint64_t values[SamplerParams::kMaxGuardWindow];
  for (size_t i = 0; i < n; ++i) values[i] = static_cast<uint32_t>(tokens[i]);
  const auto singles = static_cast<float>(distinct_count({values, n}));
  for (size_t i = 0; i + 1 < n; ++i) {
    values[i] = uint64_t{static_cast<uint32_t>(tokens[i])} << 32 | static_cast<uint32_t>(tokens[i + 1]);
  }
  const auto pairs = static_cast<float>(distinct_count({values, n - 1}));
  const auto end = static_cast<float>(longest_repeat({tokens, n}));
  const auto count = static_cast<float>(n);
  return (std::max(0.0f, 1 - 2 * singles / count) + (1 - pairs / (count - 1)) + std::min(1.0f, 2 * end / count)) / 3;
}

}  // namespace sotto
