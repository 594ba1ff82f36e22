// What a run of `sotto generate` produced.
#pragma once

#include <string>
#include <vector>

#include "capi/include/sotto.h"

namespace sotto::cli {

// One token's figures, if they were asked for.
struct TokenScore {
  float log_probability;
  float sampled_log_probability;
  std::vector<sotto_alternative> alternatives;
};

// One of several continuations.
struct Continuation {
  std::vector<sotto_token> tokens;
  std::string text;
  double score;
  double log_probability;
  sotto_status stop;
  uint32_t index;
  std::vector<float> log_probabilities;  // NaN: not scored
};

struct Generation {
  std::string prompt;
  std::vector<sotto_token> prompt_tokens;
  std::vector<float> prompt_log_probabilities;  // NaN: not scored
  double prompt_perplexity = 0.0;
  // Of a stream kept for --json only: it may go on for ever.
  std::string text;
  std::vector<sotto_token> tokens;
  std::vector<TokenScore> scores;
  std::vector<Continuation> sequences;  // of a search, best first
  sotto_status stop = SOTTO_OK;
  std::string failure;  // what could not be done with what was found; empty: nothing
  size_t grammar_bytes = 0;
  size_t matcher_bytes = 0;
  double load_seconds = 0.0;
  double first_token_seconds = -1.0;  // from the start of the prefill; -1: there was none
  double total_seconds = 0.0;
};

}  // namespace sotto::cli
