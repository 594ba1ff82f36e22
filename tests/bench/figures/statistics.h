// Summary statistics of a series of measurements.
#pragma once

#include <vector>

namespace sotto::bench {

struct Summary {
  double median = 0;
  double min = 0;
  double max = 0;
};

// Returns the median of at least one sample. For an even number of samples, it is the mean of the two in the middle.
double median(std::vector<double> samples);

Summary summarize(const std::vector<double>& samples);

// Returns how much of its limit a figure reaches: the median over rounds of sample / limit if higher is better, or else
// of limit / sample. Entry i of both lists comes from round i, so a slower machine affects both.
double share_of_limit(const std::vector<double>& samples, const std::vector<double>& limits, bool higher_is_better);

}  // namespace sotto::bench
