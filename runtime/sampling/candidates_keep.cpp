// Truncations of the set, and the draw from what they keep.
#include <algorithm>
#include <cstring>

#include "runtime/base/random.h"
#include "runtime/sampling/candidates.h"

namespace sotto {

void Candidates::kept_in_own(size_t count) {
  assert(count > 0 && cut_.numbers == nullptr);
  const bool kept_all = count == count_;
  count_ = count;
  ids_ = own_ids_;
  logits_ = own_logits_;
  if (!kept_all) changed();
}

size_t Candidates::keep_part(const float* numbers, float floor, size_t first, size_t count, size_t kept) {
  return kept + kernels_->keep_from(numbers, floor, logits_ + first, ids_ == nullptr ? nullptr : ids_ + first,
                                    static_cast<int32_t>(first), count, own_logits_ + kept, own_ids_ + kept);
}

void Candidates::keep(std::span<uint64_t> keys) {
  std::sort(keys.begin(), keys.end(), [](uint64_t a, uint64_t b) { return key_index(a) < key_index(b); });
  for (size_t i = 0; i < keys.size(); ++i) {
    const size_t index = key_index(keys[i]);
    const float logit = logits_[index];
    own_ids_[i] = id(index);
    own_logits_[i] = logit;
  }
  kept_in_own(keys.size());
}

void Candidates::keep_up_to(uint64_t key) {
  const size_t last = key_index(key);
  if (logits_[last] > kLowest) return keep_logits(last, last + 1);
  size_t kept_count = 0;
  for (size_t i = 0; i < count_; ++i) {
    if (!(logits_[i] > kLowest) && i > last) continue;
    const float logit = logits_[i];
    own_ids_[kept_count] = id(i);
    own_logits_[kept_count++] = logit;
  }
  kept_in_own(kept_count);
}

void Candidates::keep_before(uint64_t key) {
  assert(logits_[key_index(key)] > kLowest);
  keep_logits(key_index(key), key_index(key));
}

// Those that have the logit of `border` before `end`, or more.
void Candidates::keep_logits(size_t border, size_t end) {
  const float floor = logits_[border];
  if (has_shares_ && leaves_to_draw(shares_[border])) {
    cut_ = {logits_, floor, end};
    return;
  }
  const bool has_max = has_max_;
  keep_by([logits = logits_](size_t first, size_t) { return logits + first; }, floor, end);
  has_max_ = has_max;
}

void Candidates::drop(std::span<uint64_t> keys) {
  assert(keys.size() < count_);
  const auto by_index = [](uint64_t a, uint64_t b) { return key_index(a) < key_index(b); };
  std::sort(keys.begin(), keys.end(), by_index);
  size_t kept_count = 0, from = 0;
  const auto keep_to = [&](size_t end) {
    std::memmove(own_logits_ + kept_count, logits_ + from, (end - from) * sizeof *logits_);
    for (size_t i = from; i < end; ++i) own_ids_[kept_count++] = id(i);
  };
  for (const uint64_t key : keys) {
    keep_to(key_index(key));
    from = key_index(key) + 1;
  }
  keep_to(count_);
  kept_in_own(kept_count);
}

void Candidates::keep_from_logit(float floor) {
  const bool has_max = has_max_;
  kept_in_own(keep_part(logits_, floor, 0, count_, 0));
  has_max_ = has_max;
}

void Candidates::keep_from_share(float least) {
  const float* numbers = shares();
  if (leaves_to_draw(least)) {
    cut_ = {numbers, least, count_};
    return;
  }
  kept_in_own(keep_part(numbers, least, 0, count_, 0));
  has_max_ = true;
}

// A look at all shares costs less than to move many tokens and compute their shares anew.
// `least_share`: of those that stay.
bool Candidates::leaves_to_draw(float least_share) {
  constexpr double kFew = 0.125;
  if (!draws_next_) return false;
  const double sum = has_weights_ ? total() : estimate_total();
  return sum >= kFew * static_cast<double>(count_) * static_cast<double>(least_share);
}

bool Candidates::leave_to_draw(const float* numbers, float floor, size_t end, float likeliest) {
  if (!draws_next_ || !has_shares_ || !(likeliest >= floor)) return false;
  if (likeliest == floor && argmax() >= end) return false;
  cut_ = {numbers, floor, end};
  return true;
}

// By an even sample.
[[gnu::noinline]] double Candidates::estimate_total() const {
  const size_t stride = std::max(count_ / 512, size_t{1});
  double sum = 0;
  for (size_t i = 0; i < count_; i += stride) sum += static_cast<double>(shares_[i]);
  return sum * static_cast<double>(stride);
}

// Those that stay.
[[gnu::noinline]] void Candidates::weigh(const Cut& cut) {
  const float floor = cut.floor;
  total_weight_ = 0;
  for (size_t first = 0; first < count_; first += kChunk) {
    const size_t count = std::min(kChunk, count_ - first);
    const size_t reaching = cut.end <= first ? 0 : std::min(count, cut.end - first);
    const float* n = cut.numbers + first;
    uint64_t weight = kernels_->split(n, floor, floor, shares_ + first, kWeightBase, 0, reaching, nullptr).sum;
    if (reaching < count && floor < std::numeric_limits<float>::infinity()) {
      const float above = next_above(floor);
      weight +=
          kernels_
              ->split(n + reaching, above, above, shares_ + first + reaching, kWeightBase, 0, count - reaching, nullptr)
              .sum;
    }
    chunk_weights_[first / kChunk] = weight;
    total_weight_ += weight;
  }
  has_weights_ = true;
}

bool Candidates::stays(size_t index) const {
  if (cut_.numbers == nullptr) return true;
  const float number = cut_.numbers[index];
  return index < cut_.end ? number >= cut_.floor : number > cut_.floor;
}

size_t Candidates::draw(uint64_t random) {
  if (cut_.numbers != nullptr) {
    weigh(cut_);
  } else {
    shares();
  }
  return find_cumulative(multiply_high(random, total_weight()));
}

size_t Candidates::find_cumulative(uint64_t target) {
  assert(target < total_weight());
  size_t chunk = 0;
  while (target >= chunk_weights_[chunk]) target -= chunk_weights_[chunk++];
  for (size_t i = chunk * kChunk;; ++i) {
    const uint64_t weight = stays(i) ? weight_of(shares_[i]) : 0;
    if (target < weight) return i;
    target -= weight;
  }
}

}  // namespace sotto
