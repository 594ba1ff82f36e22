// Decodes the next token in three steps:
//   mask     the tokens that the constraint, token healing and the sampler's hard bans allow, without those that were
//            rejected at this place;
//   logits   the model's own, or combined with those of a guide or of an earlier layer (contrast.h);
//   sample   one allowed token, drawn by the sampler.
// If the mask allows only a few tokens, only their logits are computed, unless a parameter needs the others too.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/base/token_mask.h"
#include "runtime/sampling/sampler.h"
#include "runtime/session/contrast.h"
#include "runtime/session/output/text_output.h"
#include "runtime/session/token_stream.h"
#include "runtime/text/stops.h"

namespace sotto {

class Decoder {
 public:
  Decoder(const Stops& stops, TokenStream& stream, TextOutput& output, Cancellation& cancellation)
      : stops_(&stops), stream_(&stream), output_(&output), cancellation_(&cancellation) {}

  void layout(Arena& arena, const Model& model, const ResolvedSessionParams& params);
  // Requires layout() over real memory.
  void init() { sampler_.init(model_->kernels()); }

  Status set_sampler(const SamplerParams& params, Error* error);
  Sampler& sampler() { return sampler_; }
  void set_guide_params(const GuideParams& params) { guide_params_ = params; }

  // The maximum number of tokens of the answer for the current call, in addition to the stops, or UINT64_MAX for no
  // limit.
  uint64_t call_limit() const { return call_limit_; }
  void set_call_limit(uint64_t limit) { call_limit_ = limit; }
  // Returns the smaller of call_limit() and the stops' max_tokens, or UINT64_MAX if neither is set.
  uint64_t token_limit() const;

  // Returns the stop that prevents another token, or kOk.
  Status check_limits() const;
  // Returns the stop that `token` causes, or kOk if the token becomes part of the text.
  Status check_end(int32_t token) const;

  // Returns whether decode() will need logits: no stop applies before the next token.
  bool needs_logits() const { return check_limits() == Status::kOk && !is_complete(); }
  // Decodes the next token and returns kOk, or returns the stop that ends the text.
  Status decode(SampledToken* sampled, SamplerState* state);
  // Finds the tokens that may come next. Returns kStopBanned if rejections at this place and hard bans leave none.
  Status find_mask(TokenMask* mask);
  // Returns the sampler's view of the stream: the history, the place, and the counts of tokens.
  SampleInput sample_input() const;
  // Fills in the values of a piece. Under the model's own logits: ln p, the alternatives and the entropy. Under the
  // sampler's distribution: ln p and the number of tokens. And the repetitiveness of the stream up to the token.
  void describe(const SampledToken& sampled, BufferedToken* buffered) const;

 private:
  // Returns whether only the end-of-text token may continue the text.
  bool is_complete() const;
  // Returns the repetitiveness of the newest tokens of the stream, over the window that the stops set.
  float stream_repetitiveness() const;
  Status find_healing_mask(TokenMask* mask);
  bool needs_only_allowed() const;
  Status find_logits(const TokenMask& mask, std::span<const float>* logits);
  Status mix_logits(std::span<const float>* logits);

  const Stops* stops_;
  TokenStream* stream_;
  TextOutput* output_;
  Cancellation* cancellation_;
  const Model* model_ = nullptr;
  float* mixed_logits_ = nullptr;  // (token), with kFeatureGuide
  float* layer_logits_ = nullptr;  // (premature layer, token), with kFeatureDola
  Sampler sampler_;
  GuideParams guide_params_;
  uint64_t call_limit_ = UINT64_MAX;
};

}  // namespace sotto
