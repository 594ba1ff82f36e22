#include "tests/unit/sampling/published_process.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/unit/sampling/process_fixture.h"

namespace sotto {
namespace {

using Json = nlohmann::json;
using Tokens = std::vector<int32_t>;

std::vector<float> logits_of(const Json& input) {
  if (input.contains("logits")) return input["logits"].get<std::vector<float>>();
  if (input.contains("vocab")) return std::vector<float>(input["vocab"].get<size_t>(), 0.0f);
  std::vector<float> logits;
  for (const double p : input["probs"]) logits.push_back(static_cast<float>(std::log(p)));
  return logits;
}

// A case as parameters, with the lists that they point to.
struct Setting {
  SamplerParams params = ProcessFixture::off();
  std::vector<StageKind> stages;
  Tokens history;
  int32_t end_token = kNoTokenId;
  uint64_t generated_count = 0;
  uint64_t token_limit = 0;
  std::vector<Tokens> lists;
  std::vector<TokenList> words;
  std::vector<SequenceBias> biases;
  Tokens breakers;
};

void read_penalties(const Json& p, Setting* s) {
  s->history = p["last_tokens"].get<Tokens>();
  s->params.repetition_window = p["last_n"];
  s->params.repetition_penalty = p["repeat"];
  s->params.frequency_penalty = p["frequency"];
  s->params.presence_penalty = p["presence"];
  s->stages = {StageKind::kRepetition, StageKind::kFrequency, StageKind::kPresence};
}

void read_dry(const Json& p, Setting* s) {
  s->history = p["last_tokens"].get<Tokens>();
  s->params.dry_multiplier = p["multiplier"];
  s->params.dry_base = p["base"];
  s->params.dry_allowed_length = p["allowed_length"];
  s->params.dry_window = p["penalty_last_n"];
  for (const Json& breaker : p["sequence_breakers"]) s->breakers.push_back(breaker[0]);
  s->params.dry_breaker_tokens = s->breakers;
  s->stages = {StageKind::kDry};
}

void read_sequences(const Json& p, bool banned, Setting* s) {
  s->history = p["context"].get<Tokens>();
  s->end_token = p.value("eos", kNoTokenId);
  for (const Json& entry : banned ? p["bad_words"] : p["bias"]) {
    s->lists.push_back((banned ? entry : entry[0]).get<Tokens>());
    if (!banned) s->biases.push_back({nullptr, 0, entry[1].get<float>(), 0});
  }
  for (size_t i = 0; i < s->lists.size(); ++i) {
    if (banned) {
      s->words.push_back({s->lists[i].data(), s->lists[i].size()});
    } else {
      s->biases[i].tokens = s->lists[i].data();
      s->biases[i].count = s->lists[i].size();
    }
  }
  s->params.bad_words = s->words;
  s->params.sequence_bias = s->biases;
  s->stages = {banned ? StageKind::kBadWords : StageKind::kSequenceBias};
}

bool read(const std::string& sampler, const Json& p, Setting* s) {
  if (sampler == "penalties") {
    read_penalties(p, s);
  } else if (sampler == "repetition_penalty") {
    s->history = p["context"].get<Tokens>();
    s->params.repetition_penalty = p["penalty"];
    s->generated_count = s->history.size() - p.value("ignore_first", size_t{0});
    s->params.penalize_prompt = !p.contains("ignore_first");
    s->stages = {StageKind::kRepetition};
  } else if (sampler == "dry") {
    read_dry(p, s);
  } else if (sampler == "no_repeat_ngram") {
    s->history = p["context"].get<Tokens>();
    s->params.no_repeat_ngram = p["n"];
    s->stages = {StageKind::kNoRepeatNgram};
  } else if (sampler == "bad_words" || sampler == "sequence_bias") {
    read_sequences(p, sampler == "bad_words", s);
  } else if (sampler == "forced_eos") {
    s->history.assign(p["context_length"].get<size_t>(), 1);
    s->generated_count = s->history.size();
    s->token_limit = p["max_length"];
    s->params.forced_last_token = p["eos"];
    s->stages = {StageKind::kForced};
  } else {
    return false;
  }
  return true;
}

void expect(const Json& expected, double tolerance, const std::vector<float>& logits) {
  if (expected.contains("banned_ids")) {
    Tokens banned;
    for (size_t i = 0; i < logits.size(); ++i) {
      if (logits[i] == kMinusInfinity) banned.push_back(static_cast<int32_t>(i));
    }
    EXPECT_EQ(banned, expected["banned_ids"].get<Tokens>());
  } else if (expected.contains("logits")) {
    for (const auto& [id, value] : expected["logits"].items()) {
      EXPECT_NEAR(logits[std::stoul(id)], value.get<double>(), tolerance) << "token " << id;
    }
  } else {
    double sum = 0;
    for (const float l : logits) sum += std::exp(static_cast<double>(l));
    ASSERT_EQ(expected["kept_probs"].size(), logits.size());
    for (const auto& [id, value] : expected["kept_probs"].items()) {
      const double p = std::exp(static_cast<double>(logits[std::stoul(id)])) / sum;
      EXPECT_NEAR(p, value.get<double>(), tolerance) << "token " << id;
    }
  }
}

// Checks "exp(log_softmax) sums to 1 and equals softmax".
void check_log_softmax(const Json& c) {
  const std::vector<float> logits = logits_of(c["input"]);
  TestCandidates bench(logits.size());
  Candidates& candidates = bench.begin(logits);
  double sum = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    const double p = std::exp(candidates.log_probability(candidates.id(i)));
    sum += p;
    EXPECT_NEAR(p / c["expected"]["probs"][i].get<double>(), 1, 1e-5) << i;
  }
  EXPECT_NEAR(sum, c["expected"]["sum"].get<double>(), c["tol"].get<double>());
}

}  // namespace

bool check_process_case(const Json& c) {
  if (c["sampler"] == "log_softmax") {
    check_log_softmax(c);
    return true;
  }
  Setting setting;
  if (!read(c["sampler"], c["params"], &setting)) return false;
  const std::vector<float> logits = logits_of(c["input"]);
  ProcessFixture bench(logits.size(), setting.end_token);
  Error error;
  EXPECT_EQ(bench.set(setting.params, setting.stages, &error), Status::kOk) << error.message;
  SampleInput input = input_of(split_history(setting.history, 1, 2), setting.generated_count);
  input.token_limit = setting.token_limit;
  expect(c["expected"], c["tol"], bench.logits(logits, input));
  return true;
}

}  // namespace sotto
