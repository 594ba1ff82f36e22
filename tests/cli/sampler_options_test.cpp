// Tests the sampler's options of `sotto generate`: each sets its parameter and has an effect.
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "tests/cli/generate_support.h"

namespace sotto::test {
namespace {

using nlohmann::json;

struct Case {
  Words words;  // the first word with all its other names, between commas
  const char* parameter;
  json value;
};

std::vector<std::string> names_of(const std::string& list) {
  std::vector<std::string> names;
  size_t begin = 0;
  while (begin <= list.size()) {
    const size_t end = std::min(list.find(',', begin), list.size());
    names.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

// Each of these changes the drawn tokens.
const std::vector<Case> kEffective = {
    {{"--temp,--temperature", "1.7"}, "temperature", 1.7},
    {{"--greedy"}, "temperature", 0.0},
    {{"--temp-range,--dynatemp-range,--dynatemp_range", "0.7"}, "temperature_range", 0.7},
    {{"--dynatemp-exp,--dynatemp-exponent,--temp-exponent", "3", "--temp-range", "0.7"}, "temperature_exponent", 3.0},
    {{"--smoothing-factor,--smoothing_factor", "1.5"}, "smoothing_factor", 1.5},
    {{"--smoothing-curve", "4", "--smoothing-factor", "1.5"}, "smoothing_curve", 4.0},
    {{"--top-k,--top_k", "3"}, "top_k", 3},
    {{"--top-p,--top_p", "0.3"}, "top_p", 0.3},
    {{"--min-p,--min_p", "0.5"}, "min_p", 0.5},
    {{"--typical-p,--typical_p,--typical", "0.2"}, "typical_p", 0.2},
    {{"--top-a,--top_a", "0.9"}, "top_a", 0.9},
    {{"--tail-free,--tfs-z,--tfs_z,--tfs", "0.3"}, "tail_free", 0.3},
    {{"--epsilon,--epsilon-cutoff,--epsilon_cutoff", "0.2"}, "epsilon", 0.2},
    {{"--eta,--eta-cutoff,--eta_cutoff", "0.9"}, "eta", 0.9},
    {{"--top-n-sigma,--top-nsigma,--top_n_sigma", "0.5"}, "top_n_sigma", 0.5},
    {{"--top-h,--top_h", "0.2"}, "top_h", 0.2},
    {{"--xtc-probability,--xtc_probability", "1"}, "xtc_probability", 1.0},
    {{"--xtc-threshold", "0.02", "--xtc-probability", "1"}, "xtc_threshold", 0.02},
    {{"--top-p-decay", "0.5", "--top-p", "0.9"}, "top_p_decay", 0.5},
    {{"--min-keep,--min-tokens-to-keep", "20", "--top-k", "1"}, "min_keep", 20},
    {{"--repeat-penalty,--repetition-penalty,--repetition_penalty,--repeat_penalty", "1.9"}, "repetition_penalty", 1.9},
    {{"--frequency-penalty,--frequency_penalty", "3"}, "frequency_penalty", 3.0},
    {{"--presence-penalty,--presence_penalty", "3"}, "presence_penalty", 3.0},
    {{"--penalty-slope", "2", "--presence-penalty", "3"}, "penalty_slope", 2.0},
    {{"--repeat-last-n,--repeat_last_n", "2", "--presence-penalty", "3"}, "repetition_window", 2},
    {{"--guard-window", "16", "--guard-penalty", "9", "--top-k", "1"}, "guard_window", 16},
    {{"--selection", "gumbel"}, "selection", "gumbel"},
    {{"--mirostat", "1"}, "selection", "mirostat"},
    {{"--mirostat", "2"}, "selection", "mirostat_v2"},
    {{"--mirostat-tau,--mirostat_tau,--mirostat-ent", "1", "--mirostat", "2"}, "mirostat_tau", 1.0},
    {{"--mirostat-eta,--mirostat_eta,--mirostat-lr", "1", "--mirostat", "2"}, "mirostat_eta", 1.0},
    {{"--mirostat-m", "9", "--mirostat", "1"}, "mirostat_m", 9},
    {{"--adaptive-p,--adaptive-target", "0.2"}, "selection", "adaptive_p"},
    {{"--adaptive-decay", "0.1", "--adaptive-p", "0.2"}, "adaptive_decay", 0.1},
    {{"--dola,--dola-layers", "high"}, "dola", "high"},
    {{"--dola-relative-top", "0.9", "--dola", "high"}, "dola_relative_top", 0.9},
    {{"--order", "hf", "--top-p", "0.5", "--temp", "2"}, "order", "transformers"},
    {{"--stages", "top_k,temperature"}, "stages", {"top_k", "temperature"}},
    {{"--samplers", "top_k;temperature"}, "stages", {"top_k", "temperature"}},
    {{"-s,--seed", "77"}, "seed", 77}};

TEST(SamplerOptions, EachOptionSetsItsParameterAndChangesTheText) {
  const json plain = generated({"-n", "48"});
  for (const Case& option : kEffective) {
    json first;
    for (const std::string& name : names_of(option.words[0])) {
      Words words = option.words;
      words[0] = name;
      words.insert(words.end(), {"-n", "48"});
      SCOPED_TRACE(joined(words));
      const json object = generated(words);
      EXPECT_EQ(object["parameters"][option.parameter], option.value);
      if (first.is_null()) first = object["tokens"];
      EXPECT_EQ(object["tokens"], first);
      EXPECT_NE(object["tokens"], plain["tokens"]);
    }
  }
}

// The help text has all names; the message lists the unknown ones after --bogus.
TEST(SamplerOptions, EveryNameIsAcceptedWithUnderscores) {
  const std::string help = run_sotto({"generate", "--help"}).out;
  const std::regex name("--[a-z0-9]+(-[a-z0-9]+)+");
  std::set<std::string> names;
  for (std::sregex_iterator it(help.begin(), help.end(), name), end; it != end; ++it) {
    std::string other = it->str();
    std::replace(other.begin() + 2, other.end(), '-', '_');
    names.insert(other);
  }
  EXPECT_GT(names.size(), 100u);
  names.insert("--no_sample");
  for (const std::string& other : names) {
    const Result result = run_on_demo("generate", {"-p", "x", "--bogus", other});
    EXPECT_EQ(result.exit_code, 2) << other;
    EXPECT_EQ(result.err.find(other), std::string::npos) << result.err;
  }
}

TEST(SamplerOptions, RepetitionsEnd) {
  const json plain = generated({"-n", "64", "--greedy"});
  const auto pairs_are_unique = [](const json& tokens) {
    std::set<std::pair<int, int>> pairs;
    for (size_t i = 1; i < tokens.size(); ++i) {
      if (!pairs.emplace(tokens[i - 1], tokens[i]).second) return false;
    }
    return true;
  };
  EXPECT_FALSE(pairs_are_unique(plain["tokens"]));
  for (const char* name : {"--no-repeat-ngram", "--no_repeat_ngram_size"}) {
    EXPECT_TRUE(pairs_are_unique(generated({"-n", "64", "--greedy", name, "2"})["tokens"])) << name;
  }
  const Words dry = {"-n", "64", "--greedy", "--dry-multiplier", "5"};
  const auto with = [&](const Words& more) {
    Words words = dry;
    words.insert(words.end(), more.begin(), more.end());
    return generated(words);
  };
  const json first = with({});
  EXPECT_NE(first["tokens"], plain["tokens"]);
  EXPECT_NE(with({"--dry-base", "9"})["tokens"], plain["tokens"]);
  EXPECT_EQ(with({"--dry-base", "9"})["parameters"]["dry_base"], 9.0);
  EXPECT_NE(with({"--dry_allowed_length", "6"})["tokens"], first["tokens"]);
  EXPECT_NE(with({"--dry-penalty-last-n", "8"})["tokens"], first["tokens"]);
  const json broken = with({"--dry-sequence-breaker", " the", "--dry-breaker", "\"\\n\""});
  EXPECT_EQ(broken["parameters"]["dry_breakers"], json({" the", "\n"}));
  EXPECT_EQ(with({"--dry-breaker", "none"})["parameters"]["dry_breakers"], json::array());
  const json by_token = with({"--dry-breaker-token", "11,262"});
  EXPECT_EQ(by_token["parameters"]["dry_breaker_tokens"], json({11, 262}));
  EXPECT_NE(by_token["tokens"], first["tokens"]);
  const json guarded = generated({"-n", "64", "--greedy", "--presence-penalty", "2", "--no-penalize-prompt"});
  EXPECT_EQ(guarded["parameters"]["penalize_prompt"], false);
}

TEST(SamplerOptions, BansAndBiases) {
  const json plain = generated({"-n", "24", "--greedy"});
  const json the = ids_of(" the")[0];
  const auto count = [](const json& object, const json& token) {
    const json& tokens = object["tokens"];
    return std::count(tokens.begin(), tokens.end(), token);
  };
  ASSERT_GT(count(plain, the), 0);
  const std::string id = the.dump();
  for (const Words& words : std::vector<Words>{{"--logit-bias", id + "=-inf"},
                                               {"--logit_bias", " the=-100"},
                                               {"--logit-bias", "\" the\"=-100"},
                                               {"--logit-bias", id + "-100"},
                                               {"--logit-bias", "{\"" + id + "\":-100}"},
                                               {"--bad-word", "the"},
                                               {"--bad-words", "\" the\""},
                                               {"--bad-word", id},
                                               {"--suppress-tokens", id},
                                               {"--suppress-tokens", id + ",5"},
                                               {"--suppress-tokens", " the"},
                                               {"--sequence-bias", "the=-100"},
                                               {"--sequence_bias", " the=-inf"}}) {
    Words all = {"-n", "24", "--greedy"};
    all.insert(all.end(), words.begin(), words.end());
    SCOPED_TRACE(joined(words));
    const json object = generated(all);
    EXPECT_EQ(count(object, the), 0);
  }
  const json only = generated({"-n", "8", "--allowed-tokens", " the", "--allowed-tokens", "11,278"});
  for (const json& token : only["tokens"]) {
    EXPECT_TRUE(token == the || token == 11 || token == 278) << token;
  }
  EXPECT_EQ(only["parameters"]["allowed_tokens"].size(), 3u);
  const json first = plain["tokens"][0];
  const json other = generated({"-n", "8", "--greedy", "--begin-suppress-tokens", first.dump()});
  EXPECT_NE(other["tokens"][0], first);
  EXPECT_GT(count(other, first), 0);
}

TEST(SamplerOptions, BeginningsAndEnds) {
  const json forced = generated({"-n", "8", "--force-prefix", " there was"});
  EXPECT_EQ(forced["text"].get<std::string>().rfind(" there was", 0), 0u);
  const json last = generated({"-n", "8", "--forced-last-token", " the"});
  EXPECT_EQ(last["tokens"].back(), ids_of(" the")[0]);
  EXPECT_EQ(last["tokens"].size(), 8u);

  const json model = json_of(run_sotto({"inspect", "--json", SOTTO_DEMO_MODEL}));
  const std::string end = model["end_of_text_token"].dump();
  const Words favour = {"-n", "12", "--logit-bias", end + "=50"};
  const auto with = [&](const Words& more) {
    Words words = favour;
    words.insert(words.end(), more.begin(), more.end());
    return generated(words);
  };
  EXPECT_EQ(with({})["stop"], "end_of_text");
  EXPECT_EQ(with({})["tokens"], json::array());
  for (const char* name : {"--min-new-tokens", "--min_new_tokens", "--min-tokens"}) {
    EXPECT_EQ(with({name, "5"})["tokens"].size(), 5u) << name;
  }
  for (const char* name : {"--ignore-eos", "--ignore_eos", "--ignore-end"}) {
    EXPECT_EQ(with({name})["tokens"].size(), 12u) << name;
  }
  const json decayed = generated({"-n", "200", "--end-decay-start", "10", "--end-decay-factor", "3", "--seed", "4"});
  EXPECT_EQ(decayed["stop"], "end_of_text");
  EXPECT_GE(decayed["tokens"].size(), 10u);
  EXPECT_LT(decayed["tokens"].size(), 60u);
}

TEST(SamplerOptions, MirostatDisablesTruncationsThatAreNotGiven) {
  const json object = generated({"-n", "4", "--mirostat", "2"});
  EXPECT_EQ(object["parameters"]["top_k"], 0);
  EXPECT_EQ(object["parameters"]["top_p"], 1.0);
  EXPECT_EQ(object["parameters"]["min_p"], 0.0);
  EXPECT_EQ(generated({"-n", "4", "--mirostat", "2", "--top-k", "9"})["parameters"]["top_k"], 9);
  // --stages leaves out the stages that it does not name, unless their options were given.
  const json stages = generated({"-n", "4", "--stages", "top_p", "--top-p", "0.5"});
  EXPECT_EQ(stages["parameters"]["top_k"], 0);
  EXPECT_EQ(stages["parameters"]["temperature"], 1.0);
  expect_refused(run_on_demo("generate", {"-p", "x", "--stages", "top_p", "--top-k", "3"}), 1, "--top-k");
}

TEST(SamplerOptions, ThreadsChangeNothing) {
  for (const Words& words : std::vector<Words>{{"--mirostat", "2", "--dry-multiplier", "1"},
                                               {"--num-beams", "3", "--n", "2"},
                                               {"--n", "3", "--typical-p", "0.9"},
                                               {"--negative-prompt", "The sea", "--guidance-scale", "1.7"},
                                               {"--dola", "low", "--watermark", "selfhash"},
                                               {"--penalty-alpha", "0.6", "--top-k", "3"},
                                               {"--banned-string", " the", "--logprobs", "3"}}) {
    Words one = {"-n", "12", "--threads", "1"};
    Words two = {"-n", "12", "--threads", "2", "--batch", "3"};
    one.insert(one.end(), words.begin(), words.end());
    two.insert(two.end(), words.begin(), words.end());
    SCOPED_TRACE(joined(words));
    json a = generated(one);
    json b = generated(two);
    for (const char* key : {"timings", "memory", "parameters"}) {
      a.erase(key);
      b.erase(key);
    }
    EXPECT_EQ(a, b);
  }
}

TEST(SamplerOptions, APresetSetsWhatOtherOptionsChange) {
  const auto parameters = [](const Words& words) {
    Words all = {"-n", "1"};
    all.insert(all.end(), words.begin(), words.end());
    return generated(all)["parameters"];
  };
  const json plain = parameters({});
  for (const json& preset : {json{"factual", 0.3}, json{"code", 0.2}, json{"chat", 0.7}, json{"translation", 0.3},
                             json{"creative", 1.0}, json{"extraction", 0.0}, json{"textbook", 0.8}}) {
    EXPECT_EQ(parameters({"--preset", preset[0]})["temperature"], preset[1]) << preset;
  }
  const json chat = parameters({"--top-p", "0.5", "--preset", "chat"});  // in any order
  EXPECT_EQ(chat["top_p"], 0.5);
  EXPECT_EQ(chat["repetition_penalty"], 1.1);
  EXPECT_EQ(chat["top_k"], plain["top_k"]);
  EXPECT_EQ(parameters({"--preset", "textbook"})["order"], "transformers");
  expect_usage_error({"--preset", "poetry"}, "--preset: \"poetry\" is not one of factual, code, chat");
}

TEST(SamplerOptions, ParametersOfJsonCanBeReadAgain) {
  const TemporaryFolder folder;
  const std::string path = folder.file("run.json");
  const json first = generated({"-n",
                                "20",
                                "--preset",
                                "chat",
                                "--temp",
                                "0.9",
                                "--stop",
                                "\"\\n\"",
                                "--stop",
                                "\"\\\"a\\\"\"",
                                "--stop-token",
                                " the",
                                "--overflow",
                                "ring",
                                "--dry-multiplier",
                                "0.8",
                                "--logit-bias",
                                "5=1",
                                "--suppress-tokens",
                                "6,7",
                                "--watermark",
                                "lefthash",
                                "--seed",
                                "5"});
  write_file(path, first.dump());
  const json again =
      json_of(run_sotto({"generate", "-m", SOTTO_DEMO_MODEL, "-p", kPrompt, "--json", "--params", path}));
  EXPECT_EQ(again["parameters"], first["parameters"]);
  EXPECT_EQ(again["text"], first["text"]);
  write_file(path, first["parameters"].dump());
  const json warmer = generated({"--params", path, "--temp", "1.5", "-n", "3"});
  EXPECT_EQ(warmer["parameters"]["temperature"], 1.5);
  EXPECT_EQ(warmer["parameters"]["max_tokens"], 3);
  EXPECT_EQ(warmer["parameters"]["top_p"], 0.9);
  for (const auto& [text, part] :
       std::vector<std::pair<std::string, std::string>>{{"{\"tempo\": 1}", "unknown parameter: tempo"},
                                                        {"[1]", "is not an object"},
                                                        {"{", "not JSON"},
                                                        {"{\"top_p\": \"x\"}", "top_p"},
                                                        {"{\"search\": {}}", "search is not read by --params"}}) {
    write_file(path, text);
    const Result result = run_on_demo("generate", {"-p", kPrompt, "--params", path});
    expect_refused(result, 1, part);
    expect_refused(result, 1, path + ": ");
  }
  write_file(path, "{}");
  expect_usage_error({"--params", path, "--preset", "chat"}, "--preset");
}

TEST(SamplerOptions, ANoteNamesTruncationsWithoutEffect) {
  const auto notes = [](const Words& words) {
    Words all = {"-p", kPrompt, "-n", "1"};
    all.insert(all.end(), words.begin(), words.end());
    return run_on_demo("generate", all).err;
  };
  const auto has = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
  const std::string greedy = notes({"--temp", "0", "--top-k", "4", "--typical-p", "0.5"});
  EXPECT_PRED2(has, greedy, "note: --top-k has no effect without sampling");
  EXPECT_FALSE(has(greedy, "--typical-p"));
  EXPECT_PRED2(has, notes({"--top-k", "1", "--min-p", "0.1"}), "note: --min-p has no effect with --top-k 1");
  EXPECT_FALSE(has(notes({"--temp", "0.1", "--top-k", "4"}), "note"));
  EXPECT_EQ(notes({"--greedy", "--top-k", "4", "-q"}), "");
}

}  // namespace
}  // namespace sotto::test
