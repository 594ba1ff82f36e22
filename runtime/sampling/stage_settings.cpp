#include "runtime/sampling/stage_settings.h"

namespace sotto {

bool is_cold(const SamplerParams& params) { return !(params.temperature > 0) && !(params.temperature_range > 0); }

bool is_greedy(const SamplerParams& params) { return is_cold(params) || params.selection == Selection::kGreedy; }

bool is_on(StageKind stage, const SamplerParams& p) {
  const bool has_window = p.repetition_window > 0;
  switch (stage) {
    case StageKind::kLogitsCallback:
      return p.logits_callback != nullptr;
    case StageKind::kBias:
      return !p.logit_bias.empty();
    case StageKind::kSequenceBias:
      return !p.sequence_bias.empty();
    case StageKind::kAllowed:
      return !p.allowed_tokens.empty();
    case StageKind::kSuppress:
      return !p.suppressed_tokens.empty() || !p.begin_suppressed_tokens.empty() || p.ignore_end;
    case StageKind::kBadWords:
      return !p.bad_words.empty();
    case StageKind::kMinTokens:
      return p.min_new_tokens > 0;
    case StageKind::kForced:
      return !p.forced_prefix.empty() || p.forced_last_token != kNoTokenId;
    case StageKind::kEndDecay:
      return p.end_decay_factor != 1;
    case StageKind::kRepetition:
      return (p.repetition_penalty != 1 && has_window) || p.guard_window > 0;
    case StageKind::kFrequency:
      return p.frequency_penalty != 0 && has_window;
    case StageKind::kPresence:
      return p.presence_penalty != 0 && has_window;
    case StageKind::kNoRepeatNgram:
      return p.no_repeat_ngram > 0;
    case StageKind::kDry:
      return p.dry_multiplier != 0;
    case StageKind::kTemperature:
      return p.temperature != 1 || p.temperature_range > 0;
    case StageKind::kSmoothing:
      return p.smoothing_factor > 0;
    case StageKind::kTopK:
      return p.top_k > 0;
    case StageKind::kTopP:
      return p.top_p < 1 || p.top_p_decay < 1;
    case StageKind::kMinP:
      return p.min_p > 0;
    case StageKind::kTopA:
      return p.top_a > 0;
    case StageKind::kTailFree:
      return p.tail_free < 1;
    case StageKind::kTypical:
      return p.typical_p < 1;
    case StageKind::kEpsilon:
      return p.epsilon > 0;
    case StageKind::kEta:
      return p.eta > 0;
    case StageKind::kTopNSigma:
      return p.top_n_sigma > 0;
    case StageKind::kTopH:
      return p.top_h < 1;
    case StageKind::kXtc:
      return p.xtc_probability > 0 && p.xtc_threshold <= 0.5f;
    case StageKind::kWatermark:
      return p.watermark.scheme != WatermarkScheme::kOff;
  }
  return false;
}

const char* stage_setting(StageKind stage) {
  switch (stage) {
    case StageKind::kLogitsCallback:
      return "logits_callback";
    case StageKind::kBias:
      return "logit_bias";
    case StageKind::kSequenceBias:
      return "sequence_bias";
    case StageKind::kAllowed:
      return "allowed_tokens";
    case StageKind::kSuppress:
      return "suppressed_tokens";
    case StageKind::kBadWords:
      return "bad_words";
    case StageKind::kMinTokens:
      return "min_new_tokens";
    case StageKind::kForced:
      return "forced_prefix";
    case StageKind::kEndDecay:
      return "end_decay_factor";
    case StageKind::kRepetition:
      return "repetition_penalty";
    case StageKind::kFrequency:
      return "frequency_penalty";
    case StageKind::kPresence:
      return "presence_penalty";
    case StageKind::kNoRepeatNgram:
      return "no_repeat_ngram";
    case StageKind::kDry:
      return "dry_multiplier";
    case StageKind::kTemperature:
      return "temperature";
    case StageKind::kSmoothing:
      return "smoothing_factor";
    case StageKind::kTopK:
      return "top_k";
    case StageKind::kTopP:
      return "top_p";
    case StageKind::kMinP:
      return "min_p";
    case StageKind::kTopA:
      return "top_a";
    case StageKind::kTailFree:
      return "tail_free";
    case StageKind::kTypical:
      return "typical_p";
    case StageKind::kEpsilon:
      return "epsilon";
    case StageKind::kEta:
      return "eta";
    case StageKind::kTopNSigma:
      return "top_n_sigma";
    case StageKind::kTopH:
      return "top_h";
    case StageKind::kXtc:
      return "xtc_probability";
    case StageKind::kWatermark:
      return "watermark";
  }
  return "?";
}

}  // namespace sotto
