#include "runtime/sampling/border_estimate.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/scalar_math.h"
#include "runtime/sampling/scratch.h"

namespace sotto {
namespace {

constexpr size_t kSampleSize = kMinEstimated / 2;

}  // namespace

LogitRange estimate_border(std::span<const float> logits, const float* weights, uint64_t total, uint64_t target) {
  struct Bucket {
    float sum;
    float squares;
  } buckets[kBucketCount] = {};
  constexpr float kLargest = std::numeric_limits<float>::max();
  // Ranks need fewer samples than weights, which vary in size.
  const size_t sampled = weights == nullptr ? kSampleSize / 2 : kSampleSize;
  const size_t stride = logits.size() / sampled;
  float lowest = kLargest, highest = -kLargest;  // range of the finite logits
  for (size_t i = 0; i < sampled; ++i) {
    const float l = logits[i * stride];
    if (!(std::fabs(l) <= kLargest)) continue;
    lowest = std::min(lowest, l);
    highest = std::max(highest, l);
  }
  LogitRange range = {kMinusInfinity, kNoCeiling};
  const float width = (highest - lowest) / kBucketCount;
  const float inverse_width = 1 / width;
  if (!(width > 0 && std::max(width, inverse_width) <= kLargest)) return range;
  for (size_t i = 0; i < sampled; ++i) {
    const float l = logits[i * stride];
    const float bounded = std::min(l > lowest ? l : lowest, highest);
    const auto place = static_cast<uint32_t>((highest - bounded) * inverse_width);
    Bucket& bucket = buckets[std::min<size_t>(place, kBucketCount - 1)];
    const float weight = weights == nullptr ? 1.0f : weights[i * stride];
    bucket.sum += weight;
    bucket.squares += weight * weight;
  }
  // The variance of a sum over the sample is estimated by the sum of the squares.
  double all_squares = 0, above = 0;
  for (const Bucket& bucket : buckets) {
    all_squares += static_cast<double>(bucket.squares);
    above += static_cast<double>(bucket.sum);
  }
  // The total is known, so the sum above a bucket's top also determines the sum below it. The estimate uses the one
  // with the smaller deviation.
  const double scale = 0x1p-40 * static_cast<double>(sampled) / static_cast<double>(logits.size());
  const double all = scale * static_cast<double>(total);
  const double below_wanted = scale * static_cast<double>(total - target);
  double below = 0, below_squares = 0;
  for (size_t bucket = kBucketCount - 1; bucket > 0; --bucket) {
    if (buckets[bucket].sum == 0) continue;
    below += static_cast<double>(buckets[bucket].sum);
    above -= static_cast<double>(buckets[bucket].sum);
    below_squares += static_cast<double>(buckets[bucket].squares);
    const bool uses_below = below_squares <= all_squares - below_squares;
    const double variance = 9 * std::max(0.0, std::min(below_squares, all_squares - below_squares));
    const double sum = uses_below ? below : above;
    if (!(sum > 0 && sum * sum > variance)) continue;  // less than three standard deviations
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

}  // namespace sotto
