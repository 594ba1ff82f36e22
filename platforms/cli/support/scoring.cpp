#include "platforms/cli/support/scoring.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "platforms/cli/support/output.h"

namespace sotto::cli {
namespace {

void check_fit(size_t count, const std::string& name, const Session& session) {
  const uint32_t context = session.info().context_tokens;
  if (count <= context) return;
  throw Failure(name + ": " + std::to_string(count) + " tokens do not fit a context of " + std::to_string(context));
}

}  // namespace

double Scores::perplexity() const { return std::exp(-mean()); }

double Scores::bits_per_byte() const { return -log_probability / std::log(2.0) / static_cast<double>(byte_count); }

size_t window_stride(uint32_t stride, const Session& session) {
  const uint32_t context = session.info().context_tokens;
  if (context < 2) throw Failure("--ctx: a context of 1 token cannot score any token");
  if (stride > context) {
    throw Failure("--stride: is " + std::to_string(stride) + "; it must be at most the context of " +
                  std::to_string(context) + " tokens");
  }
  return stride != 0 ? stride : context / 2;
}

Scores score_tokens(const TokenList& tokens, size_t first, size_t stride, const LoadedModel& model, Session& session) {
  Scores scores;
  scores.log_probabilities.assign(tokens.size(), NAN);
  Progress progress("score", tokens.size());
  const size_t batch_size = session.info().batch_tokens;
  for_each_window(tokens.size(), stride, session, [&](size_t begin, size_t done, size_t end) {
    // The window is evaluated in batches, so that progress can be shown.
    std::vector<float> values;
    for (size_t from = begin; from < end; from += values.size()) {
      call("text", [&] { session.score({tokens.data() + from, std::min(batch_size, end - from)}, &values); });
      for (size_t i = std::max(from, done); i < from + values.size(); ++i) {
        scores.log_probabilities[i] = i < first ? NAN : values[i - from];
      }
      progress.show(std::max(from, done));
    }
  });
  for (size_t i = first; i < tokens.size(); ++i) {
    if (std::isnan(scores.log_probabilities[i])) continue;
    scores.log_probability += static_cast<double>(scores.log_probabilities[i]);
    scores.byte_count += model.text_of({tokens[i]}).size();
    ++scores.count;
  }
  return scores;
}

Scores score_answer(const std::string& prompt, const std::string& answer, const LoadedModel& model, Session& session) {
  TokenList tokens = model.tokenize(prompt, false, "prompt");
  const TokenList rest = model.tokenize(answer, false, "answer");
  if (tokens.empty()) throw Failure("prompt is empty");
  if (rest.empty()) throw Failure("the text after the prompt is empty");
  const size_t first = tokens.size();
  tokens.insert(tokens.end(), rest.begin(), rest.end());
  check_fit(tokens.size(), "the prompt and the text after it", session);
  return score_tokens(tokens, first, session.info().context_tokens, model, session);
}

std::vector<float> rewards_of(const TokenList& tokens, const std::string& name, const LoadedModel& model,
                              Session& session) {
  if (tokens.empty()) throw Failure(name + ": empty");
  check_fit(tokens.size(), name, session);
  session.reset();
  call(name, [&] { return session.prefill(tokens); });
  const auto logits = session.logits();
  return {logits.end() - model.info().reward_count, logits.end()};
}

}  // namespace sotto::cli
