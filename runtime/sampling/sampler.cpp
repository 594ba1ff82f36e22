#include "runtime/sampling/sampler.h"

#include <cassert>
#include <limits>

#include "runtime/base/arena.h"
#include "runtime/base/random.h"
#include "runtime/base/scalar_math.h"

namespace sotto {

namespace {

// NaN is out of every range. `limits` says what is allowed.
Status check_range(const char* name, float value, bool allowed, const char* limits, Error* error) {
  if (allowed) return Status::kOk;
  return fail(error, Status::kInvalidArgument, name, " is ", value, ", allowed is ", limits);
}

}  // namespace

size_t Sampler::memory_size(size_t vocabulary_size) {
  Arena measure;
  Candidates().place(vocabulary_size, measure);
  return measure.size();
}

void Sampler::init(const Kernels& kernels, size_t vocabulary_size, void* memory) {
  kernels_ = &kernels;
  params_ = SamplerParams();
  chain_ = make_chain(params_);
  Arena arena(memory);
  candidates_.place(vocabulary_size, arena);
}

Status Sampler::set_params(const SamplerParams& params, Error* error) {
  const float t = params.temperature, p = params.top_p, m = params.min_p;
  const float r = params.repetition_penalty;
  SOTTO_TRY(check_range("temperature", t, t >= 0 && t <= 100, "0 to 100", error));
  SOTTO_TRY(check_range("top_p", p, p > 0 && p <= 1, "above 0 to 1", error));
  SOTTO_TRY(check_range("min_p", m, m >= 0 && m <= 1, "0 to 1", error));
  SOTTO_TRY(check_range("repetition_penalty", r, r > 0 && r <= 100, "above 0 to 100", error));
  params_ = params;
  chain_ = make_chain(params_);
  return Status::kOk;
}

SampledToken Sampler::sample(std::span<const float> logits, const TokenMask& mask,
                             const TokenHistory& history, uint64_t draw) {
  candidates_.begin(*kernels_, logits, mask);
  const int32_t token = chain_.run(candidates_, {history, random_bits(params_.seed, draw)});
  assert(token >= 0 && mask.allows(static_cast<size_t>(token)));
  return {token, params_.log_probabilities ? log_probability(logits, token)
                                           : std::numeric_limits<float>::quiet_NaN()};
}

float Sampler::log_probability(std::span<const float> logits, int32_t token) {
  candidates_.begin(*kernels_, logits, TokenMask());
  const float max = candidates_.max();
  const float logit = logits[static_cast<size_t>(token)];
  if (!(logit > Candidates::kLowest)) return Candidates::kLowest;
  const double sum = static_cast<double>(candidates_.total_weight()) * 0x1p-40;
  const double difference = logit == max ? 0.0 : static_cast<double>(logit) - max;
  return static_cast<float>(difference - ln(sum));
}

}  // namespace sotto
