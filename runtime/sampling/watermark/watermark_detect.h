// Detects watermarks from the tokens of a text and the key, without a model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/status.h"
#include "runtime/generated/params.h"

namespace sotto {

// Returns P(Z >= z) for a standard normal Z, with a relative error of at most 5e-13. Returns 0 for z > 37 and 1 for
// NaN.
double normal_tail(double z);

// The result of a detection, with the layout of sotto_watermark_result.
struct WatermarkResult {
  uint64_t token_count = 0;
  double score = 0;
  double z = 0;
  double p_value = 1;
  bool is_marked = false;
};

inline constexpr double kMarkedAbove = 3;  // text with a larger z counts as marked

// Scores each token that has a whole context before it in the text. Repetitions are not independent evidence, so only
// the first occurrence counts. For kLeftHash, a repetition has the same context and the same token. For kSelfHash, it
// has the same token and the same deciding token. For kTournament and kGumbel, it has the same context, because only
// the first occurrence of a context was marked.
//
// z is the distance of the score from its mean in unmarked text, in standard deviations. For kGumbel, the score is a
// sum of -ln(1 - r), which has a gamma distribution; z comes from the cube-root transformation of Wilson and Hilferty
// (1931). p_value is normal_tail(z).
Status detect_watermark(const WatermarkParams& params, std::span<const int32_t> tokens, size_t vocabulary_size,
                        WatermarkResult* result, Error* error);

}  // namespace sotto
