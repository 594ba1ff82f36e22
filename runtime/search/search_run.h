// One search while it runs: what all its modes share.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/search/search_input.h"
#include "runtime/search/search_memory.h"
#include "runtime/search/search_params.h"

namespace sotto {

// How a sum of ln p over `length` tokens compares with those of other lengths: divided by
// length^alpha, or by ((5 + length) / 6)^alpha (Wu et al. 2016, equation 14).
double length_score(const SearchParams& params, double log_probability, uint32_t length);

// logits become ln softmax(logits), in place. NaN becomes -infinity; where that leaves nothing,
// all are equal.
void log_softmax(const Kernels& kernels, std::span<float> logits);

// ln p of one token, under the same.
double log_probability_of(const Kernels& kernels, std::span<const float> logits, int32_t token);

class SearchRun {
 public:
  SearchRun(const SearchInput& search_input, const SearchParams& search_params, SearchMemory* search_memory)
      : input(search_input), params(search_params), memory(*search_memory) {}

  // Begins the sequences. `needs_last`: also the last token of a sequence is evaluated; the
  // limit may be 0 then.
  Status begin(bool needs_last);

  bool is_cancelled() const;
  // Why there is no next step: kStopCancelled or kStopTime; or kOk.
  Status interruption() const;
  // The stop that a token is, or kOk.
  Status stop_of(int32_t token) const;
  // Whether the token that a sequence stopped at is part of it.
  static bool keeps_token(Status stop) { return stop != Status::kStopEndOfText && stop != Status::kStopToken; }
  SampleInput sample_input(std::span<const int32_t> tokens, uint32_t sequence) const;

  // The tokens that may follow a sequence of the constraint.
  Status mask(uint32_t constraint_sequence, TokenMask* mask) const;
  // Makes constraint sequence `to` that of `from` with one more token, the last of `tokens`, and
  // `text` that of the sequence with it. A stop: the sequence ends behind the token.
  Status follow(uint32_t from, uint32_t to, std::span<const int32_t> tokens, SequenceText* text) const;
  bool stops_at_step(uint32_t sequence, int32_t token) const {
    return params.on_step != nullptr && params.on_step(params.step_user_data, sequence, token) != 0;
  }

  const SearchInput& input;
  const SearchParams& params;  // defaults resolved
  SearchMemory& memory;
  uint32_t limit = 0;                          // tokens of a sequence
  Status limit_stop = Status::kStopMaxTokens;  // why they end there

 private:
  bool repeats_itself(std::span<const int32_t> tokens) const;

  uint64_t begin_ns_ = 0;
};

}  // namespace sotto
