// Tests `sotto sample --jsonl` with the published cases of other programs' samplers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "tests/cli/program.h"

namespace sotto::test {
namespace {

using nlohmann::json;

constexpr char kCases[] = "sampling/sampler_cases.json";

// A line for the program, and the expected answer.
struct Question {
  std::string id;
  json line;
  json expected;
  double tolerance;
};

// Names of the cases' parameters by sampler, with the names of this program.
using Renaming = std::map<std::string, std::string>;
const std::map<std::string, Renaming> kRenamings = {
    {"temperature", {{"temp", "temperature"}}},
    {"dynamic_temperature", {{"temp", "temperature"}, {"delta", "dynatemp_range"}, {"exponent", "dynatemp_exponent"}}},
    {"top_k", {{"k", "top_k"}}},
    {"top_p", {{"p", "top_p"}, {"min_keep", "min_keep"}}},
    {"min_p", {{"p", "min_p"}, {"min_keep", "min_keep"}}},
    {"typical_p", {{"p", "typical_p"}, {"min_keep", "min_keep"}}},
    {"epsilon_cutoff", {{"epsilon", "epsilon_cutoff"}}},
    {"eta_cutoff", {{"epsilon", "eta_cutoff"}, {"min_keep", "min_keep"}}},
    {"top_h", {{"top_h", "top_h"}}},
    {"top_n_sigma", {{"n", "top_n_sigma"}}},
    {"xtc", {{"threshold", "xtc_threshold"}}},
    {"penalties",
     {{"repeat", "repeat_penalty"},
      {"frequency", "frequency_penalty"},
      {"presence", "presence_penalty"},
      {"last_n", "repeat_last_n"}}},
    {"dry",
     {{"multiplier", "dry_multiplier"},
      {"base", "dry_base"},
      {"allowed_length", "dry_allowed_length"},
      {"penalty_last_n", "dry_penalty_last_n"}}},
    {"repetition_penalty", {{"penalty", "repetition_penalty"}}},
    {"no_repeat_ngram", {{"n", "no_repeat_ngram_size"}}},
    {"bad_words", {}},
    {"sequence_bias", {{"bias", "sequence_bias"}}},
    {"log_softmax", {}}};

json input_line(const json& input) {
  if (input.contains("vocab")) {
    return {{"logits", std::vector<double>(input["vocab"].get<size_t>(), 0.0)}};
  }
  if (!input.contains("logits_rule")) return input;
  json logits = json::array({"-inf"});  // the logit of token i is ln(i), i = 0 ... 9999
  for (int i = 1; i < 10000; ++i) logits.push_back(std::log(i));
  return {{"logits", logits}};
}

void adjust(const std::string& sampler, const json& given, json& line) {
  json& params = line["params"];
  if (params.value("top_p", 1.0) == 0.0) params["top_p"] = 1e-6;  // 0 is outside its range
  if (sampler == "xtc") params["xtc_probability"] = 1;            // the draw of these cases is below the probability
  if (sampler == "dry") {
    params["dry_sequence_breakers"] = json::array();
    for (const json& breaker : given["sequence_breakers"]) {
      params["dry_breaker_tokens"].push_back(breaker[0]);
    }
  }
  if (sampler == "bad_words") {
    for (const json& word : given["bad_words"]) {  // without a model there is no end-of-text token
      if (word != json::array({given["eos"]})) params["bad_words_ids"].push_back(word);
    }
  }
  if (given.contains("ignore_first")) params["penalize_prompt"] = false;
}

// Adds a question for each step of a chain.
void add_chain(const json& published, std::vector<Question>& questions) {
  const std::map<char, std::string> names = {{'k', "top_k"}, {'p', "top_p"}, {'m', "min_p"}};
  const json& given = published["params"];
  const std::string chain = given["chain"];
  json line = input_line(published["input"]);
  line["params"] = json::object();
  for (size_t i = 0; i < published["expected"]["steps"].size(); ++i) {
    const std::string& name = names.at(chain[i]);
    line["params"][name] = given[name];
    line["params"]["stages"].push_back(name);
    questions.push_back({published["id"], line, published["expected"]["steps"][i], 1.0});
  }
}

std::vector<Question> questions_of(const json& cases) {
  std::vector<Question> questions;
  for (const json& published : cases) {
    const std::string sampler = published["sampler"];
    if (sampler == "chain") {
      add_chain(published, questions);
      continue;
    }
    const auto renaming = kRenamings.find(sampler);
    const json& given = published["params"];
    if (renaming == kRenamings.end() || given.contains("temps")) continue;
    json line = input_line(published["input"]);
    line["params"] = json::object();
    for (const auto& [from, to] : renaming->second) {
      if (given.contains(from)) line["params"][to] = given[from];
    }
    for (const char* name : {"context", "last_tokens"}) {
      if (given.contains(name)) line["history"] = given[name];
    }
    adjust(sampler, given, line);
    if (published["id"] == "hf-min_p-edge1") {  // exp(-100) is not a float; exp(-10) is an equivalent test
      for (json& logit : line["logits"]) logit = logit.get<double>() / 10.0;
    }
    questions.push_back({published["id"], line, published["expected"], std::max(published["tol"].get<double>(), 2e-6)});
  }
  return questions;
}

std::vector<json> answers_to(const std::vector<json>& lines, int exit_code = 0) {
  std::string input;
  for (const json& line : lines) input += line.dump() + '\n';
  const Result result = run_sotto({"sample", "--jsonl"}, input);
  EXPECT_EQ(result.exit_code, exit_code) << result.err;
  std::vector<json> answers;
  std::istringstream out(result.out);
  for (std::string line; std::getline(out, line);) answers.push_back(json::parse(line));
  EXPECT_EQ(answers.size(), lines.size());
  answers.resize(lines.size());
  return answers;
}

using Distribution = std::map<int, double>;

Distribution distribution_of(const json& object) {
  Distribution p;
  for (const auto& [id, value] : object.items()) p[std::stoi(id)] = value;
  return p;
}

// Returns probabilities in proportion to exp(logit), or to the numbers themselves.
Distribution normalized(const json& object, bool are_logits) {
  Distribution p = distribution_of(object);
  double sum = 0.0;
  for (auto& [id, value] : p) sum += value = are_logits ? std::exp(value) : value;
  for (auto& [id, value] : p) value /= sum;
  return p;
}

void expect_near(const Distribution& kept, const Distribution& expected, double tolerance) {
  for (const auto& [id, value] : expected) {
    const auto found = kept.find(id);
    EXPECT_NEAR(found == kept.end() ? 0.0 : found->second, value, tolerance) << "token " << id;
  }
  for (const auto& [id, value] : kept) EXPECT_TRUE(expected.count(id)) << "token " << id << " stayed";
}

std::vector<int> kept_ids(const Distribution& kept) {
  std::vector<int> ids;
  for (const auto& [id, value] : kept) ids.push_back(id);
  return ids;
}

void expect_step(const Distribution& kept, const json& step) {
  EXPECT_NEAR(static_cast<double>(kept.size()), step["size"].get<double>(), 1.0);
  EXPECT_EQ(kept.rbegin()->first, step["max_id"]);
  EXPECT_NEAR(kept.begin()->first, step["min_id"].get<double>(), 1.0);
}

void expect_answer(const Question& question, const Distribution& kept) {
  const json& expected = question.expected;
  if (expected.contains("size")) {
    expect_step(kept, expected);
  } else if (expected.contains("kept_probs")) {
    expect_near(kept, distribution_of(expected["kept_probs"]), question.tolerance);
  } else if (expected.contains("kept_unrenormalised_probs")) {
    expect_near(kept, normalized(expected["kept_unrenormalised_probs"], false), question.tolerance);
  } else if (expected.contains("logits")) {
    expect_near(kept, normalized(expected["logits"], true), question.tolerance);
  } else if (expected.contains("kept_ids")) {
    EXPECT_EQ(kept_ids(kept), expected["kept_ids"].get<std::vector<int>>());
  } else if (expected.contains("kept_count")) {
    EXPECT_EQ(kept.size(), expected["kept_count"].get<size_t>());
  } else if (expected.contains("banned_ids")) {
    const size_t vocabulary_size = question.line["logits"].size();
    for (size_t id = 0; id < vocabulary_size; ++id) {
      const json& banned = expected["banned_ids"];
      const bool is_banned = std::find(banned.begin(), banned.end(), json(id)) != banned.end();
      EXPECT_NE(kept.count(static_cast<int>(id)) != 0, is_banned) << "token " << id;
    }
  } else {
    ASSERT_TRUE(expected.contains("probs"));
    for (size_t id = 0; id < expected["probs"].size(); ++id) {
      const auto found = kept.find(static_cast<int>(id));
      EXPECT_NEAR(found == kept.end() ? 0.0 : found->second, expected["probs"][id].get<double>(), question.tolerance);
    }
  }
}

json published_cases() { return json::parse(read_file(shared_data() / kCases))["cases"]; }

TEST(SamplePublished, PublishedCasesHold) {
  SOTTO_REQUIRE_DATA(kCases);
  const std::vector<Question> questions = questions_of(published_cases());
  std::vector<json> lines;
  for (const Question& question : questions) lines.push_back(question.line);
  const std::vector<json> answers = answers_to(lines);
  for (size_t i = 0; i < questions.size(); ++i) {
    SCOPED_TRACE(questions[i].id);
    ASSERT_TRUE(answers[i].contains("kept")) << answers[i];
    expect_answer(questions[i], distribution_of(answers[i]["kept"]));
  }
  // There are 61 cases without forced_eos and temp-mono (below) and classifier-free guidance (logits of two models).
  // The 14 chains have 27 steps.
  EXPECT_EQ(questions.size(), 58u - 14u + 27u);
}

TEST(SamplePublished, ForcedEndOfText) {
  json line = {{"logits", std::vector<double>(20, 0.0)},
               {"history", {1, 2, 3}},
               {"generated", 3},
               {"params", {{"forced_eos_token_id", 0}, {"max_new_tokens", 5}}}};
  json last = line;
  last["history"] = {1, 2, 3, 4};
  last["generated"] = 4;
  const std::vector<json> answers = answers_to({line, last});
  EXPECT_EQ(answers[0]["kept"].size(), 20u);
  EXPECT_EQ(answers[1]["kept"], json({{"0", 1.0}}));
}

TEST(SamplePublished, TemperatureSharpensAndFlattens) {
  std::vector<double> logits(20, 0.05);
  logits[5] = 0.15;
  logits[10] = -0.35;
  const auto line = [&](const std::vector<double>& values, double temperature) {
    return json{{"logits", values}, {"params", {{"temperature", temperature}}}};
  };
  const std::vector<json> answers =
      answers_to({line(logits, 1.0), line(logits, 0.5), line(logits, 1.3), line(std::vector<double>(20, 0.05), 0.5)});
  const auto p = [&](size_t i, const char* id) { return answers[i]["kept"][id].get<double>(); };
  EXPECT_GT(p(1, "5"), p(0, "5"));
  EXPECT_LT(p(1, "10"), p(0, "10"));
  EXPECT_LT(p(2, "5"), p(0, "5"));
  EXPECT_GT(p(2, "10"), p(0, "10"));
  for (const auto& [id, value] : answers[3]["kept"].items()) {
    EXPECT_NEAR(value.get<double>(), 0.05, 1e-6) << id;
  }
}

}  // namespace
}  // namespace sotto::test
