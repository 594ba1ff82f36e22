// The probability of a text under a model. The text may be longer than the context.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "platforms/cli/support/model.h"

namespace sotto::cli {

struct Scores {
  std::vector<float> log_probabilities;  // NaN for tokens that were not scored
  uint64_t count = 0;                    // of scored tokens
  uint64_t byte_count = 0;               // of scored tokens; 0 without a tokenizer
  double log_probability = 0.0;          // of all scored tokens together

  double mean() const { return log_probability / static_cast<double>(count); }
  double perplexity() const;
  double bits_per_byte() const;
};

// Returns the number of tokens from one window to the next for the value of --stride, where 0 means half the context.
// Throws a Failure if the context has fewer.
size_t window_stride(uint32_t stride, const Session& session);

// Calls `evaluate(begin, done, end)` for each window of a text of `count` tokens. The window begins with an empty
// session at token `begin` and ends before token `end`; its tokens before `done` were in the previous window. If the
// stride is the whole context, windows do not overlap.
template <typename Evaluate>
void for_each_window(size_t count, size_t stride, Session& session, const Evaluate& evaluate) {
  const size_t context = session.info().context_tokens;
  size_t done = 0;
  for (size_t begin = 0; done < count; begin += stride) {
    const size_t end = std::min(count, begin + context);
    session.reset();
    evaluate(begin, done, end);
    done = end;
  }
}

// Scores the tokens from `first` on. Each is scored once, with at least context - stride tokens before it unless it is
// in the first window. The first token of a window cannot be scored; this happens only if windows do not overlap.
Scores score_tokens(const TokenList& tokens, size_t first, size_t stride, const LoadedModel& model, Session& session);

// Scores an answer after its prompt. Throws a Failure if one of them is empty, or if both do not fit the context.
Scores score_answer(const std::string& prompt, const std::string& answer, const LoadedModel& model, Session& session);

// Returns the rewards of a text from a reward model: the last logits after the text (reward_count of sotto_model_info).
// `name` names the text in messages.
std::vector<float> rewards_of(const TokenList& tokens, const std::string& name, const LoadedModel& model,
                              Session& session);

}  // namespace sotto::cli
