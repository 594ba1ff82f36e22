// Summary statistics of a series of measurements.
#pragma once

#include <vector>

namespace sotto::bench {

struct Summary {
  double median = 0;
  double min = 0;
  double max = 0;
};

// `samples` has at least one element. The median of an even number is the mean of the two in the middle.
double median(std::vector<double> samples);

Summary summarize(const std::vector<double>& samples);

// The fraction of its limit that a figure reaches: the median over rounds of sample / limit if more is better, else of
// limit / sample. The two have equally many entries, taken in the same rounds, so what slows the machine for a while
// slows both.
double share_of_limit(const std::vector<double>& samples, const std::vector<double>& limits, bool higher_is_better);

}  // namespace sotto::bench
