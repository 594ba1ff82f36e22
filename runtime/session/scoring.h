// Scores and embeddings of given tokens: the probability that the model assigns to them, and a vector that represents
// them.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/base/status.h"
#include "runtime/generated/params.h"
#include "runtime/session/token_stream.h"

namespace sotto {

// Appends tokens to the stream and writes ln p of each, given the tokens before it, to `log_probabilities`, which may
// be null. The value for the first token of a stream is NaN. If `has_context` is set, the first token follows another
// one, which is evaluated if it is pending.
Status score_tokens(std::span<const int32_t> tokens, bool has_context, TokenStream* stream, Cancellation* cancellation,
                    float* log_probabilities, ScoreResult* score);

// Appends tokens to the stream and writes the final hidden state of the last one, or the mean over all of them, to
// `embedding` (embedding_size floats).
Status embed_tokens(std::span<const int32_t> tokens, Pooling pooling, TokenStream* stream, Cancellation* cancellation,
                    float* embedding);

}  // namespace sotto
