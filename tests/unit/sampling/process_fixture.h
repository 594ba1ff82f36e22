// A fixture with a sampler that runs only the stages that a test names.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/sampling/sampler.h"
#include "tests/unit/sampling/sampling_fixture.h"

namespace sotto {

class ProcessFixture {
 public:
  // The bytes of token i are texts[i], if there are any.
  explicit ProcessFixture(size_t vocabulary_size, int32_t end_token = kNoTokenId, std::vector<std::string> texts = {},
                          size_t list_bytes = 1 << 16, const Kernels* kernels = find_kernels(Isa::kAuto))
      : end_token_(end_token), texts_(std::move(texts)), memory_(memory_size(context_of(vocabulary_size, list_bytes))) {
    SamplerContext context = context_of(vocabulary_size, list_bytes);
    context.end_tokens = {&end_token_, end_token_ < 0 ? size_t{0} : size_t{1}};
    if (!texts_.empty()) context.bytes = {&texts_, bytes_of};
    Arena arena(memory_.get());
    sampler_.layout(arena, context);
    sampler_.init(*kernels);
  }
  Sampler* operator->() { return &sampler_; }

  // Sets `params` with these stages only.
  Status set(SamplerParams params, std::vector<StageKind> stages, Error* error = nullptr) {
    params.stages = stages;
    if (std::find(stages.begin(), stages.end(), StageKind::kTemperature) == stages.end()) {
      params.temperature = 1;
    }
    return sampler_.set_params(params, error);
  }

  // Returns parameters that turn everything off, for the caller to change.
  static SamplerParams off() {
    SamplerParams params;
    params.temperature = 1;
    params.top_k = 0;
    params.top_p = 1;
    params.min_p = 0;
    return params;
  }

  // Returns the logits by id after the chain, -infinity for removed tokens.
  std::vector<float> logits(const std::vector<float>& logits, const SampleInput& input, const TokenMask& mask = {}) {
    const Candidates& left = sampler_.apply(logits, constrained(mask, input), input, sampler_.initial_state());
    std::vector<float> result(logits.size(), kMinusInfinity);
    for (size_t i = 0; i < left.count(); ++i) {
      result[static_cast<size_t>(left.id(i))] = left.logit(i);
    }
    return result;
  }

  SampledToken sample(const std::vector<float>& logits, const SampleInput& input, const TokenMask& mask = {}) {
    SamplerState state = sampler_.initial_state();
    return sampler_.sample(logits, constrained(mask, input), input, &state);
  }

 private:
  TokenMask constrained(TokenMask mask, const SampleInput& input) {
    EXPECT_TRUE(sampler_.constrain(input, &mask));
    return mask;
  }
  static std::span<const char> bytes_of(const void* self, int32_t token) {
    const auto& texts = *static_cast<const std::vector<std::string>*>(self);
    return texts[static_cast<size_t>(token)];
  }

  int32_t end_token_;
  std::vector<std::string> texts_;
  Memory memory_;
  Sampler sampler_;
};

// Returns a history in three pieces. Any of them may be empty.
inline TokenHistory split_history(const std::vector<int32_t>& tokens, size_t first, size_t second) {
  const std::span<const int32_t> all = tokens;
  first = std::min(first, all.size());
  second = std::min(std::max(first, second), all.size());
  return {all.first(first), all.subspan(first, second - first), all.subspan(second)};
}

inline SampleInput input_of(const TokenHistory& history, uint64_t generated_count = 0) {
  SampleInput input;
  input.history = history;
  input.generated_count = generated_count;
  return input;
}

}  // namespace sotto
