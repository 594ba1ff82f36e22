#include "runtime/session/scoring.h"

#include <algorithm>
#include <limits>

#include "runtime/base/scalar_math.h"
#include "runtime/sampling/log_probabilities.h"

namespace sotto {
namespace {

// Adds up the log probabilities of tokens, batch by batch.
class Scorer {
 public:
  Scorer(TokenStream* stream, const Cancellation& cancellation, float* log_probabilities, ScoreResult* score)
      : stream_(*stream), cancellation_(cancellation), log_probabilities_(log_probabilities), score_(*score) {}

  // Computes ln p of the next token from the logits of the stream.
  void score_next(int32_t token) {
    next_ = LogProbabilities(stream_.model().kernels(), stream_.kv().logits()).of(token);
  }

  // Evaluates as many tokens as fit into one batch and removes them from the list.
  Status add_batch(std::span<const int32_t>* tokens) {
    KvSequence& kv = stream_.kv();
    size_t count;
    SOTTO_TRY(kv.append_batch(*tokens, /*want_logits=*/false, &count, cancellation_));
    add(next_);
    const size_t rows = std::min(count, tokens->size() - 1);  // number of rows with a next token to score
    const size_t max_rows = kv.forward().logit_row_count();
    for (size_t row = 0; row < rows; ++row) {
      if (row % max_rows == 0) kv.compute_row_logits(row, std::min(max_rows, rows - row));
      next_ = LogProbabilities(stream_.model().kernels(), kv.forward().logits(row % max_rows)).of((*tokens)[row + 1]);
      if (row + 1 < count) add(next_);
    }
    *tokens = tokens->subspan(count);
    return Status::kOk;
  }

 private:
  void add(double log_probability) {
    if (log_probabilities_ != nullptr) *log_probabilities_++ = static_cast<float>(log_probability);
    if (log_probability != log_probability) return;
    score_.log_probability += log_probability;
    ++score_.token_count;
  }

  TokenStream& stream_;
  const Cancellation& cancellation_;
  float* log_probabilities_;
  ScoreResult& score_;
  double next_ = std::numeric_limits<double>::quiet_NaN();  // ln p of the token that comes next
};

}  // namespace

Status score_tokens(std::span<const int32_t> tokens, bool has_context, TokenStream* stream, Cancellation* cancellation,
                    float* log_probabilities, ScoreResult* score) {
  Scorer scorer(stream, *cancellation, log_probabilities, score);
  Status status = Status::kOk;
  if (has_context && !tokens.empty()) {
    status = stream->evaluate_logits(cancellation);
    if (status == Status::kOk) scorer.score_next(tokens[0]);
  }
  while (status == Status::kOk && !tokens.empty()) status = scorer.add_batch(&tokens);
  if (score->token_count > 0) {
    score->perplexity = e_to(-score->log_probability / static_cast<double>(score->token_count));
  }
  return status;
}

Status embed_tokens(std::span<const int32_t> tokens, Pooling pooling, TokenStream* stream, Cancellation* cancellation,
                    float* embedding) {
  KvSequence& kv = stream->kv();
  const size_t width = stream->model().config().embedding_size;
  const auto total = static_cast<float>(tokens.size());
  std::fill_n(embedding, width, 0.0f);
  Status status = Status::kOk;
  while (status == Status::kOk && !tokens.empty()) {
    size_t count;
    status = kv.append_batch(tokens, /*want_logits=*/false, &count, *cancellation);
    tokens = tokens.subspan(count);
    if (status != Status::kOk || (pooling == Pooling::kLast && !tokens.empty())) continue;
    const size_t skipped = pooling == Pooling::kLast ? count - 1 : 0;
    const auto states = kv.forward().final_states(skipped, count - skipped);
    for (size_t at = 0; at < states.size(); at += width) {
      stream->model().kernels().add(states.data() + at, width, embedding);
    }
  }
  if (pooling == Pooling::kMean) {
    for (size_t i = 0; i < width; ++i) embedding[i] /= total;
  }
  return status;
}

}  // namespace sotto
