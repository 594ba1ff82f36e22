// Prompt lookup (Saxena 2023; Yang et al. 2023, "Inference with Reference"): what followed the
// text's last tokens when they came before is likely to follow again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sotto {

struct LookupMatch {
  size_t size = 0;  // tokens that agree; 0: none
  size_t next = 0;  // the place behind them
};

// The latest of the longest places before the end where the last min_match ... max_match
// tokens have come before.
LookupMatch find_latest_match(std::span<const int32_t> text, size_t min_match, size_t max_match);

}  // namespace sotto
