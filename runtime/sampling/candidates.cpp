#include "runtime/sampling/candidates.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "runtime/base/random.h"
#include "runtime/base/range_check.h"

namespace sotto {

namespace {

float without_nan(float logit) { return logit == logit ? logit : kMinusInfinity; }

}  // namespace

void TokenWeights::layout(Arena& arena, size_t vocabulary_size) {
  weights_ = arena.take<float>(vocabulary_size);
  chunk_totals_ = arena.take<uint64_t>(divide_up(vocabulary_size, kChunk));
}

void TokenWeights::compute(const Kernels& kernels, std::span<const float> logits, float max,
                           float inverse_temperature) {
  assert(max > kMinusInfinity);
  logits_ = logits.data();
  count_ = logits.size();
  max_ = max;
  inverse_temperature_ = inverse_temperature;
  truncation_ = {};
  total_ = 0;
  for (size_t first = 0; first < count_; first += kChunk) {
    const size_t count = std::min(kChunk, count_ - first);
    const uint64_t total = kernels.exp_weights(&logits[first], count, max, inverse_temperature, weights_ + first);
    chunk_totals_[first / kChunk] = total;
    total_ += total;
  }
}

[[gnu::noinline]] void TokenWeights::restrict_to(const Kernels& kernels, const Truncation& truncation) {
  truncation_ = truncation;
  const auto [values, floor, end] = truncation;
  const float above = floor < std::numeric_limits<float>::infinity() ? next_above(floor) : floor;
  total_ = 0;
  for (size_t first = 0; first < count_; first += kChunk) {
    const size_t count = std::min(kChunk, count_ - first);
    const size_t reaching = end <= first ? 0 : std::min(count, end - first);
    const float* n = values + first;
    const float* w = weights_ + first;
    uint64_t total = kernels.sum_and_collect(n, floor, floor, w, 0, reaching, nullptr).sum;
    if (reaching < count && above > floor) {
      total += kernels.sum_and_collect(n + reaching, above, above, w + reaching, 0, count - reaching, nullptr).sum;
    }
    chunk_totals_[first / kChunk] = total;
    total_ += total;
  }
}

size_t TokenWeights::find(uint64_t target) const {
  assert(target < total_);
  size_t chunk = 0;
  while (target >= chunk_totals_[chunk]) target -= chunk_totals_[chunk++];
  for (size_t i = chunk * kChunk;; ++i) {
    const uint64_t part = to_fixed(weight(i));
    if (target < part) return i;
    target -= part;
  }
}

size_t TokenWeights::positive_count() const {
  size_t count = 0;
  for (size_t i = 0; i < count_; ++i) count += weight(i) > 0 ? 1 : 0;
  return count;
}

void Candidates::layout(Arena& arena, size_t vocabulary_size, const SamplerScratch& scratch) {
  assert(vocabulary_size <= kMaxVocabularySize);
  vocabulary_size_ = vocabulary_size;
  own_logits_ = arena.take<float>(vocabulary_size);
  own_ids_ = arena.take<int32_t>(vocabulary_size);
  weights_.layout(arena, vocabulary_size);
  ranking_.layout(arena, vocabulary_size, scratch);
}

void Candidates::begin(const Kernels& kernels, std::span<const float> logits, const TokenMask& mask) {
  assert(logits.size() == vocabulary_size_);
  kernels_ = &kernels;
  logits_ = logits.data();
  ids_ = nullptr;
  count_ = vocabulary_size_;
  inverse_temperature_ = 1.0f;
  truncation_ = {};
  if (mask.allows_all()) return forget_sums();
  assert(mask.token_count == vocabulary_size_);
  size_t kept = 0;
  for (size_t first = 0; first < vocabulary_size_; first += 64) {
    const uint64_t word = mask.word(first / 64);
    if (word == UINT64_MAX) {
      int32_t* ids = own_ids_ + kept;
      float* own = own_logits_ + kept;
      for (size_t i = 0; i < 64; ++i) {
        ids[i] = static_cast<int32_t>(first + i);
        own[i] = without_nan(logits[first + i]);
      }
      kept += 64;
      continue;
    }
    for (const uint32_t bit : SetBits(word)) {
      own_ids_[kept] = static_cast<int32_t>(first + bit);
      own_logits_[kept++] = without_nan(logits[first + bit]);
    }
  }
  assert(kept > 0);
  count_ = kept;
  ids_ = own_ids_;
  logits_ = own_logits_;
  forget_sums();
}

// Forgets the values that were computed from the logits. They are computed again on demand.
void Candidates::forget_sums() {
  weights_.clear();
  ranking_.set(*kernels_, {logits_, count_});
}

size_t Candidates::index_of(int32_t token) const {
  if (!is_token(token, vocabulary_size_)) return count_;
  if (ids_ == nullptr) return static_cast<size_t>(token);
  const int32_t* at = std::lower_bound(ids_, ids_ + count_, token);
  return at != ids_ + count_ && *at == token ? static_cast<size_t>(at - ids_) : count_;
}

// Copies the logits to the sampler's memory and divides them by the recorded temperature. The factor 1/T is limited so
// that no finite logit becomes infinite, because infinities would change the order of the tokens.
void Candidates::own_logits() {
  assert(is_complete());
  if (inverse_temperature_ != 1.0f) {
    float factor = inverse_temperature_;
    if (factor > 1) {
      float largest = 1;
      for (size_t i = 0; i < count_; ++i) {
        const float size = std::fabs(logits_[i]);
        if (size > largest && size <= std::numeric_limits<float>::max()) largest = size;
      }
      factor = std::min(factor, std::numeric_limits<float>::max() / largest);
    }
    for (size_t i = 0; i < count_; ++i) own_logits_[i] = logits_[i] * factor;
    inverse_temperature_ = 1.0f;
  } else if (logits_ != own_logits_) {
    std::memcpy(own_logits_, logits_, count_ * sizeof *logits_);
  } else {
    return;
  }
  logits_ = own_logits_;
  forget_sums();
}

void Candidates::divide_by(float temperature) {
  assert(temperature > 0 && is_complete());
  // If 1/T overflows, the largest float is used instead, so that 0 times the factor stays 0.
  inverse_temperature_ = std::min(inverse_temperature_ * (1.0f / temperature), std::numeric_limits<float>::max());
  weights_.clear();
}

const float* Candidates::weights() const {
  assert(is_complete());
  if (!weights_.is_valid()) weights_.compute(*kernels_, {logits_, count_}, max(), inverse_temperature_);
  return weights_.data();
}

uint64_t Candidates::total_fixed() const {
  (void)weights();
  return weights_.total();
}

float* Candidates::scratch_weights() {
  weights();
  weights_.clear();
  return weights_.data();
}

// Returns whether a draw should skip the tokens that the recorded truncation excludes, or else drop them first.
// Skipping is faster if many tokens remain, because their weights need not be computed again.
bool Candidates::should_restrict_weights() const {
  constexpr double kMinRatio = 0.125;  // share of the tokens that must remain, by the estimate below
  if (is_complete() || !weights_.is_valid()) return false;
  // The smallest weight that remains. At most total / min_weight tokens remain; this bound is the estimate.
  const float min_weight = truncation_.values == logits_ ? weights_.data()[truncation_.end - 1] : truncation_.floor;
  const double total = static_cast<double>(weights_.total()) * 0x1p-40;
  return total >= kMinRatio * static_cast<double>(count_) * static_cast<double>(min_weight);
}

// Returns the weights of the tokens that can be drawn: restricted to the recorded truncation, or of a completed set.
const TokenWeights& Candidates::drawn_weights() {
  if (weights_.is_restricted()) return weights_;
  if (should_restrict_weights()) {
    weights_.restrict_to(*kernels_, truncation_);
  } else {
    apply_truncation();
    (void)weights();
  }
  return weights_;
}

int32_t Candidates::draw(uint64_t random) {
  const TokenWeights& weights = drawn_weights();
  const size_t index = weights.find(multiply_high(random, weights.total()));
  return ids_ == nullptr ? static_cast<int32_t>(index) : ids_[index];
}

double Candidates::log_probability(int32_t token) {
  const size_t index = index_of(token);
  const bool is_in_set = index < count_ && truncation_.keeps(index);
  const float logit = is_in_set ? logits_[index] : kMinusInfinity;
  if (!(logit > kMinusInfinity)) return static_cast<double>(kMinusInfinity);
  const double log_total = ln(static_cast<double>(drawn_weights().total()) * 0x1p-40);
  if (logit == max()) return -log_total;
  const double difference = static_cast<double>(logit) - static_cast<double>(max());
  return difference * static_cast<double>(inverse_temperature_) - log_total;
}

size_t Candidates::positive_weight_count() { return drawn_weights().positive_count(); }

// Continues with the first `count` tokens in own_logits_ and own_ids_. `keeps_max` says whether they include the
// largest logit.
void Candidates::adopt_own(size_t count, bool keeps_max) {
  assert(count > 0 && is_complete());
  const bool kept_all = count == count_;
  count_ = count;
  ids_ = own_ids_;
  logits_ = own_logits_;
  if (!kept_all && !keeps_max) return forget_sums();
  if (!kept_all) weights_.clear();
  ranking_.truncate({logits_, count_});
}

size_t Candidates::keep_part(const float* values, float floor, size_t first, size_t count, size_t kept) {
  return kept + kernels_->keep_from(values + first, floor, logits_ + first, ids_ == nullptr ? nullptr : ids_ + first,
                                    static_cast<int32_t>(first), count, own_logits_ + kept, own_ids_ + kept);
}

void Candidates::keep_up_to(uint64_t key) {
  assert(is_complete());
  const size_t last = key_index(key);
  const float floor = logits_[last];
  if (!(floor > kMinusInfinity)) return keep_if([&](size_t i) { return logits_[i] > kMinusInfinity || i <= last; });
  truncation_ = {logits_, floor, last + 1};
}

void Candidates::keep_top(size_t count) {
  if (count < this->count()) keep_up_to(ranking_.key_of_rank(count));
}

void Candidates::keep_from_weight(float floor) { truncation_ = {weights(), floor, count_}; }

void Candidates::drop_excluded() {
  const auto [values, floor, end] = std::exchange(truncation_, {});
  size_t kept = keep_part(values, floor, 0, end, 0);
  if (end < count_ && floor < std::numeric_limits<float>::infinity()) {
    kept = keep_part(values, next_above(floor), end, count_ - end, kept);
  }
  if (weights_.is_restricted()) weights_.clear();
  adopt_own(kept, /*keeps_max=*/true);
}

void Candidates::keep_from_logit(float floor) {
  assert(is_complete());
  adopt_own(keep_part(logits_, floor, 0, count_, 0), /*keeps_max=*/true);
}

bool Candidates::keep_tokens(std::span<const int32_t> tokens) {
  assert(is_complete());
  size_t kept = 0;
  size_t next = 0;  // elements before this index may be overwritten
  for (const int32_t token : tokens) {
    if (!is_token(token, vocabulary_size_)) continue;
    size_t index = static_cast<size_t>(token);
    if (ids_ != nullptr) {
      const int32_t* at = std::lower_bound(ids_ + next, ids_ + count_, token);
      index = static_cast<size_t>(at - ids_);
      if (index == count_ || *at != token) continue;
    }
    assert(kept <= index);
    own_ids_[kept] = token;
    own_logits_[kept++] = logits_[index];
    next = index + 1;
  }
  if (kept > 0) adopt_own(kept, /*keeps_max=*/false);
  return kept > 0;
}

double entropy(const Candidates& candidates) {
  const float* w = candidates.weights();
  const size_t count = candidates.count();
  FoldedSum sum;
  for (size_t i = 0; i < count; ++i) sum.add(i, zero_unless(w[i] != 0, w[i] * candidates.gap(i)));
  return ln(candidates.total()) + sum.fold() / candidates.total();
}

}  // namespace sotto
