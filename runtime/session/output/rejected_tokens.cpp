#include "runtime/session/output/rejected_tokens.h"

#include <algorithm>

namespace sotto {

bool RejectedTokens::add(uint64_t place, int32_t token) {
  drop_from(place + 1);
  if (count_ == kCapacity || attempts_ == kMaxAttempts) return false;
  ++attempts_;
  rejections_[count_++] = {place, token};
  return true;
}

void RejectedTokens::drop_from(uint64_t place) {
  while (count_ > 0 && rejections_[count_ - 1].place >= place) --count_;
}

void RejectedTokens::discard_before(uint64_t place) {
  attempts_ = 0;
  size_t count = 0;
  while (count < count_ && rejections_[count].place < place) ++count;
  for (size_t i = count; i < count_; ++i) rejections_[i - count] = rejections_[i];
  count_ -= count;
}

void RejectedTokens::restore(std::span<const Rejection> rejections, uint32_t attempts) {
  attempts_ = attempts;
  count_ = rejections.size();
  std::copy(rejections.begin(), rejections.end(), rejections_.begin());
}

std::span<const RejectedTokens::Rejection> RejectedTokens::at(uint64_t place) const {
  size_t first = count_;
  while (first > 0 && rejections_[first - 1].place >= place) --first;
  size_t end = first;
  while (end < count_ && rejections_[end].place == place) ++end;
  return {rejections_.data() + first, end - first};
}

}  // namespace sotto
