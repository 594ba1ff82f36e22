// The order in which stages work on the candidates.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/status.h"
#include "runtime/generated/params.h"
#include "runtime/sampling/candidates.h"
#include "runtime/sampling/sample_input.h"

namespace sotto {

class BreakerSet;
class PastTokens;

// Bytes of a token, of whoever has a tokenizer.
struct TokenBytes {
  const void* self = nullptr;
  std::span<const char> (*of)(const void* self, int32_t token) = nullptr;  // null: none
};

inline constexpr size_t kDefaultHistoryCapacity = 2048;

// What a sampler is made for.
struct SamplerShape {
  size_t vocabulary_size = 0;
  int32_t end_token = kNoTokenId;
  size_t list_bytes = 0;
  TokenBytes bytes;
  size_t history_capacity = kDefaultHistoryCapacity;  // newest tokens that stages look at
};

// What a stage knows beside the candidates.
struct StageInput {
  const SamplerParams& params;
  const SamplerShape& shape;
  const SampleInput& input;
  const SamplerState& state;
  PastTokens& past;
  const BreakerSet& breakers;
};

// The temperature is 0, whatever the entropy.
inline bool is_cold(const SamplerParams& params) {
  return !(params.temperature > 0) && !(params.temperature_range > 0);
}

// Cold, or Selection::kGreedy: the most likely token is selected.
inline bool is_greedy(const SamplerParams& params) { return is_cold(params) || params.selection == Selection::kGreedy; }

// The stages of some parameters that would change anything, in order.
class Chain {
 public:
  enum class Part : uint8_t {
    kAll,
    kReweigh,             // changes logits by what the text is
    kWithoutBans,         // all but what can ban a token
    kReweighWithoutBans,  // of both
  };

  // `params` are checked: see check_stages.
  static Chain make(const SamplerParams& params);

  std::span<const StageKind> stages() const { return {stages_.data(), count_}; }
  bool can_ban() const;
  // `draws`: Candidates::draw is all that follows.
  void run(Candidates& candidates, const StageInput& input, Part part, bool draws) const;

 private:
  std::array<StageKind, kStageKindCount> stages_ = {};
  size_t count_ = 0;
};

// The whole order of `params`: a preset, or their own.
std::span<const StageKind> stage_order(const SamplerParams& params);

// `params.stages`: no stage twice, none that does not exist, and none left out that the
// parameters turn on.
Status check_stages(const SamplerParams& params, Error* error);

}  // namespace sotto
