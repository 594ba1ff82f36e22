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
  keys_ = arena.take<uint64_t>(vocabulary_size);
  block_maxima_ = arena.take<float>(2 * divide_up(vocabulary_size, kBlock));
  chunk_weights_ = arena.take<uint64_t>(divide_up(vocabulary_size, kChunk));
  chunk_ = arena.take<float>(kChunk);
  chunk_buckets_ = arena.take<int32_t>(kChunk);
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
      for (size_t i = first; i < first + 64; ++i, ++kept) {
        own_ids_[kept] = static_cast<int32_t>(i);
        own_logits_[kept] = without_nan(logits[i]);
      }
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
  has_total_weight_ = false;
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
  has_total_weight_ = false;
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
      if (logits_[i] >= floor) keys_[collected++] = sort_key(logits_[i], i);
    }
  }
  return {keys_, collected};
}

template <typename Keep>
void Candidates::keep_if(float floor, Keep keep) {
  size_t kept = 0;
  for (size_t first = 0; first < count_; first += kBlock) {
    if (has_block_maxima_ && block_maxima_[first / kBlock] < floor) continue;
    const size_t end = std::min(first + kBlock, count_);
    for (size_t i = first; i < end; ++i) {
      // Written always and counted if kept: a branch could not be predicted.
      const bool stays = keep(i);
      own_ids_[kept] = id(i);
      own_logits_[kept] = logits_[i];
      kept += stays ? 1 : 0;
    }
  }
  kept_in_own(kept);
}

void Candidates::kept_in_own(size_t kept) {
  assert(kept > 0);
  count_ = kept;
  ids_ = own_ids_;
  logits_ = own_logits_;
  changed();
}

void Candidates::keep(std::span<uint64_t> keys) {
  std::sort(keys.begin(), keys.end(),
            [](uint64_t a, uint64_t b) { return key_index(a) < key_index(b); });
  for (size_t i = 0; i < keys.size(); ++i) {
    const size_t index = key_index(keys[i]);
    own_ids_[i] = id(index);
    own_logits_[i] = logits_[index];
  }
  kept_in_own(keys.size());
}

void Candidates::keep_up_to(uint64_t key) {
  const size_t last = key_index(key);
  const float floor = logits_[last];
  if (floor > kLowest) {
    keep_if(floor, [&](size_t i) {
      return (logits_[i] > floor) | ((logits_[i] == floor) & (i <= last));
    });
  } else {
    keep_if(kLowest, [&](size_t i) { return (logits_[i] > kLowest) | (i <= last); });
  }
}

void Candidates::keep_from_logit(float floor) {
  keep_if(floor, [&](size_t i) { return logits_[i] >= floor; });
}

void Candidates::keep_from_relative_probability(float least) {
  const float* y = nullptr;
  keep_if(kLowest, [&](size_t i) {
    if (i % kChunk == 0) y = relative_probabilities(i, std::min(kChunk, count_ - i));
    return y[i % kChunk] >= least;
  });
}

template <typename LogitAt>
void Candidates::shift(size_t count, LogitAt logit_at) {
  assert(count <= kChunk && max() > kLowest);
  const float largest = max();
  const float scale = inverse_temperature_;
  float* y = chunk_;
  for (size_t i = 0; i < count; ++i) {
    // NaN becomes kLowest, and infinity less infinity 0. In this form compilers vectorize.
    const float l = logit_at(i);
    float difference = (l >= kLowest ? l : kLowest) - largest;
    difference = difference <= 0 ? difference : 0.0f;
    y[i] = difference * scale;
  }
}

template <typename LogitAt>
const float* Candidates::exponentials(size_t count, LogitAt logit_at) {
  shift(count, logit_at);
  kernels_->exp_shifted(chunk_, count, 0.0f, chunk_);
  return chunk_;
}

const int32_t* Candidates::buckets(size_t first, size_t count) {
  shift(count, [logits = logits_ + first](size_t i) { return logits[i]; });
  constexpr auto kLast = static_cast<float>(kBuckets - 1);
  constexpr float kBucketsPerUnit = 32;
  const float* shifted = chunk_;
  int32_t* buckets = chunk_buckets_;
  for (size_t i = 0; i < count; ++i) {
    const float place = shifted[i] * -kBucketsPerUnit;
    buckets[i] = static_cast<int32_t>(place < kLast ? place : kLast);
  }
  return buckets;
}

Candidates::Border Candidates::find_border(Measure measure, uint64_t target) {
  std::fill_n(bucket_sums_, kBuckets, 0);
  for (size_t first = 0; first < count_; first += kChunk) {
    const size_t count = std::min(kChunk, count_ - first);
    const int32_t* bucket = buckets(first, count);
    if (measure == Measure::kCount) {
      for (size_t i = 0; i < count; ++i) ++bucket_sums_[bucket[i]];
    } else {
      kernels_->exp_shifted(chunk_, count, 0.0f, chunk_);
      for (size_t i = 0; i < count; ++i) bucket_sums_[bucket[i]] += weight_of(chunk_[i]);
    }
  }
  int32_t border = 0;
  uint64_t before = 0;
  while (before + bucket_sums_[border] < target) before += bucket_sums_[border++];
  size_t collected = 0;
  for (size_t first = 0; first < count_; first += kChunk) {
    const size_t count = std::min(kChunk, count_ - first);
    const int32_t* bucket = buckets(first, count);
    for (size_t i = 0; i < count; ++i) {
      if (bucket[i] == border) keys_[collected++] = sort_key(logits_[first + i], first + i);
    }
  }
  return {{keys_, collected}, before};
}

const float* Candidates::relative_probabilities(size_t first, size_t count) {
  return exponentials(count, [logits = logits_ + first](size_t i) { return logits[i]; });
}

const float* Candidates::relative_probabilities(std::span<const uint64_t> keys) {
  return exponentials(keys.size(), [keys, logits = logits_](size_t i) {
    return logits[key_index(keys[i])];
  });
}

uint64_t Candidates::total_weight() {
  if (has_total_weight_) return total_weight_;
  total_weight_ = 0;
  for (size_t first = 0; first < count_; first += kChunk) {
    const size_t count = std::min(kChunk, count_ - first);
    const float* y = relative_probabilities(first, count);
    uint64_t sum = 0;
    for (size_t i = 0; i < count; ++i) sum += weight_of(y[i]);
    chunk_weights_[first / kChunk] = sum;
    total_weight_ += sum;
  }
  has_total_weight_ = true;
  return total_weight_;
}

uint64_t Candidates::weight(std::span<const uint64_t> keys) {
  uint64_t sum = 0;
  while (!keys.empty()) {
    const size_t count = std::min(kChunk, keys.size());
    const float* y = relative_probabilities(keys.first(count));
    for (size_t i = 0; i < count; ++i) sum += weight_of(y[i]);
    keys = keys.subspan(count);
  }
  return sum;
}

double Candidates::log_probability(size_t index) {
  if (!(logits_[index] > kLowest)) return static_cast<double>(kLowest);
  const double sum = static_cast<double>(total_weight()) * 0x1p-40;
  if (logits_[index] == max()) return -ln(sum);
  const double difference = static_cast<double>(logits_[index]) - static_cast<double>(max());
  return difference * static_cast<double>(inverse_temperature_) - ln(sum);
}

size_t Candidates::find_cumulative(uint64_t target) {
  assert(target < total_weight());
  size_t chunk = 0;
  while (target >= chunk_weights_[chunk]) target -= chunk_weights_[chunk++];
  const size_t first = chunk * kChunk;
  const float* y = relative_probabilities(first, std::min(kChunk, count_ - first));
  size_t i = 0;
  for (uint64_t weight = weight_of(y[0]); target >= weight; weight = weight_of(y[i])) {
    target -= weight;
    ++i;
  }
  return first + i;
}

}  // namespace sotto
