// A sampler's parameters together with the lists they point to.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "capi/include/sotto.h"

namespace sotto::cli {

using Tokens = std::vector<sotto_token>;

struct BiasedTokens {
  Tokens tokens;
  float bias;
};

struct SamplerSettings {
  sotto_sampler_params params;  // its pointers and their counts stay empty
  sotto_watermark_params watermark;
  std::vector<sotto_stage> stages;
  std::vector<sotto_token_bias> logit_bias;
  std::vector<BiasedTokens> sequence_bias;
  std::vector<Tokens> bad_words;
  Tokens allowed_tokens;
  Tokens suppressed_tokens;
  Tokens begin_suppressed_tokens;
  Tokens forced_prefix;
  Tokens dry_breaker_tokens;
  std::optional<std::vector<std::string>> dry_breakers;  // absent: the library's

  SamplerSettings();

  // Everything that the chain does off: temperature 1, no truncation.
  void switch_off();

  // Room for the lists, generously.
  uint32_t list_bytes() const;
};

// What the C interface takes, pointing into `settings`, which must outlive it unchanged.
class SamplerView {
 public:
  explicit SamplerView(const SamplerSettings& settings);
  SamplerView(const SamplerView&) = delete;
  SamplerView& operator=(const SamplerView&) = delete;
  const sotto_sampler_params* params() const { return &params_; }

 private:
  sotto_sampler_params params_;
  std::vector<sotto_sequence_bias> sequence_bias_;
  std::vector<sotto_token_list> bad_words_;
  std::vector<sotto_text> dry_breakers_;
};

// The same for lists of texts; `texts` must outlive it.
std::vector<sotto_text> text_views(const std::vector<std::string>& texts);

}  // namespace sotto::cli
