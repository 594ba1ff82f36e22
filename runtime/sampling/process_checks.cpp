#include "runtime/sampling/process_checks.h"

#include <limits>

#include "runtime/sampling/repetition_severity.h"
#include "runtime/sampling/stage_settings.h"

namespace sotto {

namespace {

// NaN is out of every range. `limits` says what is allowed.
Status check_range(const char* name, float value, bool allowed, const char* limits, Error* error) {
  if (allowed) return Status::kOk;
  return fail(error, Status::kInvalidArgument, name, " is ", value, ", allowed is ", limits);
}

uint32_t magnitude(int32_t token) {
  return token < 0 ? 0 - static_cast<uint32_t>(token) : static_cast<uint32_t>(token);
}

Status refuse_token(const char* name, uint64_t index, int32_t token, const SamplerShape& shape, Error* error) {
  return fail(error, Status::kInvalidArgument, name, "[", index, "]: token ", token < 0 ? "-" : "", magnitude(token),
              " is not in the vocabulary of ", uint64_t{shape.vocabulary_size});
}

bool is_token(int32_t token, const SamplerShape& shape) {
  return token >= 0 && static_cast<size_t>(token) < shape.vocabulary_size;
}

Status check_tokens(const char* name, std::span<const int32_t> tokens, const SamplerShape& shape, Error* error) {
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (!is_token(tokens[i], shape)) return refuse_token(name, i, tokens[i], shape, error);
  }
  return Status::kOk;
}

// `index`: of the sequence, where its token is at fault, too.
Status check_sequence(const char* name, uint64_t index, std::span<const int32_t> tokens, const SamplerShape& shape,
                      Error* error) {
  if (tokens.empty()) {
    return fail(error, Status::kInvalidArgument, name, "[", index, "] is empty");
  }
  if (tokens.data() == nullptr) {
    return fail(error, Status::kInvalidArgument, name, "[", index, "].tokens is NULL");
  }
  for (const int32_t token : tokens) {
    if (!is_token(token, shape)) return refuse_token(name, index, token, shape, error);
  }
  return Status::kOk;
}

Status check_bias(const char* name, uint64_t index, float bias, Error* error) {
  if (bias <= std::numeric_limits<float>::max()) return Status::kOk;
  return fail(error, Status::kInvalidArgument, name, "[", index, "].bias is ", bias,
              ", allowed is what is finite, or -infinity");
}

Status check_single_token(const char* name, int32_t token, const SamplerShape& shape, Error* error) {
  if (token == kNoTokenId || is_token(token, shape)) return Status::kOk;
  return fail(error, Status::kInvalidArgument, name, " is ", token < 0 ? "-" : "", magnitude(token),
              ", not in the vocabulary of ", uint64_t{shape.vocabulary_size});
}

}  // namespace

Status check_penalties(const SamplerParams& p, Error* error) {
  const auto check = [error](const char* name, float value, float low, float high, const char* limits) {
    return check_range(name, value, value >= low && value <= high, limits, error);
  };
  const float r = p.repetition_penalty;
  SOTTO_TRY(check_range("repetition_penalty", r, r > 0 && r <= 100, "above 0 to 100", error));
  SOTTO_TRY(check("frequency_penalty", p.frequency_penalty, -100, 100, "-100 to 100"));
  SOTTO_TRY(check("presence_penalty", p.presence_penalty, -100, 100, "-100 to 100"));
  SOTTO_TRY(check("penalty_slope", p.penalty_slope, 0, 10, "0 to 10"));
  SOTTO_TRY(check("dry_multiplier", p.dry_multiplier, 0, 100, "0 to 100"));
  SOTTO_TRY(check("dry_base", p.dry_base, 1, 10, "1 to 10"));
  if (p.guard_window > kMaxGuardWindow) {
    return fail(error, Status::kInvalidArgument, "guard_window is ", p.guard_window, ", allowed is 0 to ",
                uint64_t{kMaxGuardWindow});
  }
  SOTTO_TRY(check("guard_penalty", p.guard_penalty, 1, 100, "1 to 100"));
  return check("end_decay_factor", p.end_decay_factor, 0, 10, "0 to 10");
}

Status check_lists(const SamplerParams& p, const SamplerShape& shape, Error* error) {
  for (size_t i = 0; i < p.logit_bias.size(); ++i) {
    const TokenBias& entry = p.logit_bias[i];
    if (!is_token(entry.token, shape)) {
      return refuse_token("logit_bias", i, entry.token, shape, error);
    }
    SOTTO_TRY(check_bias("logit_bias", i, entry.bias, error));
  }
  for (size_t i = 0; i < p.sequence_bias.size(); ++i) {
    const SequenceBias& entry = p.sequence_bias[i];
    SOTTO_TRY(check_sequence("sequence_bias", i, {entry.tokens, entry.count}, shape, error));
    SOTTO_TRY(check_bias("sequence_bias", i, entry.bias, error));
  }
  for (size_t i = 0; i < p.bad_words.size(); ++i) {
    const TokenList& word = p.bad_words[i];
    SOTTO_TRY(check_sequence("bad_words", i, {word.tokens, word.count}, shape, error));
  }
  for (size_t i = 0; i < p.dry_breakers.size(); ++i) {
    if (p.dry_breakers[i].size == 0 || p.dry_breakers[i].text == nullptr) {
      return fail(error, Status::kInvalidArgument, "dry_breakers[", uint64_t{i}, "] is empty");
    }
  }
  SOTTO_TRY(check_tokens("dry_breaker_tokens", p.dry_breaker_tokens, shape, error));
  SOTTO_TRY(check_tokens("allowed_tokens", p.allowed_tokens, shape, error));
  SOTTO_TRY(check_tokens("suppressed_tokens", p.suppressed_tokens, shape, error));
  SOTTO_TRY(check_tokens("begin_suppressed_tokens", p.begin_suppressed_tokens, shape, error));
  SOTTO_TRY(check_tokens("forced_prefix", p.forced_prefix, shape, error));
  return check_single_token("forced_last_token", p.forced_last_token, shape, error);
}

Status check_watermark(const WatermarkParams& p, Error* error) {
  constexpr uint32_t kMaxContextWidth = 16, kMaxLayers = 64;
  const auto scheme = static_cast<uint32_t>(p.scheme);
  if (scheme > static_cast<uint32_t>(WatermarkScheme::kGumbel)) {
    return fail(error, Status::kInvalidArgument, "watermark.scheme ", scheme, " is not a SOTTO_WATERMARK_ value");
  }
  if (p.context_width > kMaxContextWidth) {
    return fail(error, Status::kInvalidArgument, "watermark.context_width is ", p.context_width, ", allowed is 0 to ",
                kMaxContextWidth);
  }
  if (p.tournament_layers < 1 || p.tournament_layers > kMaxLayers) {
    return fail(error, Status::kInvalidArgument, "watermark.tournament_layers is ", p.tournament_layers,
                ", allowed is 1 to ", kMaxLayers);
  }
  SOTTO_TRY(check_range("watermark.gamma", p.gamma, p.gamma > 0 && p.gamma < 1, "above 0 to below 1", error));
  return check_range("watermark.delta", p.delta, p.delta >= 0 && p.delta <= 100, "0 to 100", error);
}

Status check_watermark_selection(const SamplerParams& p, Error* error) {
  const bool replaces =
      p.watermark.scheme == WatermarkScheme::kTournament || p.watermark.scheme == WatermarkScheme::kGumbel;
  if (!replaces || (p.selection == Selection::kMultinomial && !is_cold(p))) return Status::kOk;
  return fail(error, Status::kInvalidArgument,
              "selection must be MULTINOMIAL and temperature above 0 with a watermark that "
              "replaces the selection");
}

}  // namespace sotto
