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

void Candidates::begin(const Kernels& kernels, std::span<const float> logits, const TokenMask& mask) {
  assert(logits.size() == vocabulary_size_);
  kernels_ = &kernels;
  logits_ = logits.data();
  ids_ = nullptr;
  count_ = vocabulary_size_;
  inverse_temperature_ = 1.0f;
  draws_next_ = false;
  cut_ = {};
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
  inverse_temperature_ = std::min(inverse_temperature_ * (1.0f / temperature), std::numeric_limits<float>::max());
  has_shares_ = false;
}

const float* Candidates::shares() {
  if (has_shares_) return shares_;
  const float largest = max();
  assert(largest > kLowest);
  total_weight_ = 0;
  for (size_t first = 0; first < count_; first += kChunk) {
    const size_t count = std::min(kChunk, count_ - first);
    const uint64_t weight =
        kernels_->exp_weights(logits_ + first, count, largest, inverse_temperature_, shares_ + first);
    chunk_weights_[first / kChunk] = weight;
    total_weight_ += weight;
  }
  has_shares_ = has_weights_ = true;
  return shares_;
}

const float* Candidates::shares_alone() {
  if (has_shares_) return shares_;
  const float largest = max();
  assert(largest > kLowest);
  kernels_->exp_shares(logits_, count_, largest, inverse_temperature_, shares_);
  has_shares_ = true;
  has_weights_ = false;
  return shares_;
}

float* Candidates::take_shares() {
  shares_alone();
  has_shares_ = false;
  return shares_;
}

uint64_t Candidates::total_weight() {
  shares();
  if (!has_weights_) weigh({shares_, 0, count_});
  return total_weight_;
}

Gaps Candidates::gaps() { return {logits_, max(), inverse_temperature_}; }

double Candidates::entropy() {
  const float* y = shares();
  const double sum = kernels_->sum_gaps(logits_, y, count_, max(), inverse_temperature_);
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
      block_maxima_[b] = kernels_->max(logits_ + b * kBlock, std::min(kBlock, count_ - b * kBlock));
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
  if (!(floor > kLowest)) {
    for (size_t i = 0; i < count_; ++i) keys_[i] = sort_key(logits_[i], i);
    return {keys_, count_};
  }
  return keys_of_indices(count_between(floor, kNoCeiling).between);
}

std::span<uint64_t> Candidates::collect_up_to(uint64_t key) {
  const size_t last = key_index(key);
  const float floor = logits_[last];
  if (!(floor > kLowest)) {
    const std::span<uint64_t> all = collect_keys(kLowest);
    const auto end = std::remove_if(all.begin(), all.end(), [key](uint64_t k) { return k > key; });
    return all.first(static_cast<size_t>(end - all.begin()));
  }
  // Of those that are equal to the last, many may lie behind it.
  size_t collected = collect_part(floor, kNoCeiling, 0, last + 1, 0).collected;
  if (floor < std::numeric_limits<float>::infinity()) {
    collected += collect_part(next_above(floor), kNoCeiling, last + 1, count_, collected).collected;
  }
  return keys_of_indices(collected);
}

std::span<uint64_t> Candidates::keys_of_indices(size_t count) {
  const int32_t* all = indices();
  for (size_t i = 0; i < count; ++i) {
    const auto index = static_cast<size_t>(all[i]);
    keys_[i] = sort_key(logits_[index], index);
  }
  return {keys_, count};
}

Candidates::Counts Candidates::count_between(float floor, float ceiling) {
  const Split split = collect_part(floor, ceiling, 0, count_, 0);
  return {static_cast<size_t>(split.sum >> kWeightBits), split.collected};
}

// Of the indices [begin, end); behind those that are collected already.
Split Candidates::collect_part(float floor, float ceiling, size_t begin, size_t end, size_t collected) {
  float ones[kChunk];
  std::fill_n(ones, kChunk, 1.0f);
  Split all = {};
  int32_t* room = indices() + collected;
  const size_t step = has_block_maxima_ ? kBlock : kChunk;
  for (size_t first = begin; first < end;) {
    const size_t next = std::min(end, (first / step + 1) * step);
    if (!has_block_maxima_ || block_maxima_[first / kBlock] >= floor) {
      const Split split = kernels_->split(logits_ + first, floor, ceiling, ones, kWeightBase,
                                          static_cast<int32_t>(first), next - first, room + all.collected);
      all.sum += split.sum;
      all.collected += split.collected;
    }
    first = next;
  }
  return all;
}

}  // namespace sotto
