// Finds watermarks in text, with nothing but its tokens and the key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/status.h"
#include "runtime/generated/params.h"

namespace sotto {

// As sotto_watermark_result.
struct WatermarkResult {
  uint64_t token_count = 0;
  double score = 0;
  double z = 0;
  double p_value = 1;
  bool is_marked = false;
};

inline constexpr double kMarkedAbove = 3;  // z

// Scores the tokens that have a whole context before them in the text. What is no evidence of
// its own is counted once: kLeftHash, a context with its token; kSelfHash, a token with the
// token that decided; kTournament and kGumbel, a context, whose first token alone was marked.
// z is the score's distance from its mean in unmarked text, in standard deviations; of kGumbel,
// whose sum of -ln(1 - r) is gamma distributed, by Wilson and Hilferty's cube root (1931).
// p_value is normal_tail(z).
Status detect_watermark(const WatermarkParams& params, std::span<const int32_t> tokens, size_t vocabulary_size,
                        WatermarkResult* result, Error* error);

}  // namespace sotto
