// Valid and invalid parameters of samplers and stops from a fuzzer's input.
#pragma once

#include "capi/include/sotto.h"
#include "tests/fuzz/fuzz_bytes.h"

namespace sotto {

// Owns the lists that its parameters point to.
class FuzzedParams {
 public:
  FuzzedParams(FuzzBytes& bytes, uint32_t vocabulary_size);
  FuzzedParams(const FuzzedParams&) = delete;
  FuzzedParams& operator=(const FuzzedParams&) = delete;

  const sotto_sampler_params& get() const { return params_; }

 private:
  void change(FuzzBytes& bytes);
  void add_list(FuzzBytes& bytes);

  static constexpr size_t kTokens = 6;
  sotto_sampler_params params_;
  sotto_watermark_params watermark_;
  sotto_token tokens_[kTokens];
  sotto_token_bias biases_[kTokens];
  sotto_sequence_bias sequences_[2];
  sotto_token_list words_[2];
  sotto_stage stages_[8];
};

// Owns the token that its parameters point to.
class FuzzedStops {
 public:
  FuzzedStops(FuzzBytes& bytes, sotto_token stop_token);
  FuzzedStops(const FuzzedStops&) = delete;
  FuzzedStops& operator=(const FuzzedStops&) = delete;

  const sotto_stop_params& get() const { return params_; }

 private:
  sotto_stop_params params_;
  sotto_token stop_token_;
};

}  // namespace sotto
