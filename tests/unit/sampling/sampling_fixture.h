// Fixtures of the sampling tests: memory for a sampler, kinds of logits, random masks.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "runtime/sampling/candidates.h"
#include "runtime/sampling/sampler.h"

namespace sotto {

// Aligned memory of exactly the requested size, so that sanitizers detect an overrun.
class Memory {
 public:
  explicit Memory(size_t size) : bytes_(std::aligned_alloc(64, size)) { std::memset(bytes_.get(), 0xa5, size); }
  void* get() { return bytes_.get(); }

 private:
  struct Free {
    void operator()(void* bytes) const { std::free(bytes); }
  };
  std::unique_ptr<void, Free> bytes_;
};

inline SamplerContext context_of(size_t vocabulary_size, size_t list_bytes = 0) {
  SamplerContext context;
  context.vocabulary_size = vocabulary_size;
  context.list_bytes = list_bytes;
  return context;
}

inline size_t memory_size(const SamplerContext& context) {
  Arena measure;
  Sampler().layout(measure, context);
  return measure.size();
}

class TestSampler {
 public:
  explicit TestSampler(size_t vocabulary_size, const Kernels* kernels = find_kernels(Isa::kAuto),
                       size_t list_bytes = 4096)
      : TestSampler(context_of(vocabulary_size, list_bytes), kernels) {}
  explicit TestSampler(const SamplerContext& context, const Kernels* kernels = find_kernels(Isa::kAuto))
      : memory_(memory_size(context)) {
    Arena arena(memory_.get());
    sampler_.layout(arena, context);
    sampler_.init(*kernels);
  }
  Sampler* operator->() { return &sampler_; }

  // Samples one token as the first of a text.
  SampledToken sample(const std::vector<float>& logits, const TokenMask& mask, const TokenHistory& history,
                      uint64_t draw) {
    SampleInput input;
    input.history = history;
    input.place = draw;
    SamplerState state = sampler_.initial_state();
    return sampler_.sample(logits, mask, input, &state);
  }

 private:
  Memory memory_;
  Sampler sampler_;
};

// Parameters that change and truncate nothing.
inline SamplerParams plain() {
  SamplerParams params;
  params.temperature = 1;
  params.top_k = 0;
  params.top_p = 1;
  params.min_p = 0;
  return params;
}

// Candidates without a sampler, to inspect the result of a stage.
class TestCandidates {
 public:
  explicit TestCandidates(size_t vocabulary_size, const Kernels* kernels = find_kernels(Isa::kAuto))
      : kernels_(kernels), memory_(memory_size(context_of(vocabulary_size))), context_(context_of(vocabulary_size)) {
    Arena arena(memory_.get());
    scratch_.layout(arena, vocabulary_size);
    candidates_.layout(arena, vocabulary_size, scratch_);
    past_.layout(arena, kDefaultHistoryCapacity);
    breakers_.layout(arena, vocabulary_size);
    candidates_.init();
    breakers_.init();
  }
  // The logits must outlive the candidates.
  Candidates& begin(const std::vector<float>& logits, const TokenMask& mask = {}) {
    candidates_.begin(*kernels_, logits, mask);
    return candidates_;
  }
  Candidates& begin(std::vector<float>&&, const TokenMask& = {}) = delete;

  // Runs the stages that `params` turn on. The candidates may then have a recorded truncation.
  void run_stages(const SamplerParams& params, const SamplerState& state = {}, const TokenHistory& history = {}) {
    SampleInput input;
    input.history = history;
    past_.begin(input, params.penalize_prompt);
    const StageInput stage_input = {params, context_, input, state, past_, breakers_, scratch_};
    Chain::make(params).run(candidates_, stage_input, {});
  }
  // Runs the stages and applies the truncations. If the selection is greedy, only the most likely token remains.
  void run(const SamplerParams& params, const SamplerState& state = {}, const TokenHistory& history = {}) {
    run_stages(params, state, history);
    candidates_.apply_truncation();
    if (is_greedy(params)) candidates_.keep_top(1);
    candidates_.apply_truncation();
  }
  Candidates& candidates() { return candidates_; }
  const SamplerScratch& scratch() const { return scratch_; }

 private:
  const Kernels* kernels_;
  Memory memory_;
  SamplerScratch scratch_;
  Candidates candidates_;
  PastTokens past_;
  BreakerSet breakers_;
  SamplerContext context_;
};

// ln p of a token under the raw logits.
inline float raw_log_probability(const std::vector<float>& logits, int32_t token,
                                 const Kernels* kernels = find_kernels(Isa::kAuto)) {
  TestCandidates candidates(logits.size(), kernels);
  return static_cast<float>(candidates.begin(logits).log_probability(token));
}

inline std::vector<int32_t> ids_of(const Candidates& candidates) {
  std::vector<int32_t> ids(candidates.count());
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = candidates.id(i);
  return ids;
}

// Returns an upper bound of chi-square that is exceeded once in a million (Wilson and Hilferty 1931).
inline double chi_square_bound(double freedom) {
  const double a = 2 / (9 * freedom);
  return freedom * std::pow(1 - a + 4.753 * std::sqrt(a), 3);
}

enum class LogitKind { kNarrow, kWide, kPeaked, kFlat, kTied, kManyInfinite, kWithNan, kHuge, kHostile, kCount };

inline std::vector<float> make_logits(LogitKind kind, size_t count, std::mt19937_64& random) {
  std::normal_distribution<float> normal;
  std::vector<float> logits(count);
  for (size_t i = 0; i < count; ++i) {
    const float x = normal(random);
    const auto dice = random() % 16;
    switch (kind) {
      case LogitKind::kNarrow:
        logits[i] = x;
        break;
      case LogitKind::kWide:
        logits[i] = 10 * x - 30;
        break;
      case LogitKind::kPeaked:
        logits[i] = 2 * x + (random() % 1000 == 0 ? 15.0f : 0.0f);
        break;
      case LogitKind::kFlat:
        logits[i] = dice < 8 ? 0.0f : -0.0f;
        break;
      case LogitKind::kTied:
        logits[i] = static_cast<float>(static_cast<int>(2 * x));
        break;
      case LogitKind::kManyInfinite:
        logits[i] = dice < 14 ? kMinusInfinity : 3 * x;
        break;
      case LogitKind::kWithNan:
        logits[i] = dice < 3 ? NAN : 3 * x;
        break;
      case LogitKind::kHuge:
        logits[i] = 1e38f * std::clamp(x, -3.0f, 3.0f);
        break;
      default:  // kHostile
        logits[i] = dice < 5 ? NAN : dice < 10 ? kMinusInfinity : dice < 12 ? INFINITY : x;
    }
  }
  return logits;
}

// A mask over `words` with about this `fraction` of the tokens allowed, at least one.
inline TokenMask make_mask(size_t count, double fraction, std::mt19937_64& random, std::vector<uint64_t>& words) {
  // Sets the bits beyond the vocabulary, which must not be read as tokens.
  words.assign(TokenMask::word_count(count), fraction >= 0.9 ? UINT64_MAX : 0);
  if (count % 64 != 0) words.back() |= ~uint64_t{0} << (count % 64);
  std::bernoulli_distribution allowed(fraction);
  for (size_t i = 0; i < count; ++i) {
    const uint64_t bit = uint64_t{1} << (i % 64);
    if (fraction >= 0.9 && random() % 64 != 0) continue;
    words[i / 64] = allowed(random) ? words[i / 64] | bit : words[i / 64] & ~bit;
  }
  const size_t one = random() % count;
  words[one / 64] |= uint64_t{1} << (one % 64);
  return {words.data(), count};
}

}  // namespace sotto
