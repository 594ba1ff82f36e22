// What a session tells of given tokens: how likely they are, and the model's states.
#include <algorithm>
#include <limits>

#include "runtime/base/clock.h"
#include "runtime/base/scalar_math.h"
#include "runtime/session/session.h"

namespace sotto {
namespace {

double perplexity(const ScoreResult& score) {
  const double mean = -score.log_probability / static_cast<double>(score.token_count);
  return e_to(mean);
}

}  // namespace

Status Session::score(std::span<const int32_t> tokens, float* log_probabilities, ScoreResult* score) {
  *score = {};
  score->perplexity = std::numeric_limits<double>::quiet_NaN();
  SOTTO_TRY(check_tokens(tokens));
  SOTTO_TRY(begin_answer(tokens.size()));
  const uint64_t first = handed_out();
  Status status = Status::kOk;
  {
    Stopwatch stopwatch(&timings_.prefill_ns);
    double known = std::numeric_limits<double>::quiet_NaN();  // ln p of the next token
    if (first > 0 && !tokens.empty()) {
      status = ensure_logits(&cancelled_);
      if (status == Status::kOk) {
        known = LogProbabilities(model_->kernels(), context_.logits()).of(tokens[0]);
      }
    }
    while (status == Status::kOk && !tokens.empty()) {
      status = score_batch(&tokens, &known, &log_probabilities, score);
    }
  }
  if (score->token_count > 0) score->perplexity = perplexity(*score);
  return end_answer(status, first);
}

// Evaluates as many of the tokens as one batch takes and moves on behind them.
Status Session::score_batch(std::span<const int32_t>* tokens, double* known, float** log_probabilities,
                            ScoreResult* score) {
  size_t count;
  SOTTO_TRY(context_.append_batch(*tokens, /*want_logits=*/false, &count, cancelled_));
  const auto add = [&](double log_probability) {
    if (*log_probabilities != nullptr) {
      *(*log_probabilities)++ = static_cast<float>(log_probability);
    }
    if (log_probability != log_probability) return;
    score->log_probability += log_probability;
    ++score->token_count;
  };
  add(*known);
  const size_t rows = std::min(count, tokens->size() - 1);  // that have a token after them
  const size_t most = context_.forward().logit_row_count();
  for (size_t row = 0; row < rows; ++row) {
    if (row % most == 0) {
      SOTTO_TRY(context_.compute_row_logits(row, std::min(most, rows - row)));
    }
    const LogProbabilities model(model_->kernels(), context_.forward().logits(row % most));
    *known = model.of((*tokens)[row + 1]);
    if (row + 1 < count) add(*known);
  }
  *tokens = tokens->subspan(count);
  return Status::kOk;
}

Status Session::hidden(std::span<const float>* hidden) {
  if (token_count() == 0) return Status::kInvalidState;
  SOTTO_TRY(evaluate_pending(&cancelled_));
  const Status status = context_.ensure_last_row(cancelled_);
  if (status == Status::kStopCancelled) cancelled_.store(0, std::memory_order_relaxed);
  SOTTO_TRY(status);
  *hidden = context_.forward().final_states(context_.batch_row_count() - 1, 1);
  return Status::kOk;
}

Status Session::embed(std::span<const int32_t> tokens, Pooling pooling, float* embedding) {
  if (tokens.empty()) return Status::kInvalidArgument;
  if (pooling != Pooling::kLast && pooling != Pooling::kMean) return Status::kInvalidArgument;
  SOTTO_TRY(check_tokens(tokens));
  SOTTO_TRY(begin_answer(tokens.size()));
  const size_t width = model_->config().embedding_size;
  const uint64_t first = handed_out();
  const auto total = static_cast<float>(tokens.size());
  std::fill_n(embedding, width, 0.0f);
  Status status = Status::kOk;
  {
    Stopwatch stopwatch(&timings_.prefill_ns);
    while (status == Status::kOk && !tokens.empty()) {
      size_t count;
      status = context_.append_batch(tokens, /*want_logits=*/false, &count, cancelled_);
      tokens = tokens.subspan(count);
      if (status != Status::kOk || (pooling == Pooling::kLast && !tokens.empty())) continue;
      const size_t skipped = pooling == Pooling::kLast ? count - 1 : 0;
      const auto states = context_.forward().final_states(skipped, count - skipped);
      for (size_t at = 0; at < states.size(); at += width) {
        model_->kernels().add(states.data() + at, width, embedding);
      }
    }
  }
  if (pooling == Pooling::kMean) {
    for (size_t i = 0; i < width; ++i) embedding[i] /= total;
  }
  return end_answer(status, first);
}

}  // namespace sotto
