#include "runtime/sampling/candidates.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

#include "runtime/base/scalar_math.h"

namespace sotto {

namespace {

size_t divide_up(size_t value, size_t divisor) { return (value + divisor - 1) / divisor; }

float without_nan(float logit) { return logit == logit ? logit : Candidates::kLowest; }

}  // namespace

void Candidates::place(size_t vocabulary_size, Arena& arena) {
  assert(vocabulary_size <= kMaxVocabularySize);
  vocabulary_size_ = vocabulary_size;
  own_logits_ = arena.take<float>(vocabulary_size);
  own_ids_ = arena.take<int32_t>(vocabulary_size);
  shares_ = arena.take<float>(vocabulary_size);
  keys_ = arena.take<uint64_t>(vocabulary_size);
  block_maxima_ = arena.take<float>(2 * divide_up(vocabulary_size, kBlock));
  chunk_weights_ = arena.take<uint64_t>(divide_up(vocabulary_size, kChunk));
  chunk_ = arena.take<float>(kChunk);
  bucket_sums_ = arena.take<uint64_t>(kBuckets);
}

void Candidates::begin(const Kernels& kernels, std::span<const float> logits,
                       const TokenMask& mask) {
  assert(logits.size() == vocabulary_size_);
  kernels_ = &kernels;
  logits_ = logits.data();
  ids_ = nullptr;
  count_ = vocabulary_size_;
  inverse_temperature_ = 1.0f;
  changed();
  if (mask.allows_all()) return;
  assert(mask.token_count == vocabulary_size_);
  size_t kept = 0;
  for (size_t first = 0; first < vocabulary_size_; first += 64) {
    uint64_t word = mask.words[first / 64];
    if (vocabulary_size_ - first < 64) word &= (uint64_t{1} << (vocabulary_size_ - first)) - 1;
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
    for (; word != 0; word &= word - 1, ++kept) {
      const size_t token = first + static_cast<size_t>(std::countr_zero(word));
      own_ids_[kept] = static_cast<int32_t>(token);
      own_logits_[kept] = without_nan(logits[token]);
    }
  }
  assert(kept > 0);
  count_ = kept;
  ids_ = own_ids_;
  logits_ = own_logits_;
}

void Candidates::changed() {
  has_max_ = false;
  has_block_maxima_ = false;
  has_shares_ = false;
}

float Candidates::max() {
  if (!has_max_) {
    max_ = kernels_->max(logits_, count_);
    has_max_ = true;
  }
  return max_;
}

size_t Candidates::argmax() const {
  const size_t best = kernels_->argmax(logits_, count_);
  return logits_[best] > kLowest ? best : 0;
}

// What is divided so far is divided for good. A factor that would make a logit infinite is
// as large as it can be without: the order of the tokens stays.
void Candidates::own_logits() {
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
    changed();
  } else if (logits_ != own_logits_) {
    std::memcpy(own_logits_, logits_, count_ * sizeof *logits_);
  }
  logits_ = own_logits_;
}

void Candidates::divide_by(float temperature) {
  assert(temperature > 0);
  // The largest float keeps 0 * inverse at 0 where 1/T would overflow.
  inverse_temperature_ = std::min(inverse_temperature_ * (1.0f / temperature),
                                  std::numeric_limits<float>::max());
  has_shares_ = false;
}

const float* Candidates::shares() {
  if (has_shares_) return shares_;
  const float largest = max();
  assert(largest > kLowest);
  total_weight_ = 0;
  for (size_t first = 0; first < count_; first += kChunk) {
    const size_t count = std::min(kChunk, count_ - first);
    const uint64_t weight = kernels_->exp_weights(logits_ + first, count, largest,
                                                  inverse_temperature_, shares_ + first);
    chunk_weights_[first / kChunk] = weight;
    total_weight_ += weight;
  }
  has_shares_ = true;
  return shares_;
}

uint64_t Candidates::total_weight() {
  shares();
  return total_weight_;
}

size_t Candidates::find_cumulative(uint64_t target) {
  assert(target < total_weight());
  size_t chunk = 0;
  while (target >= chunk_weights_[chunk]) target -= chunk_weights_[chunk++];
  size_t i = chunk * kChunk;
  for (uint64_t weight = weight_of(shares_[i]); target >= weight; weight = weight_of(shares_[i])) {
    target -= weight;
    ++i;
  }
  return i;
}

Gaps Candidates::gaps() { return {logits_, max(), inverse_temperature_}; }

double Candidates::entropy() {
  const float* y = shares();
  const Gaps gap = gaps();
  constexpr size_t kSums = 8;  // of which every eighth index has its own
  double sums[kSums] = {};
  const size_t count = count_;
  size_t i = 0;
  // A share is 0 or at least FLT_MIN, so its logit is finite.
  const auto term = [=](size_t index) {
    return static_cast<double>(zero_unless(y[index] > 0, y[index] * gap(index)));
  };
  for (; i + kSums <= count; i += kSums) {
    for (size_t k = 0; k < kSums; ++k) sums[k] += term(i + k);
  }
  for (size_t k = 0; i < count; ++i, ++k) sums[k] += term(i);
  const double sum = ((sums[0] + sums[4]) + (sums[2] + sums[6])) +
                     ((sums[1] + sums[5]) + (sums[3] + sums[7]));
  return ln(total()) + sum / total();
}

double Candidates::log_probability(size_t index) {
  if (!(logits_[index] > kLowest)) return static_cast<double>(kLowest);
  const double sum = total();
  if (logits_[index] == max()) return -ln(sum);
  const double difference = static_cast<double>(logits_[index]) - static_cast<double>(max());
  return difference * static_cast<double>(inverse_temperature_) - ln(sum);
}

const float* Candidates::block_maxima() {
  if (!has_block_maxima_) {
    const size_t blocks = divide_up(count_, kBlock);
    for (size_t b = 0; b < blocks; ++b) {
      block_maxima_[b] =
          kernels_->max(logits_ + b * kBlock, std::min(kBlock, count_ - b * kBlock));
    }
    has_block_maxima_ = true;
    max_ = kernels_->max(block_maxima_, blocks);
    has_max_ = true;
  }
  return block_maxima_;
}

float Candidates::reached_by(size_t k) {
  assert(k > 0);
  const size_t blocks = divide_up(count_, kBlock);
  if (k > blocks) return kLowest;
  float* order = block_maxima_ + divide_up(vocabulary_size_, kBlock);
  std::memcpy(order, block_maxima(), blocks * sizeof *order);
  std::nth_element(order, order + (k - 1), order + blocks, std::greater<float>());
  return order[k - 1];
}

std::span<uint64_t> Candidates::collect_keys(float floor) {
  size_t collected = 0;
  if (!(floor > kLowest)) {
    for (size_t i = 0; i < count_; ++i) keys_[i] = sort_key(logits_[i], i);
    return {keys_, count_};
  }
  for (size_t first = 0; first < count_; first += kBlock) {
    if (has_block_maxima_ && block_maxima_[first / kBlock] < floor) continue;
    const size_t end = std::min(first + kBlock, count_);
    for (size_t i = first; i < end; ++i) {
      // Written always and counted if it belongs: a branch could not be predicted.
      keys_[collected] = sort_key(logits_[i], i);
      collected += logits_[i] >= floor ? 1 : 0;
    }
  }
  return {keys_, collected};
}

void Candidates::kept_in_own(size_t count) {
  assert(count > 0);
  count_ = count;
  ids_ = own_ids_;
  logits_ = own_logits_;
  changed();
}

size_t Candidates::keep_part(const float* numbers, float floor, size_t first, size_t count,
                             size_t kept) {
  return kept + kernels_->keep_from(numbers, floor, logits_ + first,
                                    ids_ == nullptr ? nullptr : ids_ + first,
                                    static_cast<int32_t>(first), count, own_logits_ + kept,
                                    own_ids_ + kept);
}

void Candidates::keep(std::span<uint64_t> keys) {
  std::sort(keys.begin(), keys.end(),
            [](uint64_t a, uint64_t b) { return key_index(a) < key_index(b); });
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
  const float floor = logits_[last];
  if (floor > kLowest) {
    return keep_logits(floor, last + 1);
  }
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
  keep_logits(logits_[key_index(key)], key_index(key));
}

void Candidates::keep_logits(float floor, size_t end) {
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
  kept_in_own(keep_part(shares(), least, 0, count_, 0));
  has_max_ = true;
}

}  // namespace sotto
