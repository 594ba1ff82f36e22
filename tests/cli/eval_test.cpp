// Tests `sotto eval`.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tests/capi/open_session.h"
#include "tests/cli/generate_support.h"
#include "tests/memory/support.h"

namespace sotto::test {
namespace {

using nlohmann::json;

std::string text_of(const json& lines) {
  std::string text;
  for (const json& line : lines) text += line.dump() + '\n';
  return text;
}

// Runs `sotto eval METRIC WORDS --json` on lines of JSON.
json evaluated(const std::string& metric, Words words, const json& lines) {
  words.insert(words.begin(), {"eval", metric});
  words.emplace_back("--json");
  return json_of(run_sotto(words, text_of(lines)));
}

Words demo(Words more = {}) {
  more.insert(more.begin(), {"-m", SOTTO_DEMO_MODEL});
  return more;
}

double score_given(const std::string& prompt, const std::string& text) {
  return json_of(run_on_demo("score", {text, "--given", prompt, "--json"}))["log_probability"];
}

// The expected values come from tests/tools/make_similarity_goldens.py.
TEST(Eval, SimilaritiesEqualThoseOfTheReferencePackages) {
  const json golden = json::parse(read_file(std::string(SOTTO_SOURCE_DIR) + "/tests/golden/data/similarity.json"));
  json lines = json::array();
  for (const json& line : golden["lines"]) {
    lines.push_back({{"hypothesis", line["hypothesis"]}, {"references", line["references"]}});
  }
  const json bleu = evaluated("bleu", {}, lines), rouge = evaluated("rouge", {}, lines);
  const json stemmed = evaluated("rouge", {"--stemmer"}, lines);
  ASSERT_EQ(bleu["lines"].size(), lines.size());
  ASSERT_GE(lines.size(), 300u);
  double sum = 0.0;
  for (size_t i = 0; i < lines.size(); ++i) {
    const json& expected = golden["lines"][i];
    EXPECT_NEAR(bleu["lines"][i]["bleu"].get<double>(), expected["bleu"].get<double>(), 1e-9) << lines[i];
    const char* const kinds[] = {"rouge_1", "rouge_2", "rouge_l"};
    const char* const parts[] = {"precision", "recall", "f"};
    for (size_t kind = 0; kind < 3; ++kind) {
      for (size_t part = 0; part < 3; ++part) {
        for (const auto& [found, name] : {std::pair(&rouge, "rouge"), std::pair(&stemmed, "stemmed_rouge")}) {
          EXPECT_NEAR((*found)["lines"][i][kinds[kind]][parts[part]].get<double>(),
                      expected[name][kind][part].get<double>(), 1e-12)
              << name << lines[i];
        }
      }
    }
    sum += expected["rouge"][2][2].get<double>();
  }
  EXPECT_NEAR(rouge["rouge_l"]["f"].get<double>(), sum / static_cast<double>(lines.size()), 1e-12);
  for (const json& corpus : golden["corpora"]) {
    const auto first = lines.begin() + corpus["first"].get<int>();
    const json found = evaluated("bleu", {}, json(std::vector<json>(first, first + corpus["count"].get<int>())));
    EXPECT_EQ(found["texts"], corpus["count"]);
    EXPECT_EQ(found["tokens"], corpus["tokens"]);
    EXPECT_EQ(found["reference_tokens"], corpus["reference_tokens"]);
    for (const char* name : {"bleu", "brevity_penalty"}) {
      EXPECT_NEAR(found[name].get<double>(), corpus[name].get<double>(), 1e-9) << corpus;
    }
    for (size_t n = 0; n < 4; ++n) {
      EXPECT_NEAR(found["precisions"][n].get<double>(), corpus["precisions"][n].get<double>(), 1e-9) << corpus;
    }
  }
}

TEST(Eval, BradleyTerryByHand) {
  // sigmoid(2 - 1) = 0.7311, sigmoid(0) = 1/2, sigmoid(-3) = 0.0474; the losses are 0.3133, ln 2 and 3.0486.
  const json found = evaluated("preferences", {},
                               {{{"chosen", 2.0}, {"rejected", 1.0}, {"id", "a"}},
                                {{"chosen", -1}, {"rejected", -1}},
                                {{"chosen", 0.5}, {"rejected", 3.5}},
                                {{"chosen", 1000}, {"rejected", -1000}},
                                {{"chosen", -1000}, {"rejected", 1000}}});
  const json& lines = found["lines"];
  EXPECT_EQ(lines[0]["id"], "a");
  const double probabilities[] = {0.7310585786, 0.5, 0.0474258732, 1.0, 0.0};
  const double losses[] = {0.3132616875, 0.6931471806, 3.0485873516, 0.0, 2000.0};
  double sum = 0.0;
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_NEAR(lines[i]["probability"].get<double>(), probabilities[i], 1e-9);
    EXPECT_NEAR(lines[i]["loss"].get<double>(), losses[i], 1e-9);
    sum += losses[i];
  }
  EXPECT_NEAR(found["loss"].get<double>(), sum / 5, 1e-9);
  EXPECT_EQ(found["accuracy"], 0.4);
}

TEST(Eval, DpoByHand) {
  // beta * ((-12 + 14) - (-15 + 13)) = 0.1 * (2 + 2) = 0.4: -ln sigmoid(0.4) = 0.5130. A policy that equals its
  // reference has the loss ln 2.
  const json lines = {
      {{"chosen", {{"policy", -12.0}, {"reference", -14.0}}}, {"rejected", {{"policy", -15.0}, {"reference", -13.0}}}},
      {{"chosen", {{"policy", -3.0}, {"reference", -3.0}}}, {"rejected", {{"policy", -9.0}, {"reference", -9.0}}}}};
  const json found = evaluated("preferences", {}, lines);
  EXPECT_NEAR(found["lines"][0]["chosen_reward"].get<double>(), 0.2, 1e-12);
  EXPECT_NEAR(found["lines"][0]["rejected_reward"].get<double>(), -0.2, 1e-12);
  EXPECT_NEAR(found["lines"][0]["loss"].get<double>(), 0.5130152524, 1e-9);
  EXPECT_NEAR(found["lines"][0]["probability"].get<double>(), 0.5986876601, 1e-9);
  EXPECT_NEAR(found["lines"][1]["loss"].get<double>(), std::log(2.0), 1e-12);
  // With beta 0.5, the margin is 2: the loss is ln(1 + exp(-2)) = 0.1269.
  EXPECT_NEAR(evaluated("preferences", {"--beta", "0.5"}, lines)["lines"][0]["loss"].get<double>(), 0.1269280110, 1e-9);
}

TEST(Eval, PreferencesOfAModelFollowFromItsScores) {
  const std::string prompt = "It was a dark", chosen = " night", rejected = " of the sea";
  const json lines = {{{"prompt", prompt}, {"chosen", chosen}, {"rejected", rejected}}};
  const double margin = 0.25 * (score_given(prompt, chosen) - score_given(prompt, rejected));
  const json alone = evaluated("preferences", demo({"--beta", "0.25"}), lines)["lines"][0];
  EXPECT_NEAR(alone["margin"].get<double>(), margin, 1e-9);
  EXPECT_NEAR(alone["chosen"]["policy"].get<double>(), score_given(prompt, chosen), 1e-9);
  const json same = evaluated("preferences", demo({"--reference", SOTTO_DEMO_MODEL}), lines)["lines"][0];
  EXPECT_EQ(same["margin"], 0.0);
  EXPECT_EQ(same["chosen"]["reference"], same["chosen"]["policy"]);
  EXPECT_NEAR(same["loss"].get<double>(), std::log(2.0), 1e-12);
}

TEST(Eval, PreferencesOfARewardModelAreItsRewards) {
  const TemporaryFolder folder;
  const std::vector<uint8_t> bytes = make_described_file(
      {300, 64, 16, 1, 16, 1}, [](CheckpointInfo& info) { info.reward_count = 1; }, true);
  const std::string path = folder.file("reward.sotto");
  write_file(path, {bytes.begin(), bytes.end()});
  const auto reward = [&](const std::string& text) {
    return json_of(run_sotto({"score", "-m", path, "--reward", text}))[0].get<double>();
  };
  const json lines = {{{"prompt", "ab"}, {"chosen", "cd"}, {"rejected", "xyz"}}};
  const json found = evaluated("preferences", {"-m", path}, lines)["lines"][0];
  EXPECT_NEAR(found["chosen_reward"].get<double>(), reward("abcd"), 1e-6);
  EXPECT_NEAR(found["margin"].get<double>(), reward("abcd") - reward("abxyz"), 1e-6);
  expect_refused(run_sotto({"eval", "preferences", "-m", path, "--reference", path}, text_of(lines)), 1, "--reference");
  expect_refused(run_sotto({"eval", "preferences", "-m", path, "--beta", "1"}, text_of(lines)), 1, "--beta");
  expect_refused(run_sotto({"eval", "choices", "-m", path}, "{}\n"), 1, "is a reward model");
}

TEST(Eval, AnswersAndChoicesFollowFromScores) {
  const std::string prompt = "It was a dark";
  const std::vector<std::string> choices = {" night", " of the sea", " and", " a"};
  std::vector<double> values;
  json answers = json::array();
  double sum = 0.0;
  for (const std::string& choice : choices) {
    values.push_back(score_given(prompt, choice));
    sum += values.back();
    answers.push_back({{"prompt", prompt}, {"answer", choice}});
  }
  const json scored = evaluated("answers", demo(), answers);
  EXPECT_NEAR(scored["log_probability"].get<double>(), sum, 1e-9);
  EXPECT_NEAR(scored["mean_log_probability"].get<double>(), sum / 4, 1e-9);
  EXPECT_EQ(scored["scored_tokens"], 6);
  EXPECT_EQ(scored["scored_bytes"], 23);
  EXPECT_NEAR(scored["perplexity"].get<double>(), std::exp(-sum / 6), 1e-9);
  json questions = json::array();
  for (size_t i = 0; i < choices.size(); ++i) {
    questions.push_back({{"prompt", prompt}, {"choices", choices}, {"correct", i}});
  }
  const json found = evaluated("choices", demo(), questions);
  const auto best = [&](const char* name, const std::vector<double>& lengths) {
    std::vector<double> normalized;
    for (size_t i = 0; i < values.size(); ++i) normalized.push_back(values[i] / lengths[i]);
    const auto index = std::max_element(normalized.begin(), normalized.end()) - normalized.begin();
    EXPECT_EQ(found["lines"][0][name], index) << name;
    EXPECT_EQ(found["accuracy"][name], 0.25);
  };
  best("by_log_probability", {1, 1, 1, 1});
  best("by_token", {1, 3, 1, 1});
  best("by_byte", {6, 11, 4, 2});
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_NEAR(found["lines"][0]["log_probabilities"][i].get<double>(), values[i], 1e-9);
  }
}

TEST(Eval, PerplexityIsThatOfAllTokensTogether) {
  std::string text;
  for (int i = 0; i < 12; ++i) text += "It was a dark night, and the sea was rough. ";
  const json lines = {{{"text", text}}, {{"text", "Once upon a time"}, {"id", 3}}};
  for (const Words& options : {Words{}, {"--ctx", "64", "--stride", "64"}, {"--ctx", "64", "--stride", "16"}}) {
    SCOPED_TRACE(joined(options));
    double sum = 0.0, bits = 0.0;
    uint64_t count = 0, bytes = 0;
    const json found = evaluated("perplexity", demo(options), lines);
    for (size_t i = 0; i < lines.size(); ++i) {
      Words words = {lines[i]["text"], "--json"};
      words.insert(words.end(), options.begin(), options.end());
      const json single = json_of(run_on_demo("score", words));
      EXPECT_EQ(found["lines"][i]["log_probability"], single["log_probability"]);
      sum += single["log_probability"].get<double>();
      count += single["scored_tokens"].get<uint64_t>();
      bytes += single["scored_bytes"].get<uint64_t>();
    }
    bits = -sum / std::log(2.0);
    EXPECT_EQ(found["lines"][1]["id"], 3);
    EXPECT_EQ(found["scored_tokens"], count);
    EXPECT_NEAR(found["perplexity"].get<double>(), std::exp(-sum / static_cast<double>(count)), 1e-9);
    EXPECT_NEAR(found["bits_per_byte"].get<double>(), bits / static_cast<double>(bytes), 1e-9);
  }
}

// ln p of all tokens in long double.
std::vector<long double> log_softmax(const float* logits, size_t count) {
  long double sum = 0.0L;
  for (size_t i = 0; i < count; ++i) sum += std::exp(static_cast<long double>(logits[i]));
  std::vector<long double> values;
  for (size_t i = 0; i < count; ++i) values.push_back(static_cast<long double>(logits[i]) - std::log(sum));
  return values;
}

TEST(Eval, DivergenceEqualsItsDefinition) {
  const TemporaryFolder folder;
  const std::vector<uint8_t> files[] = {make_model_file({300, 64, 16, 1, 16, 1}, true),
                                        make_model_file({300, 32, 16, 2, 16, 1}, true)};
  const std::string paths[] = {folder.file("p.sotto"), folder.file("q.sotto")};
  for (size_t i = 0; i < 2; ++i) write_file(paths[i], {files[i].begin(), files[i].end()});
  std::vector<sotto_token> tokens;
  for (int i = 0; i < 50; ++i) tokens.push_back(i * 37 % 256);
  const auto found = [&](const Words& more) {
    Words words = {"eval", "kl", "-m", paths[0], "--reference", paths[1], "--ctx", "32", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    words.emplace_back("--ids");
    for (const sotto_token token : tokens) words.push_back(std::to_string(token));
    return json_of(run_sotto(words));
  };
  const json disjoint = found({"--stride", "32"}), strided = found({"--stride", "8"});
  EXPECT_TRUE(disjoint["divergences"][0].is_null() && disjoint["divergences"][32].is_null());
  EXPECT_TRUE(strided["divergences"][32].is_number());
  LoadedModel p(files[0]), q(files[1]);
  OpenSession p_session(p.get()), q_session(q.get());
  double sum = 0.0, largest = 0.0;
  for (size_t i = 1; i < 32; ++i) {
    std::vector<long double> values[2];
    for (size_t k = 0; k < 2; ++k) {
      sotto_session* session = k == 0 ? p_session.get() : q_session.get();
      const float* logits = nullptr;
      size_t count = 0;
      ASSERT_EQ(sotto_session_prefill(session, &tokens[i - 1], 1), SOTTO_OK);
      ASSERT_EQ(sotto_session_logits(session, &logits, &count), SOTTO_OK);
      values[k] = log_softmax(logits, count);
    }
    long double expected = 0.0L;
    for (size_t t = 0; t < values[0].size(); ++t) expected += std::exp(values[0][t]) * (values[0][t] - values[1][t]);
    const double divergence = disjoint["divergences"][i];
    EXPECT_NEAR(divergence, static_cast<double>(expected), 1e-9) << i;
    EXPECT_EQ(strided["divergences"][i], divergence);
    EXPECT_GT(divergence, 0.0);
  }
  size_t count = 0;
  for (const json& divergence : disjoint["divergences"]) {
    if (divergence.is_null()) continue;
    sum += divergence.get<double>();
    largest = std::max(largest, divergence.get<double>());
    ++count;
  }
  EXPECT_EQ(count, 48u);
  EXPECT_NEAR(disjoint["mean"].get<double>(), sum / 48, 1e-12);
  EXPECT_EQ(disjoint["max"], largest);
  const json same = json_of(run_sotto(
      {"eval", "kl", "-m", SOTTO_DEMO_MODEL, "--reference", SOTTO_DEMO_MODEL, "--json", "It was a dark night"}));
  EXPECT_EQ(same["max"], 0.0);
  EXPECT_EQ(same["same_top"], 1.0);
  expect_refused(run_sotto({"eval", "kl", "-m", SOTTO_DEMO_MODEL, "--reference", paths[0], "x y"}), 1,
                 "vocabulary_size is 300");
}

TEST(Eval, WrongLinesAreReportedWithTheirNumber) {
  const auto expect_rejected = [](const Words& words, const std::string& line, const std::string& message) {
    Words all = {"eval"};
    all.insert(all.end(), words.begin(), words.end());
    expect_refused(run_sotto(all, line + "\n"), 1, message);
  };
  expect_rejected({"bleu"},
                  R"({"hypothesis":"a","references":["b"]})"
                  "\n{",
                  "standard input:2: not JSON");
  expect_rejected({"bleu"}, R"({"hypothesis":"a"})", "standard input:1: has no member \"references\"");
  expect_rejected({"bleu"}, R"({"hypothesis":"a","references":[]})", "references is empty");
  expect_rejected({"rouge"}, R"({"hypothesis":"a","references":"a"})", "references is \"a\", not a list");
  expect_rejected({"rouge"}, R"({"hypothesis":"a","references":["a"],"x":1})", "unknown field: \"x\"");
  expect_rejected({"bleu"}, "[1]", "is not an object");
  expect_rejected({"preferences"}, R"({"chosen":"a","rejected":"b"})", "texts need --model");
  expect_rejected({"preferences"}, R"({"chosen":{"policy":1},"rejected":2})", "has no member \"reference\"");
  const Words choices = {"choices", "-m", SOTTO_DEMO_MODEL}, answers = {"answers", "-m", SOTTO_DEMO_MODEL};
  expect_rejected(choices, R"({"prompt":"a","choices":["b"],"correct":1})", "correct is 1; it must be less than");
  expect_rejected(choices, R"({"prompt":"","choices":["b"],"correct":0})", "prompt is empty");
  expect_rejected(answers, R"({"prompt":"a","answer":""})", "the text after the prompt is empty");
  expect_rejected(answers, json{{"prompt", std::string(3000, 'a')}, {"answer", "b"}}.dump(),
                  "do not fit a context of 512");
  expect_refused(run_sotto({"eval", "bleu"}, ""), 1, "standard input: is empty");
  expect_refused(run_sotto({"eval", "bleu", "/none"}), 1, "/none");
  expect_refused(run_sotto({"eval", "preferences", "--threads", "2"}), 2, "needs --model");
  expect_refused(run_sotto({"eval", "preferences", "--beta", "0"}), 2, "is 0; it must be greater than 0");
  expect_refused(run_sotto({"eval", "kl", "-m", SOTTO_DEMO_MODEL, "x y"}), 2, "--reference");
}

TEST(Eval, PeopleReadRowsAndTables) {
  const std::string compared = text_of({{{"hypothesis", "the cat sat"}, {"references", {"the cat sat"}}}});
  EXPECT_NE(run_sotto({"eval", "rouge"}, compared).out.find("ROUGE-L     1.0000  1.0000  1.0000"), std::string::npos);
  const Result loss = run_sotto({"eval", "preferences"}, "{\"chosen\":2,\"rejected\":1}\n");
  EXPECT_NE(loss.out.find("loss                0.3133\n"), std::string::npos) << loss.out;
}

}  // namespace
}  // namespace sotto::test
