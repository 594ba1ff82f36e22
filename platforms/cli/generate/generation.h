// The results of `sotto generate`.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "platforms/cli/options/generate.h"

namespace sotto::cli {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Returns the failure of a session that generates text. An error of its grammar names --grammar-memory or the grammar
// instead of `subject`.
inline Failure session_failure(const std::string& subject, const Error& error) {
  if (error.status() == SOTTO_GRAMMAR_TOO_LARGE) {
    return Failure("grammar: more memory or steps needed than allowed; --grammar-memory allows more");
  }
  return failure_of(error.status() == SOTTO_GRAMMAR_DEAD_END ? "grammar" : subject, error);
}

// Scores of one token (--logprobs).
struct TokenScore {
  float log_probability;
  float sampled_log_probability;
  std::vector<sotto_alternative> alternatives;
};

// Statistics of one token (--statistics).
struct TokenStatistics {
  float entropy;
  float effective_vocabulary;
  uint32_t kept_count;
  float repetitiveness;
};

// A continuation that a search returned.
struct Continuation {
  Sequence sequence;
  std::string text;
  std::vector<float> log_probabilities;  // NaN for tokens that were not scored
};

struct Generation {
  Json id;  // of the request, or null
  std::string prompt;
  TokenList prompt_tokens;
  std::vector<float> prompt_log_probabilities;  // NaN for tokens that were not scored
  double prompt_perplexity = 0.0;
  bool prints_ids = false;  // print token ids instead of text
  // The text and the tokens of a stream, stored only for --json, because a stream may be endless.
  std::string text;
  TokenList tokens;
  std::vector<TokenScore> scores;
  std::vector<TokenStatistics> statistics;
  std::vector<Continuation> sequences;  // results of a search, best first
  Status stop = Status::ok;
  std::string failure;      // message of a failure to report after the results, or empty
  bool is_complete = true;  // false if the text is incomplete under the grammar
  size_t grammar_bytes = 0;
  size_t matcher_bytes = 0;
  double load_seconds = 0.0;
  double first_token_seconds = -1.0;  // time from the start of the prefill to the first token, or -1 if there was none
  double total_seconds = 0.0;
};

}  // namespace sotto::cli
