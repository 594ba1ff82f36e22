#include "runtime/sampling/candidates.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

#include "runtime/base/random.h"

namespace sotto {

namespace {

constexpr size_t kBorderSample = 2048;

size_t divide_up(size_t value, size_t divisor) { return (value + divisor - 1) / divisor; }

float without_nan(float logit) { return logit == logit ? logit : Candidates::kLowest; }

}  // namespace

void Candidates::layout(Arena& arena, size_t vocabulary_size) {
  assert(vocabulary_size <= kMaxVocabularySize);
  vocabulary_size_ = vocabulary_size;
  own_logits_ = arena.take<float>(vocabulary_size);
  own_ids_ = arena.take<int32_t>(vocabulary_size);
  weights_ = arena.take<float>(vocabulary_size);
  keys_ = arena.take<uint64_t>(vocabulary_size);
  block_maxima_ = arena.take<float>(2 * divide_up(vocabulary_size, kBlock));
  chunk_totals_ = arena.take<uint64_t>(divide_up(vocabulary_size, kChunk));
  ones_ = arena.take<float>(kChunk);
  if (ones_ != nullptr) std::fill_n(ones_, kChunk, 1.0f);
  bucket_sums_ = arena.take<uint64_t>(kBucketCount);
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
  has_weights_ = false;
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

size_t Candidates::find(int32_t token) const {
  if (token < 0 || static_cast<size_t>(token) >= vocabulary_size_) return count_;
  if (ids_ == nullptr) return static_cast<size_t>(token);
  const int32_t* place = std::lower_bound(ids_, ids_ + count_, token);
  return place != ids_ + count_ && *place == token ? static_cast<size_t>(place - ids_) : count_;
}

std::span<float> Candidates::edit() {
  own_logits();
  changed();
  return {own_logits_, count_};
}

void Candidates::rewrite(LogitsFunction function, void* user_data) {
  const std::span<float> own = edit();
  if (ids_ == nullptr) {
    function(user_data, own.data(), own.size());
    for (float& logit : own) logit = logit == logit ? logit : kLowest;
    return;
  }
  auto* whole = reinterpret_cast<float*>(keys_);
  std::fill_n(whole, vocabulary_size_, kLowest);
  for (size_t i = 0; i < count_; ++i) whole[ids_[i]] = own[i];
  function(user_data, whole, vocabulary_size_);
  for (size_t i = 0; i < count_; ++i) {
    const float logit = whole[ids_[i]];
    own[i] = logit == logit ? logit : kLowest;
  }
}

// Carries out the pending division. The factor is limited so that no finite logit becomes infinite and
// the order of the tokens stays.
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
  has_weights_ = false;
}

const float* Candidates::weights() {
  if (has_weights_) return weights_;
  const float largest = max();
  assert(largest > kLowest);
  total_fixed_ = 0;
  for (size_t first = 0; first < count_; first += kChunk) {
    const size_t count = std::min(kChunk, count_ - first);
    const uint64_t total =
        kernels_->exp_weights(logits_ + first, count, largest, inverse_temperature_, weights_ + first);
    chunk_totals_[first / kChunk] = total;
    total_fixed_ += total;
  }
  has_weights_ = true;
  return weights_;
}

uint64_t Candidates::total_fixed() {
  weights();
  return total_fixed_;
}

float* Candidates::take_weights() {
  weights();
  has_weights_ = false;
  return weights_;
}

double Candidates::entropy() {
  const float* w = weights();
  FoldedSum sum;
  for (size_t i = 0; i < count_; ++i) sum.add(i, zero_unless(w[i] != 0, w[i] * gap(i)));
  return ln(total()) + sum.fold() / total();
}

double Candidates::log_probability(size_t index) {
  if (!(logits_[index] > kLowest)) return static_cast<double>(kLowest);
  const double sum = total();
  if (logits_[index] == max()) return -ln(sum);
  const double difference = static_cast<double>(logits_[index]) - static_cast<double>(max());
  return difference * static_cast<double>(inverse_temperature_) - ln(sum);
}

size_t Candidates::draw(uint64_t random) {
  if (cut_.numbers != nullptr) {
    weigh_kept();
  } else {
    weights();
  }
  return find_cumulative(multiply_high(random, total_fixed_));
}

size_t Candidates::find_cumulative(uint64_t target) {
  assert(target < total_fixed());
  size_t chunk = 0;
  while (target >= chunk_totals_[chunk]) target -= chunk_totals_[chunk++];
  for (size_t i = chunk * kChunk;; ++i) {
    const uint64_t weight = stays(i) ? to_fixed(weights_[i]) : 0;
    if (target < weight) return i;
    target -= weight;
  }
}

// Sums the weights of those that a pending truncation keeps.
[[gnu::noinline]] void Candidates::weigh_kept() {
  const float floor = cut_.floor;
  const float above = floor < std::numeric_limits<float>::infinity() ? next_above(floor) : floor;
  total_fixed_ = 0;
  for (size_t first = 0; first < count_; first += kChunk) {
    const size_t count = std::min(kChunk, count_ - first);
    const size_t reaching = cut_.end <= first ? 0 : std::min(count, cut_.end - first);
    const float* n = cut_.numbers + first;
    const float* w = weights_ + first;
    uint64_t total = kernels_->split(n, floor, floor, w, 0, reaching, nullptr).sum;
    if (reaching < count && above > floor) {
      total += kernels_->split(n + reaching, above, above, w + reaching, 0, count - reaching, nullptr).sum;
    }
    chunk_totals_[first / kChunk] = total;
    total_fixed_ += total;
  }
}

bool Candidates::stays(size_t index) const {
  if (cut_.numbers == nullptr) return true;
  const float number = cut_.numbers[index];
  return index < cut_.end ? number >= cut_.floor : number > cut_.floor;
}

void Candidates::kept_in_own(size_t count) {
  assert(count > 0 && cut_.numbers == nullptr);
  const bool kept_all = count == count_;
  count_ = count;
  ids_ = own_ids_;
  logits_ = own_logits_;
  if (!kept_all) changed();
}

size_t Candidates::keep_part(const float* numbers, float floor, size_t first, size_t count, size_t kept) {
  return kept + kernels_->keep_from(numbers + first, floor, logits_ + first, ids_ == nullptr ? nullptr : ids_ + first,
                                    static_cast<int32_t>(first), count, own_logits_ + kept, own_ids_ + kept);
}

// Returns whether a truncation stays pending: testing all tokens in draw() costs less than moving many and
// computing their weights again. `least_weight`: of those that stay.
bool Candidates::leaves_to_draw(float least_weight) {
  constexpr double kFew = 0.125;
  return draws_next_ && has_weights_ &&
         total() >= kFew * static_cast<double>(count_) * static_cast<double>(least_weight);
}

void Candidates::keep_up_to(uint64_t key) {
  const size_t last = key_index(key);
  const float floor = logits_[last];
  if (!(floor > kLowest)) return keep_if([&](size_t i) { return logits_[i] > kLowest || i <= last; });
  if (leaves_to_draw(has_weights_ ? weights_[last] : 0)) {
    cut_ = {logits_, floor, last + 1};
    return;
  }
  const bool has_max = has_max_;
  size_t kept = keep_part(logits_, floor, 0, last + 1, 0);
  if (floor < std::numeric_limits<float>::infinity()) {
    kept = keep_part(logits_, next_above(floor), last + 1, count_ - (last + 1), kept);
  }
  kept_in_own(kept);
  has_max_ = has_max;
}

void Candidates::keep_from_logit(float floor) {
  const bool has_max = has_max_;
  kept_in_own(keep_part(logits_, floor, 0, count_, 0));
  has_max_ = has_max;
}

void Candidates::keep_from_weight(float floor) {
  const float* w = weights();
  if (leaves_to_draw(floor)) {
    cut_ = {w, floor, count_};
    return;
  }
  kept_in_own(keep_part(w, floor, 0, count_, 0));
  has_max_ = true;
}

bool Candidates::keep_tokens(std::span<const int32_t> tokens) {
  size_t kept = 0;
  size_t next = 0;  // indices before it may be overwritten
  for (const int32_t token : tokens) {
    if (token < 0 || static_cast<size_t>(token) >= vocabulary_size_) continue;
    size_t index = static_cast<size_t>(token);
    if (ids_ != nullptr) {
      const int32_t* place = std::lower_bound(ids_ + next, ids_ + count_, token);
      index = static_cast<size_t>(place - ids_);
      if (index == count_ || *place != token) continue;
    }
    assert(kept <= index);
    own_ids_[kept] = token;
    own_logits_[kept++] = logits_[index];
    next = index + 1;
  }
  if (kept > 0) kept_in_own(kept);
  return kept > 0;
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

// Sums the weights above the range and collects the indices of the tokens in it, in order. Null
// weights are all 1.
Split Candidates::split(LogitRange range, const float* weights) {
  Split all = {};
  const size_t step = has_block_maxima_ ? kBlock : kChunk;
  for (size_t first = 0; first < count_; first += step) {
    if (has_block_maxima_ && !(block_maxima_[first / kBlock] >= range.floor)) continue;
    const size_t count = std::min(step, count_ - first);
    const Split part =
        kernels_->split(logits_ + first, range.floor, range.ceiling, weights == nullptr ? ones_ : weights + first,
                        static_cast<int32_t>(first), count, indices() + all.collected);
    all.sum += part.sum;
    all.collected += part.collected;
  }
  return all;
}

// The keys of the first `count` collected indices, in their place.
std::span<uint64_t> Candidates::keys_of_indices(size_t count) {
  const int32_t* all = indices();
  for (size_t i = 0; i < count; ++i) {
    const auto index = static_cast<size_t>(all[i]);
    keys_[i] = sort_key(logits_[index], index);
  }
  return {keys_, count};
}

std::span<uint64_t> Candidates::collect_keys(float floor) {
  if (floor > kLowest) return keys_of_indices(split({floor, kNoCeiling}, nullptr).collected);
  for (size_t i = 0; i < count_; ++i) keys_[i] = sort_key(logits_[i], i);
  return {keys_, count_};
}

// Estimates, from an even sample, logits between which the border lies at which the weights from the largest
// logit down sum to `target`: three standard deviations to either side, compared as squares, because a root per bucket
// would cost more than the sums.
[[gnu::noinline]] Candidates::LogitRange Candidates::estimate_border(const float* weights, uint64_t total,
                                                                     uint64_t target) {
  struct Bucket {
    float sum;
    float squares;
  } buckets[kBucketCount] = {};
  constexpr float kLargest = std::numeric_limits<float>::max();
  // Ranks need fewer samples than weights, whose sizes vary.
  const size_t sampled = weights == nullptr ? kBorderSample / 2 : kBorderSample;
  const size_t stride = count_ / sampled;
  float lowest = kLargest, highest = -kLargest;  // of the finite logits
  for (size_t i = 0; i < sampled; ++i) {
    const float l = logits_[i * stride];
    if (!(std::fabs(l) <= kLargest)) continue;
    lowest = std::min(lowest, l);
    highest = std::max(highest, l);
  }
  LogitRange range = {kLowest, kNoCeiling};
  const float width = (highest - lowest) / kBucketCount;
  const float inverse_width = 1 / width;
  if (!(width > 0 && std::max(width, inverse_width) <= kLargest)) return range;
  for (size_t i = 0; i < sampled; ++i) {
    const float l = logits_[i * stride];
    const float bounded = std::min(l > lowest ? l : lowest, highest);
    const auto place = static_cast<uint32_t>((highest - bounded) * inverse_width);
    Bucket& bucket = buckets[std::min<size_t>(place, kBucketCount - 1)];
    const float weight = weights == nullptr ? 1.0f : weights[i * stride];
    bucket.sum += weight;
    bucket.squares += weight * weight;
  }
  double all_squares = 0;
  for (const Bucket& bucket : buckets) all_squares += static_cast<double>(bucket.squares);
  // The sums above and below a bucket's top follow from each other, as the total is known: uses the one with
  // the smaller deviation.
  const double scale = 0x1p-40 * static_cast<double>(sampled) / static_cast<double>(count_);
  const double all = scale * static_cast<double>(total);
  const double below_wanted = scale * static_cast<double>(total - target);
  double below = 0, below_squares = 0, above = 0;
  for (const Bucket& bucket : buckets) above += static_cast<double>(bucket.sum);
  for (size_t bucket = kBucketCount - 1; bucket > 0; --bucket) {
    if (buckets[bucket].sum == 0) continue;
    below += static_cast<double>(buckets[bucket].sum);
    above -= static_cast<double>(buckets[bucket].sum);
    below_squares += static_cast<double>(buckets[bucket].squares);
    const bool uses_below = below_squares <= all_squares - below_squares;
    const double variance = 9 * std::max(0.0, std::min(below_squares, all_squares - below_squares));
    const double sum = uses_below ? below : above;
    if (!(sum > 0 && sum * sum > variance)) continue;  // fewer than nine equal weights say nothing
    const double distance = below_wanted - (uses_below ? below : all - above);
    const float top = highest - static_cast<float>(bucket) * width;
    if (distance >= 0 && distance * distance >= variance) range.floor = top;
    if (distance < 0 && distance * distance > variance) {
      range.ceiling = top;
      break;
    }
  }
  return range;
}

// Returns the key if the border is among the tokens of this logit. Otherwise returns kNoKey and removes them, and the
// tokens on the other side of them, from the range in which the border lies.
uint64_t Candidates::find_among_equals(float logit, const float* weights, uint64_t target, LogitRange* range) {
  if (!(logit > kLowest && logit < std::numeric_limits<float>::infinity())) return kNoKey;
  const Split equal = split({logit, next_above(logit)}, weights);
  if (equal.collected == 0) return kNoKey;
  const uint64_t each = to_fixed(weights == nullptr ? 1.0f : weights[indices()[0]]);
  if (equal.sum >= target) {
    range->floor = next_above(logit);
  } else if (equal.sum + each * equal.collected < target) {
    range->ceiling = logit;
  } else {
    return sort_key(logit, static_cast<size_t>(indices()[(target - equal.sum - 1) / each]));
  }
  return kNoKey;
}

// The key at which the sum of weights, over the keys in ascending order, reaches `target`; kNoKey if it
// does not. Null weights are all 1. Permutes the keys.
uint64_t Candidates::select(std::span<uint64_t> keys, const float* weights, uint64_t target) {
  if (weights != nullptr) {
    return select_by_sum(
        keys, [=](size_t i) { return to_fixed(weights[i]); }, target, bucket_sums_);
  }
  const uint64_t rank = target >> kFixedBits;
  if (rank > keys.size()) return kNoKey;
  const auto place = keys.begin() + static_cast<ptrdiff_t>(rank - 1);
  std::nth_element(keys.begin(), place, keys.end());
  return *place;
}

// The key at which the sum of weights in the sorted order reaches `target`. A sample tells between
// which logits it most likely lies, one pass sums the weights above these and collects the tokens
// between them, and a weighted selection among those finds it. Null weights are all 1.
uint64_t Candidates::find_border(const float* weights, uint64_t total, uint64_t target) {
  constexpr size_t kMany = 8192;
  constexpr int kRounds = 8;
  if (count_ >= 2 * kBorderSample) {
    LogitRange range = estimate_border(weights, total, target);
    if (range.floor > kLowest) {
      Split found = split(range, weights);
      if (found.sum >= target) {  // the estimate was too low
        range = {range.ceiling, kNoCeiling};
        found = split(range, weights);
      }
      for (int round = 0; round < kRounds && found.collected > kMany; ++round) {  // mostly because many are equal
        const float middle = logits_[indices()[found.collected / 2]];
        const uint64_t key = find_among_equals(middle, weights, target, &range);
        if (key != kNoKey) return key;
        found = split(range, weights);
      }
      const uint64_t key = select(keys_of_indices(found.collected), weights, target - found.sum);
      if (key != kNoKey) return key;
    }
    const uint64_t key = find_among_equals(without_nan(logits_[0]), weights, target, &range);
    if (key != kNoKey) return key;
  }
  return select(collect_keys(kLowest), weights, target);
}

uint64_t Candidates::key_of_rank(size_t rank) {
  constexpr size_t kFew = 8192;
  assert(rank >= 1 && rank <= count_);
  if (rank == 1) {
    const size_t best = argmax();
    return sort_key(logits_[best], best);
  }
  const uint64_t target = uint64_t{rank} << kFixedBits;
  const float reached = reached_by(rank);
  if (reached > kLowest) {
    const size_t reaching = split({reached, kNoCeiling}, nullptr).collected;
    if (reaching <= kFew) return select(keys_of_indices(reaching), nullptr, target);
    // Many reach it because they are equal.
    LogitRange range = {reached, kNoCeiling};
    const uint64_t key = find_among_equals(reached, nullptr, target, &range);
    if (key != kNoKey) return key;
  }
  return find_border(nullptr, uint64_t{count_} << kFixedBits, target);
}

uint64_t Candidates::find_prefix(uint64_t target) {
  constexpr size_t kFew = 1024, kLikeliest = 128;
  constexpr uint64_t kPeaked = uint64_t{100} << kFixedBits;  // the largest probability is above 1%
  const float* w = weights();
  // In a peaked distribution the border is usually among the most likely tokens.
  const float floor = count_ > kFew && total_fixed_ < kPeaked ? reached_by(kLikeliest) : kLowest;
  if (count_ <= kFew || floor > kLowest) {
    const uint64_t key = select(collect_keys(floor), w, target);
    if (key != kNoKey) return key;
  }
  return find_border(w, total_fixed_, target);
}

std::span<uint64_t> Candidates::sorted_prefix(size_t size) {
  std::span<uint64_t> keys = collect_keys(reached_by(size));
  if (size < keys.size()) {
    std::nth_element(keys.begin(), keys.begin() + static_cast<ptrdiff_t>(size - 1), keys.end());
    keys = keys.first(size);
  }
  sort_numbers(keys.begin(), keys.end());
  return keys;
}

}  // namespace sotto
