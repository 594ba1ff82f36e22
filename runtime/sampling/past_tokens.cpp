#include "runtime/sampling/past_tokens.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

#include "runtime/base/sort.h"

namespace sotto {
namespace {

float slope_weight(size_t age, size_t window, float slope) {
  if (slope == 0 || window < 2) return 1;
  const float x = 1 - 2 * static_cast<float>(age) / static_cast<float>(window - 1);
  const float distance = std::fabs(x);
  return (slope * x / ((1 - distance) + distance * slope) + 1) / 2;
}

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

void TokenTable::layout(Arena& arena, size_t capacity) {
  entries_ = arena.take<PastToken>(capacity);
  slots_ = arena.take<uint32_t>(slot_count(capacity));
}

void TokenTable::clear(size_t count) {
  count_ = 0;
  index_.use(slots_, slot_count(count));
}

PastToken& TokenTable::at(int32_t token) {
  const uint32_t hash = fibonacci_hash(static_cast<uint32_t>(token));
  const uint32_t known = index_.find(hash, [&](uint32_t number) { return entries_[number].token == token; });
  if (known != HashIndex::kAbsent) return entries_[known];
  index_.insert(hash, static_cast<uint32_t>(count_));
  return entries_[count_++] = {token, 0, 0, 0};
}

void PastTokens::layout(Arena& arena, size_t capacity) {
  capacity_ = capacity;
  reversed_ = arena.take<int32_t>(capacity);
  repeats_ = arena.take<uint32_t>(capacity);
  table_.layout(arena, capacity);
}

void PastTokens::begin(const SampleInput& input, bool penalize_prompt) {
  history_ = input.history.last(capacity_);
  const uint64_t seen = history_.size();
  generated_count_ = static_cast<size_t>(std::min(input.generated_count, seen));
  penalize_prompt_ = penalize_prompt;
  is_reversed_ = has_repeats_ = weighed_ = false;
}

size_t PastTokens::reach(size_t window) const {
  return std::min(window, penalize_prompt_ ? history_.size() : generated_count_);
}

std::span<const int32_t> PastTokens::reversed() {
  if (!is_reversed_) {
    int32_t* place = reversed_;
    for (size_t piece = 3; piece-- > 0;) {
      const auto tokens = history_.pieces()[piece];
      place = std::reverse_copy(tokens.begin(), tokens.end(), place);
    }
    is_reversed_ = true;
  }
  return {reversed_, history_.size()};
}

std::span<const int32_t> PastTokens::in_order() {
  int32_t* place = reversed_;
  for (const auto piece : history_.pieces()) place = std::copy(piece.begin(), piece.end(), place);
  is_reversed_ = false;
  return {reversed_, history_.size()};
}

std::span<const uint32_t> PastTokens::repeats() {
  const std::span<const int32_t> r = reversed();
  if (has_repeats_) return {repeats_, r.size()};
  // This is the Z-algorithm. [first, end) is the rightmost match found so far: in it, r[first + i] = r[i].
  size_t first = 0, end = 0;
  for (size_t k = 1; k < r.size(); ++k) {
    size_t length = k < end ? std::min<size_t>(repeats_[k - first], end - k) : 0;
    while (k + length < r.size() && r[length] == r[k + length]) ++length;
    repeats_[k] = static_cast<uint32_t>(length);
    if (k + length > end) {
      first = k;
      end = k + length;
    }
  }
  has_repeats_ = true;
  return {repeats_, r.size()};
}

std::span<const PastToken> PastTokens::weigh(uint32_t window, float slope) {
  if (weighed_) return table_.entries();
  const size_t count = reach(window);
  const size_t range = window == kWholeWindow ? count : window;
  table_.clear(count);
  const TokenHistory newest = history_.last(count);
  size_t age = count;
  for (const auto piece : newest.pieces()) {
    for (const int32_t token : piece) {
      const float weight = slope_weight(--age, range, slope);
      PastToken& past = table_.at(token);
      past.newest = weight;
      past.sum += weight;
    }
  }
  weighed_ = true;
  return table_.entries();
}

float repetitiveness(const TokenHistory& history, size_t window) {
  constexpr size_t kFewest = 8;  // fewer tokens say nothing about repetition
  const TokenHistory newest = history.last(std::min<size_t>(window, SamplerParams::kMaxGuardWindow));
  const size_t n = newest.size();
  if (n < kFewest) return 0;
  int32_t tokens[SamplerParams::kMaxGuardWindow];
  int32_t* place = tokens;
  for (const auto piece : newest.pieces()) place = std::copy(piece.begin(), piece.end(), place);
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
