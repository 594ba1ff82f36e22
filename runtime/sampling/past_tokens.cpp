#include "runtime/sampling/past_tokens.h"

#include <algorithm>
#include <cmath>

namespace sotto {
namespace {

float slope_weight(size_t age, size_t window, float slope) {
  if (slope == 0 || window < 2) return 1;
  const float x = 1 - 2 * static_cast<float>(age) / static_cast<float>(window - 1);
  const float distance = std::fabs(x);
  return (slope * x / ((1 - distance) + distance * slope) + 1) / 2;
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

size_t PastTokens::count_in(size_t window) const {
  return std::min(window, penalize_prompt_ ? history_.size() : generated_count_);
}

std::span<const int32_t> PastTokens::reversed() {
  if (!is_reversed_) {
    int32_t* at = reversed_;
    for (size_t piece = 3; piece-- > 0;) {
      const auto tokens = history_.pieces()[piece];
      at = std::reverse_copy(tokens.begin(), tokens.end(), at);
    }
    is_reversed_ = true;
  }
  return {reversed_, history_.size()};
}

std::span<const int32_t> PastTokens::in_order() {
  int32_t* at = reversed_;
  for (const auto piece : history_.pieces()) at = std::copy(piece.begin(), piece.end(), at);
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
  const size_t count = count_in(window);
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

}  // namespace sotto
