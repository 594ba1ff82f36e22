// Tests chains: their orders, the stages that must not be missing, and properties of every chain.
#include "runtime/sampling/chain.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tests/unit/sampling/sampling_fixture.h"

namespace sotto {
namespace {

using enum StageKind;

// Returns the relative order of some stages.
std::vector<StageKind> order_of(const SamplerParams& params, const std::set<StageKind>& some) {
  std::vector<StageKind> found;
  for (const StageKind stage : stage_order(params)) {
    if (some.count(stage) != 0) found.push_back(stage);
  }
  return found;
}

TEST(Chain, OrdersHoldEveryStageOnce) {
  for (const ChainOrder order : {ChainOrder::kDefault, ChainOrder::kTransformers, ChainOrder::kVllm}) {
    SamplerParams params;
    params.order = order;
    const auto stages = stage_order(params);
    EXPECT_EQ(std::set<StageKind>(stages.begin(), stages.end()).size(), kChainStageCount);
    EXPECT_EQ(stages.size(), kChainStageCount);
  }
}

TEST(Chain, OrdersEqualThoseOfOtherPrograms) {
  SamplerParams params;
  const std::vector<StageKind> llama = {kBias,    kRepetition, kDry,  kTopNSigma, kTopK,
                                        kTypical, kTopP,       kMinP, kXtc,       kTemperature};
  EXPECT_EQ(order_of(params, {llama.begin(), llama.end()}), llama);
  params.order = ChainOrder::kTransformers;
  const std::vector<StageKind> hugging_face = {kSequenceBias, kRepetition,  kNoRepeatNgram, kMinTokens, kForced,
                                               kEndDecay,     kTemperature, kTopH,          kTopK,      kTopP,
                                               kMinP,         kTypical,     kEpsilon,       kEta,       kWatermark};
  EXPECT_EQ(order_of(params, {hugging_face.begin(), hugging_face.end()}), hugging_face);
  params.order = ChainOrder::kVllm;
  const std::vector<StageKind> open_ai = {kMinTokens,   kBias, kRepetition, kFrequency, kPresence,
                                          kTemperature, kMinP, kTopK,       kTopP};
  EXPECT_EQ(order_of(params, {open_ai.begin(), open_ai.end()}), open_ai);
}

// Bans narrow the mask before the chain, so a list of stages may name them or not.
TEST(Chain, BansHoldWhetherTheListNamesThemOrNot) {
  const std::vector<float> logits = {8, 6, 4, 2};
  const int32_t suppressed[] = {0};
  for (const std::vector<StageKind>& stages : {std::vector{kTopK}, std::vector{kTopK, kSuppress}}) {
    TestSampler sampler(4);
    SamplerParams params = plain();
    params.top_k = 1;
    params.suppressed_tokens = suppressed;
    params.stages = stages;
    ASSERT_EQ(sampler->set_params(params, nullptr), Status::kOk);
    TokenMask mask;
    ASSERT_TRUE(sampler->constrain({}, &mask));
    EXPECT_EQ(sampler.sample(logits, mask, {}, 0).token, 1);
  }
}

// The order matters: after T = 4 the nucleus is wider than before it.
TEST(Chain, RunsInTheOrderGiven) {
  const std::vector<float> logits = {8, 6, 4, 2, 0};
  TestSampler sampler(5);
  SamplerParams params = plain();
  params.temperature = 4;
  params.top_p = 0.9f;
  const auto kept = [&] {
    EXPECT_EQ(sampler->set_params(params, nullptr), Status::kOk);
    return sampler->apply(logits, {}, {}, sampler->initial_state()).count();
  };
  EXPECT_EQ(kept(), 2u);
  params.order = ChainOrder::kTransformers;
  EXPECT_EQ(kept(), 4u);
  const StageKind first_top_p[] = {kTopP, kTemperature};
  params.stages = first_top_p;
  EXPECT_EQ(kept(), 2u);
  const StageKind first_temperature[] = {kTemperature, kTopP};
  params.stages = first_temperature;
  EXPECT_EQ(kept(), 4u);
}

TEST(Chain, RejectsStagesByName) {
  TestSampler sampler(5);
  const auto refusal = [&](const SamplerParams& params) -> std::string {
    Error error;
    return sampler->set_params(params, &error) == Status::kOk ? "" : error.message;
  };
  SamplerParams params = plain();
  const StageKind twice[] = {kTopK, kTopP, kTopK};
  params.stages = twice;
  EXPECT_EQ(refusal(params), "stages contains top_k twice; it must contain a stage only once");
  const StageKind unknown[] = {static_cast<StageKind>(29)};
  params.stages = unknown;
  EXPECT_EQ(refusal(params), "stages contains 29; it must contain only SOTTO_STAGE_ values");
  const StageKind negative[] = {static_cast<StageKind>(-1)};
  params.stages = negative;
  EXPECT_NE(refusal(params), "");
  const StageKind one[] = {kTopK};
  params.stages = one;
  EXPECT_EQ(refusal(params), "");
  params.min_p = 0.1f;
  EXPECT_EQ(refusal(params), "min_p is set, but its stage is not among the stages");
  EXPECT_EQ(sampler->params().min_p, 0.0f);
  EXPECT_EQ(sampler->params().stages.size(), 1u);
}

// The parameters of a sampler may be passed back to it, including its lists.
TEST(Chain, AcceptsItsOwnListsAsNewParameters) {
  TestSampler sampler(5);
  SamplerParams params = plain();
  std::vector<StageKind> stages = {kTopK, kBias};
  const TokenBias biases[] = {{1, 2.0f}, {4, -1.0f}};
  params.stages = stages;
  params.logit_bias = biases;
  ASSERT_EQ(sampler->set_params(params, nullptr), Status::kOk);
  stages.assign(2, kMinP);  // the chain has a copy
  for (int i = 0; i < 3; ++i) {
    params = sampler->params();
    params.seed = static_cast<uint64_t>(i);
    ASSERT_EQ(sampler->set_params(params, nullptr), Status::kOk);
    EXPECT_EQ(sampler->params().stages[1], kBias);
    EXPECT_EQ(sampler->params().logit_bias[1].bias, -1.0f);
  }
  std::vector<TokenBias> many(1000, {1, 1.0f});
  params.logit_bias = many;
  Error error;
  EXPECT_EQ(sampler->set_params(params, &error), Status::kInvalidArgument);
  EXPECT_EQ(std::string(error.message).substr(0, 10), "list_bytes");
  EXPECT_EQ(sampler->params().logit_bias.size(), 2u);
}

// Sets values for every stage of the chain, most of them strong enough to have an effect.
void turn_on(StageKind stage, SamplerParams* p, std::mt19937_64& random) {
  const float share = static_cast<float>(1 + random() % 99) / 100;
  switch (stage) {
    case kMinTokens:
      p->min_new_tokens = static_cast<uint32_t>(random() % 5 + 1);
      break;
    case kEndDecay:
      p->end_decay_factor = 1 + share;
      break;
    case kRepetition:
      p->repetition_penalty = 0.5f + share;
      break;
    case kFrequency:
      p->frequency_penalty = 2 * share - 1;
      break;
    case kPresence:
      p->presence_penalty = 2 * share - 1;
      break;
    case kNoRepeatNgram:
      p->no_repeat_ngram = static_cast<uint32_t>(1 + random() % 3);
      break;
    case kDry:
      p->dry_multiplier = share;
      break;
    case kTemperature:
      p->temperature = 2 * share;
      p->temperature_range = random() % 2 == 0 ? share : 0;
      break;
    case kSmoothing:
      p->smoothing_factor = share;
      break;
    case kTopK:
      p->top_k = static_cast<uint32_t>(1 + random() % 200);
      break;
    case kTopP:
      p->top_p = share;
      break;
    case kMinP:
      p->min_p = share;
      break;
    case kTopA:
      p->top_a = share;
      break;
    case kTailFree:
      p->tail_free = share;
      break;
    case kTypical:
      p->typical_p = share;
      break;
    case kEpsilon:
      p->epsilon = share;
      break;
    case kEta:
      p->eta = share;
      break;
    case kTopNSigma:
      p->top_n_sigma = 3 * share;
      break;
    case kTopH:
      p->top_h = share;
      break;
    case kXtc:
      p->xtc_probability = share;
      p->xtc_threshold = share / 4;
      break;
    default:
      break;
  }
}

struct RandomChain {
  SamplerParams params;
  std::vector<StageKind> stages;
  std::vector<int32_t> suppressed;
};

RandomChain make_chain(size_t count, std::mt19937_64& random) {
  RandomChain chain;
  chain.params = plain();
  std::vector<StageKind> all;
  for (int32_t kind = 1; kind <= kStageKindCount; ++kind) {
    const auto stage = static_cast<StageKind>(kind);
    if (stage != kWatermark) all.push_back(stage);
  }
  std::shuffle(all.begin(), all.end(), random);
  const size_t used = 1 + random() % (random() % 2 == 0 ? 4 : all.size());
  chain.stages.assign(all.begin(), all.begin() + static_cast<ptrdiff_t>(used));
  for (const StageKind stage : chain.stages) {
    turn_on(stage, &chain.params, random);
    if (stage != kSuppress) continue;
    for (size_t i = 0; i < 1 + count / 2; ++i) {
      chain.suppressed.push_back(static_cast<int32_t>(random() % count));
    }
  }
  std::sort(chain.suppressed.begin(), chain.suppressed.end());
  chain.suppressed.erase(std::unique(chain.suppressed.begin(), chain.suppressed.end()), chain.suppressed.end());
  SamplerParams& p = chain.params;
  p.min_keep = random() % 2 == 0 ? 1 : static_cast<uint32_t>(1 + random() % 30);
  p.selection = static_cast<Selection>(random() % 6);
  if (p.selection == Selection::kAdaptiveP) p.adaptive_target = 0.3f;
  p.mirostat_tau = 0.5f + static_cast<float>(random() % 8);
  p.seed = random();
  p.log_probabilities = true;
  p.stages = chain.stages;
  p.suppressed_tokens = chain.suppressed;
  p.statistics = random() % 2 == 0;
  return chain;
}

bool same(const SampledToken& a, const SampledToken& b) {
  return a.token == b.token && a.kept_count == b.kept_count &&
         std::bit_cast<uint32_t>(a.sampled_log_probability) == std::bit_cast<uint32_t>(b.sampled_log_probability);
}

std::string names_of(const std::vector<StageKind>& stages) {
  std::string names;
  for (const StageKind stage : stages) names += std::to_string(static_cast<int>(stage)) + ' ';
  return names;
}

// Covers random stages, orders, logits, masks and selections.
TEST(Chain, NeverSelectsForbiddenTokensAndNeverRunsOut) {
  std::mt19937_64 random(77);
  for (const size_t count : {1, 2, 7, 100, 1500, 7000}) {
    const size_t list_bytes = 8 * count + 4096;
    TestSampler used(count, find_kernels(Isa::kAuto), list_bytes);
    for (int round = 0; round < (count > 1000 ? 150 : 600); ++round) {
      const RandomChain chain = make_chain(count, random);
      const auto logits = make_logits(static_cast<LogitKind>(round % 9), count, random);
      std::vector<uint64_t> words;
      TokenMask mask;
      if (round % 2 == 0) mask = make_mask(count, 0.2, random, words);
      size_t allowed = 0;
      for (size_t i = 0; i < count; ++i) allowed += mask.allows(i) ? 1 : 0;
      std::vector<int32_t> history(random() % 60);
      for (int32_t& token : history) token = static_cast<int32_t>(random() % count);
      // One sampler has used other chains, and the other is new and uses the scalar kernels.
      TestSampler fresh(count, find_kernels(Isa::kReference), list_bytes);
      Error error;
      ASSERT_EQ(used->set_params(chain.params, &error), Status::kOk) << error.message;
      ASSERT_EQ(fresh->set_params(chain.params, nullptr), Status::kOk);
      SamplerState state = used->initial_state(), other = state;
      for (uint64_t draw = 0; draw < 3; ++draw) {
        SampleInput input;
        input.history = {{}, history};
        input.place = draw;
        input.generated_count = draw;
        const size_t kept = used->apply(logits, mask, input, state).count();
        EXPECT_GE(kept, 1u);
        if (!is_greedy(chain.params)) {
          EXPECT_GE(kept, std::min<size_t>(chain.params.min_keep, allowed))
              << count << " tokens, round " << round << ", stages " << names_of(chain.stages);
        }
        EXPECT_GE(used->reweigh(logits, mask, input).count(), 1u);
        const SampledToken sampled = used->sample(logits, mask, input, &state);
        ASSERT_GE(sampled.token, 0);
        ASSERT_LT(static_cast<size_t>(sampled.token), count);
        ASSERT_TRUE(mask.allows(static_cast<size_t>(sampled.token))) << "round " << round;
        ASSERT_TRUE(same(sampled, fresh->sample(logits, mask, input, &other))) << "round " << round << " of " << count;
      }
      EXPECT_EQ(std::memcmp(&state, &other, sizeof state), 0);
    }
  }
}

// If every allowed token is banned, the bans are skipped, not the mask.
TEST(Chain, SkipsBansThatLeaveNoAllowedToken) {
  const std::vector<float> logits = {5, 4, 3, 2, 1, 0};
  const TokenBias banned[] = {{2, kMinusInfinity}, {3, kMinusInfinity}, {4, kMinusInfinity}};
  std::vector<uint64_t> words = {0b011100};
  const TokenMask mask = {words.data(), 6};
  SamplerParams params = plain();
  params.logit_bias = banned;
  params.top_k = 1;
  TestSampler sampler(6);
  ASSERT_EQ(sampler->set_params(params, nullptr), Status::kOk);
  EXPECT_EQ(sampler.sample(logits, mask, {}, 0).token, 2);
  words[0] = 0b111100;
  EXPECT_EQ(sampler.sample(logits, mask, {}, 0).token, 5);
}

// A rejected value names its parameter, and nothing changes.
TEST(Chain, RejectsParametersOutOfRange) {
  struct Refusal {
    const char* message;
    void (*change)(SamplerParams&);
  };
  const Refusal refusals[] = {
      {"temperature is -1; it must be from 0 to 100", [](auto& p) { p.temperature = -1; }},
      {"temperature_range is 101; it must be from 0 to 100", [](auto& p) { p.temperature_range = 101; }},
      {"temperature_exponent is NaN; it must be", [](auto& p) { p.temperature_exponent = NAN; }},
      {"smoothing_factor is -0.5; it must be", [](auto& p) { p.smoothing_factor = -0.5f; }},
      {"smoothing_curve is 0; it must be from 1 to 10", [](auto& p) { p.smoothing_curve = 0; }},
      {"top_p is 0; it must be greater than 0 and at most 1", [](auto& p) { p.top_p = 0; }},
      {"top_p_decay is 0; it must be greater than 0 and at most 1", [](auto& p) { p.top_p_decay = 0; }},
      {"top_p_min is 0.75; it must be from 0 to 0.5", [](auto& p) { p.top_p = 0.5f, p.top_p_min = 0.75f; }},
      {"top_p_reset_token is 5; it must be -1 or a token id from 0 to 4", [](auto& p) { p.top_p_reset_token = 5; }},
      {"top_p_reset_token is -2; it must be -1 or a token id from 0 to 4", [](auto& p) { p.top_p_reset_token = -2; }},
      {"min_p is 2; it must be from 0 to 1", [](auto& p) { p.min_p = 2; }},
      {"top_a is infinity; it must be", [](auto& p) { p.top_a = INFINITY; }},
      {"tail_free is 0; it must be greater than 0 and at most 1", [](auto& p) { p.tail_free = 0; }},
      {"typical_p is -1; it must be greater than 0 and at most 1", [](auto& p) { p.typical_p = -1; }},
      {"epsilon is 1; it must be at least 0 and less than 1", [](auto& p) { p.epsilon = 1; }},
      {"eta is 1; it must be at least 0 and less than 1", [](auto& p) { p.eta = 1; }},
      {"top_n_sigma is -1; it must be from 0 to 100", [](auto& p) { p.top_n_sigma = -1; }},
      {"top_h is 0; it must be greater than 0 and at most 1", [](auto& p) { p.top_h = 0; }},
      {"xtc_probability is 1.5; it must be from 0 to 1", [](auto& p) { p.xtc_probability = 1.5f; }},
      {"xtc_threshold is -1; it must be from 0 to 1", [](auto& p) { p.xtc_threshold = -1; }},
      {"mirostat_tau is 0; it must be greater than 0 and at most 20", [](auto& p) { p.mirostat_tau = 0; }},
      {"mirostat_eta is 2; it must be greater than 0 and at most 1", [](auto& p) { p.mirostat_eta = 2; }},
      {"mirostat_m is 1; it must be at least 2", [](auto& p) { p.mirostat_m = 1; }},
      {"adaptive_target is 1.5; it must be -1 or from 0 to 1", [](auto& p) { p.adaptive_target = 1.5f; }},
      {"adaptive_target is NaN; it must be -1 or from 0 to 1", [](auto& p) { p.adaptive_target = NAN; }},
      {"adaptive_target is not set", [](auto& p) { p.selection = Selection::kAdaptiveP; }},
      {"adaptive_decay is 1; it must be from 0 to 0.99", [](auto& p) { p.adaptive_decay = 1; }},
      {"min_keep is 0; it must be at least 1", [](auto& p) { p.min_keep = 0; }},
      {"alternative_count is 65; it must be from 0 to 64", [](auto& p) { p.alternative_count = 65; }},
      {"order is 3; it must be from 0 to 2", [](auto& p) { p.order = static_cast<ChainOrder>(3); }},
      {"selection is -1; it must be from 0 to 5", [](auto& p) { p.selection = static_cast<Selection>(-1); }},
      {"dola is 3; it must be from 0 to 2", [](auto& p) { p.dola = static_cast<DolaLayers>(3); }},
      {"dola_relative_top is 2; it must be from 0 to 1", [](auto& p) { p.dola_relative_top = 2; }},
  };
  TestSampler sampler(5);
  SamplerParams old = plain();
  old.seed = 123;
  ASSERT_EQ(sampler->set_params(old, nullptr), Status::kOk);
  for (const auto& [message, change] : refusals) {
    SamplerParams params = plain();
    change(params);
    Error error;
    EXPECT_EQ(sampler->set_params(params, &error), Status::kInvalidArgument) << message;
    EXPECT_EQ(std::string(error.message).substr(0, std::strlen(message)), message);
    EXPECT_EQ(sampler->params().seed, 123u);
  }
}

}  // namespace
}  // namespace sotto
