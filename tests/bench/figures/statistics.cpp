#include "tests/bench/figures/statistics.h"

#include <algorithm>
#include <cassert>
#include <cstddef>

namespace sotto::bench {

double median(std::vector<double> samples) {
  assert(!samples.empty());
  std::sort(samples.begin(), samples.end());
  const size_t half = samples.size() / 2;
  return samples.size() % 2 == 1 ? samples[half] : (samples[half - 1] + samples[half]) / 2;
}

Summary summarize(const std::vector<double>& samples) {
  const auto [min, max] = std::minmax_element(samples.begin(), samples.end());
  return {median(samples), *min, *max};
}

double share_of_limit(const std::vector<double>& samples, const std::vector<double>& limits, bool higher_is_better) {
  assert(samples.size() == limits.size());
  std::vector<double> shares;
  for (size_t i = 0; i < samples.size(); ++i) {
    shares.push_back(higher_is_better ? samples[i] / limits[i] : limits[i] / samples[i]);
  }
  return median(shares);
}

}  // namespace sotto::bench
