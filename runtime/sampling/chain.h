// The order in which stages work on the candidates.
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>

#include "runtime/sampling/candidates.h"
#include "runtime/sampling/sampler_params.h"

namespace sotto {

// One stage with its setting.
struct Stage {
  enum class Kind : uint8_t {
    kRepetitionPenalty,  // value: penalty, count: window
    kTopK,               // count: k
    kTopP,               // value: p
    kMinP,               // value: ratio
    kTemperature,        // value: T > 0
    kGreedy,
    kMultinomial,
  };

  Kind kind = Kind::kGreedy;
  float value = 0;
  uint32_t count = 0;
};

// What the stages know beside the candidates.
struct StageInput {
  TokenHistory history;
  uint64_t random = 0;  // 64 uniform bits
};

class Chain {
 public:
  static constexpr size_t kCapacity = 8;

  void clear() { count_ = 0; }
  void add(const Stage& stage) {
    assert(count_ < kCapacity);
    stages_[count_++] = stage;
  }

  // Runs the stages up to the first that selects: its token, or -1 if none does.
  int32_t run(Candidates& candidates, const StageInput& input) const;

 private:
  std::array<Stage, kCapacity> stages_;
  size_t count_ = 0;
};

// The chain of sotto_sampler_params, without the stages that would change nothing.
Chain make_chain(const SamplerParams& params);

}  // namespace sotto
