#include "runtime/session/decoder.h"

#include <algorithm>

#include "runtime/base/clock.h"
#include "runtime/sampling/log_probabilities.h"
#include "runtime/text/token_history.h"

namespace sotto {

void Decoder::layout(Arena& arena, const Model& model, const ResolvedSessionParams& params) {
  const size_t vocabulary = model.config().vocabulary_size;
  const bool has_guide = (params.features & kFeatureGuide) != 0;
  const bool has_layers = (params.features & kFeatureDola) != 0;
  model_ = &model;
  SamplerContext context = make_sampler_context(model);
  context.list_bytes = params.list_bytes;
  context.history_capacity = params.context_tokens;
  sampler_.layout(arena, context);
  mixed_logits_ = arena.take<float>(has_guide ? vocabulary : 0);
  layer_logits_ = arena.take<float>(has_layers ? premature_layer_count(model.config().layer_count) * vocabulary : 0);
}

Status Decoder::set_sampler(const SamplerParams& params, Error* error) {
  SOTTO_TRY(check_dola(params, *model_, stream_->params().features, error));
  return sampler_.set_params(params, error);
}

uint64_t Decoder::token_limit() const {
  return stops_->max_tokens() == 0 ? call_limit_ : std::min(call_limit_, stops_->max_tokens());
}

bool Decoder::is_complete() const {
  const TokenConstraint& constraint = stream_->constraint();
  return constraint.is_set() && constraint.must_end(0);
}

Status Decoder::check_limits() const {
  const uint64_t generated = stream_->generated_count();
  if (generated >= token_limit()) {
    return generated > 0 && is_complete() ? Status::kStopGrammar : Status::kStopMaxTokens;
  }
  if (stops_->max_time_ns() != 0 && stream_->answer_ns() >= stops_->max_time_ns()) return Status::kStopTime;
  if (stops_->repetition_limit() > 0 && generated > 0) {
    if (stream_repetitiveness() > stops_->repetition_limit()) return Status::kStopRepetition;
  }
  return Status::kOk;
}

float Decoder::stream_repetitiveness() const {
  const uint32_t window = stops_->repetition_window();
  return repetitiveness(stream_->history(window), window);
}

Status Decoder::check_end(int32_t token) const { return stops_->stop_of(token, model_->view().end_of_text_tokens()); }

Status Decoder::decode(SampledToken* sampled, SamplerState* state) {
  TokenMask mask;
  std::span<const float> logits;
  SOTTO_TRY(find_mask(&mask));
  SOTTO_TRY(find_logits(mask, &logits));
  *state = stream_->last_state().sampler;
  {
    Stopwatch stopwatch(&stream_->mutable_timings()->sample_ns);
    ++stream_->mutable_timings()->sample_count;
    *sampled = sampler_.sample(logits, mask, sample_input(), state);
  }
  return check_end(sampled->token);
}

Status Decoder::find_mask(TokenMask* mask) {
  Stopwatch stopwatch(&stream_->mutable_timings()->sample_ns);
  const TokenConstraint& constraint = stream_->constraint();
  if (is_complete()) return Status::kStopGrammar;
  if (output_->healing_left() > 0) {
    SOTTO_TRY(find_healing_mask(mask));
  } else if (constraint.is_set()) {
    SOTTO_TRY(constraint.mask(0, mask));
  }
  for (const RejectedTokens::Rejection& rejection : output_->rejections()) {
    clear_bit(sampler_.copy_mask(mask), static_cast<size_t>(rejection.token));
  }
  return sampler_.constrain(sample_input(), mask) ? Status::kOk : Status::kStopBanned;
}

// Allows the tokens that spell the text removed by healing, or the beginning of this text. If a token extends beyond
// the text, the constraint must allow the rest of the token.
Status Decoder::find_healing_mask(TokenMask* mask) {
  const size_t word_count = TokenMask::word_count(model_->config().vocabulary_size);
  const TokenConstraint& constraint = stream_->constraint();
  uint64_t* words = sampler_.copy_mask(mask);
  std::fill_n(words, word_count, 0);
  const size_t left = output_->healing_left();
  output_->healing().allow(*model_->tokenizer(), left, words);
  for (size_t i = 0; i < word_count && constraint.is_set(); ++i) {
    for (const uint32_t bit : SetBits(words[i])) {
      const auto token = static_cast<int32_t>(64 * i + bit);
      const auto bytes = stream_->bytes_of(token);
      const auto text = bytes.subspan(std::min(bytes.size(), left));
      bool fits = true;
      if (!text.empty()) SOTTO_TRY(constraint.test_text(0, text, &fits));
      if (!fits) clear_bit(words, static_cast<size_t>(token));
    }
  }
  return mask->allows_any() ? Status::kOk : Status::kGrammarDeadEnd;
}

SampleInput Decoder::sample_input() const {
  SampleInput input;
  input.history = stream_->history(stream_->params().context_tokens);
  input.place = stream_->token_count();
  input.rejected_count = static_cast<uint32_t>(output_->rejections().size());
  input.generated_count = stream_->generated_count();
  input.token_limit = token_limit() == UINT64_MAX ? 0 : token_limit();
  return input;
}

// Returns whether nothing needs the logits of the tokens that the mask excludes.
bool Decoder::needs_only_allowed() const {
  const SamplerParams& params = sampler_.params();
  return !params.log_probabilities && params.alternative_count == 0 && !params.statistics &&
         params.dola == DolaLayers::kOff && stream_->guide() == nullptr;
}

Status Decoder::find_logits(const TokenMask& mask, std::span<const float>* logits) {
  KvSequence& kv = stream_->kv();
  if (needs_only_allowed() && kv.forward().should_restrict_logits(mask)) {
    SOTTO_TRY(stream_->evaluate(cancellation_, {}, /*want_logits=*/false));
    if (!kv.has_logits()) {
      Stopwatch stopwatch(&stream_->mutable_timings()->decode_ns);
      return cancellation_->consume(kv.compute_allowed_logits(mask, *cancellation_, logits));
    }
  }
  SOTTO_TRY(stream_->evaluate_logits(cancellation_));
  return mix_logits(logits);
}

// Combines the model's logits with the logits of an earlier layer or of the guide.
Status Decoder::mix_logits(std::span<const float>* logits) {
  KvSequence& kv = stream_->kv();
  *logits = kv.logits();
  if (sampler_.params().dola != DolaLayers::kOff) {
    SOTTO_TRY(cancellation_->consume(kv.ensure_last_row(*cancellation_)));
    SOTTO_TRY(cancellation_->consume(kv.ensure_logits(*cancellation_)));
    *logits = contrast_layers(&kv, *model_, sampler_.params(), layer_logits_);
  }
  TokenStream* guide = stream_->guide();
  if (guide == nullptr) return Status::kOk;
  if (guide->token_count() == 0) return Status::kInvalidState;
  SOTTO_TRY(guide->evaluate(cancellation_, kv.drafts()));
  SOTTO_TRY(guide->evaluate_logits(cancellation_));
  mix_guide(model_->kernels(), guide_params_, *logits, guide->kv().logits(), mixed_logits_);
  *logits = {mixed_logits_, logits->size()};
  return Status::kOk;
}

void Decoder::describe(const SampledToken& sampled, BufferedToken* buffered) const {
  Piece& piece = buffered->piece;
  piece.kept_count = sampled.kept_count;
  const SamplerParams& params = sampler_.params();
  if (!params.log_probabilities && params.alternative_count == 0 && !params.statistics) return;
  const LogProbabilities model(model_->kernels(), stream_->kv().logits());
  const uint32_t wanted = std::min(params.alternative_count, SamplerParams::kMaxAlternativeCount);
  piece.alternative_count = static_cast<uint32_t>(model.find_likeliest({buffered->alternatives.data(), wanted}));
  if (params.statistics) {
    piece.entropy = static_cast<float>(model.entropy(model_->kernels()));
    piece.repetitiveness = stream_repetitiveness();
  }
  if (!params.log_probabilities) return;
  piece.log_probability = static_cast<float>(model.of(sampled.token));
  piece.sampled_log_probability = sampled.sampled_log_probability;
}

}  // namespace sotto
