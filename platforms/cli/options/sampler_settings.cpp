// A sampler's parameters together with the lists they point to.
#include "platforms/cli/options/sampler_settings.h"

#include <algorithm>

namespace sotto::cli {

SamplerSettings::SamplerSettings() {
  sotto_sampler_params_init(&params, sizeof params);
  sotto_watermark_params_init(&watermark, sizeof watermark);
}

void SamplerSettings::switch_off() {
  params.temperature = 1.0f;
  params.top_k = 0;
  params.top_p = 1.0f;
  params.min_p = 0.0f;
}

uint32_t SamplerSettings::list_bytes() const {
  constexpr uint64_t kEntryBytes = 64;  // the library's bookkeeping, rounded up
  constexpr uint64_t kLeast = 16384;
  constexpr uint64_t kMost = uint64_t{1} << 24;
  uint64_t size = kEntryBytes * (stages.size() + logit_bias.size());
  for (const Tokens* tokens :
       {&allowed_tokens, &suppressed_tokens, &begin_suppressed_tokens, &forced_prefix, &dry_breaker_tokens}) {
    size += kEntryBytes + tokens->size() * sizeof(sotto_token);
  }
  for (const BiasedTokens& entry : sequence_bias) {
    size += kEntryBytes + entry.tokens.size() * sizeof(sotto_token);
  }
  for (const Tokens& word : bad_words) size += kEntryBytes + word.size() * sizeof(sotto_token);
  if (dry_breakers) {
    for (const std::string& text : *dry_breakers) size += kEntryBytes + text.size();
  }
  return static_cast<uint32_t>(std::clamp(2 * size, kLeast, kMost));
}

SamplerView::SamplerView(const SamplerSettings& settings) : params_(settings.params) {
  for (const BiasedTokens& entry : settings.sequence_bias) {
    sequence_bias_.push_back({entry.tokens.data(), entry.tokens.size(), entry.bias, 0});
  }
  for (const Tokens& word : settings.bad_words) bad_words_.push_back({word.data(), word.size()});
  const auto point = [](const auto& list, auto*& items, size_t& count) {
    items = list.data();
    count = list.size();
  };
  point(settings.stages, params_.stages, params_.stage_count);
  point(settings.logit_bias, params_.logit_bias, params_.logit_bias_count);
  point(sequence_bias_, params_.sequence_bias, params_.sequence_bias_count);
  point(bad_words_, params_.bad_words, params_.bad_word_count);
  point(settings.allowed_tokens, params_.allowed_tokens, params_.allowed_token_count);
  point(settings.suppressed_tokens, params_.suppressed_tokens, params_.suppressed_token_count);
  point(settings.begin_suppressed_tokens, params_.begin_suppressed_tokens, params_.begin_suppressed_token_count);
  point(settings.forced_prefix, params_.forced_prefix, params_.forced_prefix_count);
  point(settings.dry_breaker_tokens, params_.dry_breaker_tokens, params_.dry_breaker_token_count);
  if (settings.dry_breakers) {
    dry_breakers_ = text_views(*settings.dry_breakers);
    point(dry_breakers_, params_.dry_breakers, params_.dry_breaker_count);
  }
  if (settings.watermark.scheme != SOTTO_WATERMARK_NONE) params_.watermark = &settings.watermark;
}

std::vector<sotto_text> text_views(const std::vector<std::string>& texts) {
  std::vector<sotto_text> views;
  for (const std::string& text : texts) views.push_back({text.data(), text.size()});
  return views;
}

}  // namespace sotto::cli
