// Tests that invalid parameters of bans, biases, penalties and watermarks are rejected by name. The old parameters then
// stay in effect.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tests/unit/sampling/process_fixture.h"

namespace sotto {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Refusal {
  const char* message;  // the message begins with it
  std::function<void(SamplerParams&)> change;
};

const int32_t kOutside[] = {3, 1, 8};
const int32_t kNegative[] = {-5};
const TokenBias kBadBias[] = {{1, 2}, {7, NAN}};
const TokenBias kInfiniteBias[] = {{1, kInfinity}};
const TokenBias kOutsideBias[] = {{8, 1}};
const SequenceBias kEmptySequence[] = {{kOutside, 1, 2, 0}, {kOutside, 0, 1, 0}};
const SequenceBias kNullSequence[] = {{nullptr, 2, 1, 0}};
const SequenceBias kNanSequence[] = {{kOutside, 2, NAN, 0}};
const SequenceBias kOutsideSequence[] = {{kOutside, 3, 1, 0}};
const TokenList kEmptyWord[] = {{kOutside, 2}, {kOutside, 2}, {kOutside, 0}};
const TokenList kOutsideWord[] = {{kOutside, 3}};
const TextView kEmptyBreaker[] = {{"x", 1}, {"", 0}};

void set_watermark(SamplerParams& p, WatermarkScheme scheme) { p.watermark.scheme = scheme; }

const Refusal kRefusals[] = {
    {"repetition_penalty is 0;", [](auto& p) { p.repetition_penalty = 0; }},
    {"repetition_penalty is NaN", [](auto& p) { p.repetition_penalty = NAN; }},
    {"repetition_penalty is 101", [](auto& p) { p.repetition_penalty = 101; }},
    {"frequency_penalty is 100.5", [](auto& p) { p.frequency_penalty = 100.5f; }},
    {"frequency_penalty is NaN", [](auto& p) { p.frequency_penalty = NAN; }},
    {"presence_penalty is -inf", [](auto& p) { p.presence_penalty = -kInfinity; }},
    {"penalty_slope is -1", [](auto& p) { p.penalty_slope = -1; }},
    {"penalty_slope is 11", [](auto& p) { p.penalty_slope = 11; }},
    {"dry_multiplier is -0.5", [](auto& p) { p.dry_multiplier = -0.5f; }},
    {"dry_multiplier is inf", [](auto& p) { p.dry_multiplier = kInfinity; }},
    {"dry_base is 0.5", [](auto& p) { p.dry_base = 0.5f; }},
    {"dry_base is 11", [](auto& p) { p.dry_base = 11; }},
    {"guard_window is 257; it must be from 0 to 256", [](auto& p) { p.guard_window = 257; }},
    {"guard_penalty is 0.5", [](auto& p) { p.guard_penalty = 0.5f; }},
    {"end_decay_factor is -1", [](auto& p) { p.end_decay_factor = -1; }},
    {"end_decay_factor is NaN", [](auto& p) { p.end_decay_factor = NAN; }},
    {"logit_bias[1].bias is NaN", [](auto& p) { p.logit_bias = kBadBias; }},
    {"logit_bias[0].bias is inf", [](auto& p) { p.logit_bias = kInfiniteBias; }},
    {"logit_bias[0].token is 8; it must be a token id from 0 to 7", [](auto& p) { p.logit_bias = kOutsideBias; }},
    {"sequence_bias[1] is empty", [](auto& p) { p.sequence_bias = kEmptySequence; }},
    {"sequence_bias[0].tokens is NULL", [](auto& p) { p.sequence_bias = kNullSequence; }},
    {"sequence_bias[0].bias is NaN", [](auto& p) { p.sequence_bias = kNanSequence; }},
    {"sequence_bias[0].tokens[2] is 8", [](auto& p) { p.sequence_bias = kOutsideSequence; }},
    {"bad_words[2] is empty", [](auto& p) { p.bad_words = kEmptyWord; }},
    {"bad_words[0].tokens[2] is 8", [](auto& p) { p.bad_words = kOutsideWord; }},
    {"dry_breakers[1] is empty", [](auto& p) { p.dry_breakers = kEmptyBreaker; }},
    {"dry_breaker_tokens[2] is 8;", [](auto& p) { p.dry_breaker_tokens = kOutside; }},
    {"allowed_tokens[2] is 8;", [](auto& p) { p.allowed_tokens = kOutside; }},
    {"suppressed_tokens[0] is -5;", [](auto& p) { p.suppressed_tokens = kNegative; }},
    {"begin_suppressed_tokens[2] is 8;", [](auto& p) { p.begin_suppressed_tokens = kOutside; }},
    {"forced_prefix[2] is 8;", [](auto& p) { p.forced_prefix = kOutside; }},
    {"forced_last_token is 8; it must be -1 or a token id from 0 to 7", [](auto& p) { p.forced_last_token = 8; }},
    {"forced_last_token is -2;", [](auto& p) { p.forced_last_token = -2; }},
    {"watermark.scheme is 5; it must be from 0 to 4",
     [](auto& p) { set_watermark(p, static_cast<WatermarkScheme>(5)); }},
    {"watermark.context_width is 17", [](auto& p) { p.watermark.context_width = 17; }},
    {"watermark.tournament_layers is 0", [](auto& p) { p.watermark.tournament_layers = 0; }},
    {"watermark.tournament_layers is 65", [](auto& p) { p.watermark.tournament_layers = 65; }},
    {"watermark.gamma is 0;", [](auto& p) { p.watermark.gamma = 0; }},
    {"watermark.gamma is 1;", [](auto& p) { p.watermark.gamma = 1; }},
    {"watermark.gamma is NaN", [](auto& p) { p.watermark.gamma = NAN; }},
    {"watermark.delta is -1", [](auto& p) { p.watermark.delta = -1; }},
    {"watermark.delta is 101", [](auto& p) { p.watermark.delta = 101; }},
    {"selection must be MULTINOMIAL",
     [](auto& p) {
       set_watermark(p, WatermarkScheme::kTournament);
       p.selection = Selection::kMirostatV2;
     }},
    {"selection must be MULTINOMIAL",
     [](auto& p) {
       set_watermark(p, WatermarkScheme::kGumbel);
       p.selection = Selection::kGumbel;
     }},
};

TEST(ProcessParams, OutOfRangeAreRejectedByNameAndOldOnesStay) {
  ProcessFixture bench(8, 7);
  const int32_t suppressed[] = {6, 5};
  SamplerParams kept = ProcessFixture::off();
  kept.temperature = 0;
  kept.suppressed_tokens = suppressed;
  ASSERT_EQ(bench->set_params(kept, nullptr), Status::kOk);
  const std::vector<float> logits = {0, 1, 2, 3, 4, 5, 6, -1};
  for (const Refusal& refusal : kRefusals) {
    SCOPED_TRACE(refusal.message);
    SamplerParams p = ProcessFixture::off();
    refusal.change(p);
    Error error;
    EXPECT_EQ(bench->set_params(p, &error), Status::kInvalidArgument);
    EXPECT_EQ(error.status, Status::kInvalidArgument);
    EXPECT_EQ(std::string(error.message).rfind(refusal.message, 0), 0u) << error.message;
    EXPECT_EQ(bench->set_params(p, nullptr), Status::kInvalidArgument);
    EXPECT_EQ(bench.sample(logits, {}).token, 4);
  }
}

TEST(ProcessParams, EndsOfRangesAreAccepted) {
  ProcessFixture bench(8, 7);
  SamplerParams p = ProcessFixture::off();
  for (const float sign : {-1.0f, 1.0f}) {
    p.repetition_penalty = sign < 0 ? 1e-30f : 100;
    p.frequency_penalty = p.presence_penalty = 100 * sign;
    p.penalty_slope = sign < 0 ? 1e-30f : 10;
    p.dry_multiplier = 100;
    p.dry_base = sign < 0 ? 1 : 10;
    p.dry_allowed_length = sign < 0 ? 0 : UINT32_MAX;
    p.no_repeat_ngram = sign < 0 ? 1 : UINT32_MAX;
    p.guard_window = sign < 0 ? 1 : 256;
    p.guard_penalty = sign < 0 ? 1 : 100;
    p.end_decay_factor = sign < 0 ? 0 : 10;
    p.watermark.scheme = sign < 0 ? WatermarkScheme::kLeftHash : WatermarkScheme::kSelfHash;
    p.watermark.gamma = sign < 0 ? 1e-30f : 0.99999994f;
    p.watermark.delta = sign < 0 ? 0 : 100;
    p.watermark.context_width = sign < 0 ? 1 : 16;
    Error error;
    ASSERT_EQ(bench->set_params(p, &error), Status::kOk) << error.message;
    std::vector<int32_t> history(50, 3);
    for (size_t i = 0; i < history.size(); i += 3) history[i] = static_cast<int32_t>(i % 8);
    for (const LogitKind kind : {LogitKind::kNarrow, LogitKind::kHuge, LogitKind::kHostile}) {
      std::mt19937_64 random(1);
      const auto logits = make_logits(kind, 8, random);
      const int32_t token = bench.sample(logits, input_of({history, {}}, 20)).token;
      EXPECT_TRUE(token >= 0 && token < 8);
    }
  }
}

TEST(ProcessParams, ListsAreCopiedAndTheirMemoryIsChecked) {
  ProcessFixture bench(8, 7, {}, 256);
  std::vector<int32_t> tokens = {6, 5};
  std::string text = "\n";
  const TextView breaker[] = {{text.data(), 1}};
  SamplerParams p = ProcessFixture::off();
  p.temperature = 0;
  p.suppressed_tokens = tokens;
  p.bad_words = {};
  p.dry_multiplier = 1;
  p.dry_breakers = breaker;
  ASSERT_EQ(bench->set_params(p, nullptr), Status::kOk);
  tokens = {0, 1};
  text = "x";
  const std::vector<float> logits = {0, 1, 2, 3, 4, 5, 6, -1};
  EXPECT_EQ(bench.sample(logits, {}).token, 4);
  EXPECT_EQ(bench->params().dry_breakers[0].text[0], '\n');
  // The sampler's own lists may be passed again, also together with others.
  SamplerParams again = bench->params();
  const int32_t more[] = {4};
  again.begin_suppressed_tokens = more;
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(bench->set_params(again, nullptr), Status::kOk);
    again = bench->params();
    EXPECT_EQ(bench.sample(logits, {}).token, 3);
  }
  const std::vector<int32_t> many(100, 1);
  again.allowed_tokens = many;
  Error error;
  EXPECT_EQ(bench->set_params(again, &error), Status::kInvalidArgument);
  EXPECT_EQ(std::string(error.message).rfind("list_bytes is 256;", 0), 0u) << error.message;
  EXPECT_EQ(bench.sample(logits, {}).token, 3);
}

}  // namespace
}  // namespace sotto
