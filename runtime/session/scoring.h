// Scores and embeddings of given tokens. A score is the log probability of the tokens under the model, and an embedding
// is a vector that represents them.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/base/status.h"
#include "runtime/generated/params.h"
#include "runtime/session/token_stream.h"

namespace sotto {

// Appends tokens to the stream and computes ln p of each, given the tokens before it. Writes these values to
// `log_probabilities`, unless that is null. The first token of a stream has the value NaN. `has_context` says that the
// first token follows another one, so that a pending token must be evaluated first.
Status score_tokens(std::span<const int32_t> tokens, bool has_context, TokenStream* stream, Cancellation* cancellation,
                    float* log_probabilities, ScoreResult* score);

// Appends tokens to the stream and writes the final hidden state of the last one, or the mean over all of them, to
// `embedding` (embedding_size floats).
Status embed_tokens(std::span<const int32_t> tokens, Pooling pooling, TokenStream* stream, Cancellation* cancellation,
                    float* embedding);

}  // namespace sotto
