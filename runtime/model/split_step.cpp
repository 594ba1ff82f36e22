#include "runtime/model/split_step.h"

#include <algorithm>

namespace sotto {
namespace {

constexpr size_t kFixedSize = SplitStep::kHeaderSize + SplitStep::kAsciiSize;

// Returns how many 32-bit numbers a step has after those of fixed size.
uint64_t variable_size(const SplitStep::Header& header) {
  return 2 * uint64_t{header.range_count} + uint64_t{header.state_count} * (uint64_t{header.class_count} + 1);
}

SplitStep::Header read_header(std::span<const uint32_t> steps) { return {steps[0], steps[1], steps[2], steps[3]}; }

bool is_consistent(const SplitStep& step) {
  const auto is_class = [&](uint32_t number) { return number < step.header.class_count; };
  const auto is_target = [&](uint32_t transition) {
    const uint32_t target = transition & SplitStep::kDead;
    return target < step.header.state_count || target == SplitStep::kDead;
  };
  for (uint32_t character = 0; character < 128; ++character) {
    if (!is_class(split_class(step, character))) return false;
  }
  return step.range_starts[0] == 0 && std::is_sorted(step.range_starts.begin(), step.range_starts.end()) &&
         std::all_of(step.range_classes.begin(), step.range_classes.end(), is_class) &&
         std::all_of(step.transitions.begin(), step.transitions.end(), is_target);
}

}  // namespace

SplitStep read_split_step(std::span<const uint32_t>* steps) {
  SplitStep step;
  step.header = read_header(*steps);
  const auto take = [steps](size_t size) {
    const auto taken = steps->first(size);
    *steps = steps->subspan(size);
    return taken;
  };
  (void)take(SplitStep::kHeaderSize);
  step.ascii = take(SplitStep::kAsciiSize);
  step.range_starts = take(step.header.range_count);
  step.range_classes = take(step.header.range_count);
  step.transitions = take(size_t{step.header.state_count} * (step.header.class_count + 1));
  return step;
}

bool verify_split_steps(std::span<const uint32_t> steps) {
  for (size_t count = 0; !steps.empty(); ++count) {
    if (count == kMaxSplitSteps || steps.size() < kFixedSize) return false;
    const SplitStep::Header header = read_header(steps);
    if (header.flags > SplitStep::kAllFlags || header.class_count == 0 || header.class_count > kMaxSplitClasses ||
        header.range_count == 0 || header.state_count == 0 || variable_size(header) > steps.size() - kFixedSize) {
      return false;
    }
    if (!is_consistent(read_split_step(&steps))) return false;
  }
  return true;
}

uint32_t split_class(const SplitStep& step, uint32_t code_point) {
  if (code_point < 128) return step.ascii[code_point / 4] >> code_point % 4 * 8 & 0xFF;
  const auto after = std::upper_bound(step.range_starts.begin(), step.range_starts.end(), code_point);
  return step.range_classes[static_cast<size_t>(after - step.range_starts.begin()) - 1];
}

}  // namespace sotto
