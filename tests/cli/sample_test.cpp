// Tests `sotto sample --jsonl`: lines, parameters under all their names, draws, and errors.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "tests/cli/program.h"

namespace sotto::test {
namespace {

using nlohmann::json;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

json answer_to(const std::string& line) {
  const Result result = run_sotto({"sample", "--jsonl"}, line + '\n');
  EXPECT_EQ(result.exit_code, 0) << result.out;
  return json::parse(result.out);
}

json kept(const std::string& probs, const std::string& params, const std::string& more = "") {
  return answer_to("{\"probs\":" + probs + ",\"params\":" + params + more + "}")["kept"];
}

std::vector<int> ids(const json& object) {
  std::vector<int> list;
  for (const auto& item : object.items()) list.push_back(std::stoi(item.key()));
  std::sort(list.begin(), list.end());
  return list;
}

const std::string kFour = "[0.1,0.2,0.3,0.4]";
using Ids = std::vector<int>;

TEST(Sample, ParametersNotGivenAreOff) {
  const json all = kept("[0.001,0.199,0.3,0.5]", "{}");
  EXPECT_EQ(ids(all), (Ids{0, 1, 2, 3}));
  EXPECT_NEAR(all["0"].get<double>(), 0.001, 1e-6);
  EXPECT_EQ(answer_to("{\"probs\":" + kFour + ",\"id\":\"a7\"}")["id"], "a7");
}

TEST(Sample, LogitsThatAreNotFinite) {
  for (const char* bad : {"null", "\"-inf\"", "\"nan\"", "NaN", "-Infinity", "\"-Infinity\""}) {
    const json object = answer_to(std::string("{\"logits\":[1,") + bad + ",1]}");
    EXPECT_EQ(object["kept"], json({{"0", 0.5}, {"2", 0.5}})) << bad;
  }
}

TEST(Sample, AcceptsNamesOfOptionsThatAreNotParameters) {
  EXPECT_EQ(kept(kFour, "{\"greedy\":true}"), json({{"3", 1.0}}));
  EXPECT_EQ(ids(kept(kFour, "{\"greedy\":false}")), (Ids{0, 1, 2, 3}));
  const auto penalized = [](const std::string& name) {
    return kept(kFour, "{\"presence_penalty\":2,\"" + name + "}", ",\"history\":[3]");
  };
  EXPECT_EQ(penalized("no_penalize_prompt\":true"), penalized("penalize_prompt\":false"));
  EXPECT_EQ(penalized("no_penalize_prompt\":false"), penalized("penalize_prompt\":true"));
  EXPECT_NE(penalized("no_penalize_prompt\":true"), penalized("penalize_prompt\":true"));
  const auto marked = [](const std::string& params) {
    return kept(kFour, "{\"watermark\":" + params + "}", ",\"history\":[3,1,2,0]");
  };
  EXPECT_EQ(marked("\"lefthash\",\"watermark_key\":7,\"watermark_context\":2,"
                   "\"watermark_gamma\":0.5,\"watermark_delta\":1"),
            marked("{\"key\":7,\"context_width\":2,\"gamma\":0.5,\"delta\":1}"));
  EXPECT_EQ(marked("\"tournament\",\"watermark_layers\":3"),
            marked("{\"scheme\":\"tournament\",\"tournament_layers\":3}"));
}

TEST(Sample, KeysAreNumbersOf64Bits) {
  const auto marked = [](const std::string& key) {
    return kept(kFour, R"({"watermark":{"scheme":"lefthash","key":)" + key + "}}", ",\"history\":[3,1,2,0]");
  };
  EXPECT_EQ(ids(marked("18446744073709551615")), (Ids{0, 1, 2, 3}));
  EXPECT_NE(marked("9007199254740993"), marked("9007199254740992"));
}

TEST(Sample, TemperatureZeroLeavesTheLikeliest) {
  EXPECT_EQ(kept(kFour, "{\"temperature\":0}"), json({{"3", 1.0}}));
  EXPECT_EQ(kept("[0.3,0.4,0.4]", "{\"temp\":0}"), json({{"1", 1.0}}));
}

TEST(Sample, MaskAndHistory) {
  EXPECT_EQ(ids(kept(kFour, "{}", ",\"mask\":[true,false,true,0]")), (Ids{0, 2}));
  EXPECT_EQ(ids(kept(kFour, "{\"top_k\":1}", ",\"mask\":[1,1,1,0]")), (Ids{2}));
  const json penalized = kept("[0.5,0.5]", "{\"presence_penalty\":1}", ",\"history\":[1]");
  EXPECT_NEAR(penalized["0"].get<double>(), 0.731059, 1e-5);
  const json generated_only =
      kept("[0.5,0.5]", "{\"presence_penalty\":1,\"penalize_prompt\":false}", ",\"history\":[0,1],\"generated\":1");
  EXPECT_EQ(generated_only, penalized);
}

TEST(Sample, NamesOfOtherPrograms) {
  const std::vector<std::vector<std::string>> synonyms = {
      {"\"temperature\":2", "\"temp\":2"},
      {"\"typical_p\":0.5", "\"typical\":0.5"},
      {"\"tail_free\":0.5", "\"tfs_z\":0.5"},
      {"\"epsilon\":0.25", "\"epsilon_cutoff\":0.25"},
      {"\"eta\":0.25", "\"eta_cutoff\":0.25"},
      {"\"repetition_penalty\":3", "\"repeat_penalty\":3"},
      {"\"no_repeat_ngram\":1", "\"no_repeat_ngram_size\":1"},
      {"\"temperature_range\":0.5", "\"dynatemp_range\":0.5"},
      {"\"logit_bias\":{\"2\":1}", "\"logit_bias\":[[2,1]]", "\"logit_bias\":[{\"token\":2,\"bias\":1}]"},
      {"\"bad_words\":[[3]]", "\"bad_words_ids\":[[3]]"},
      {"\"allowed_tokens\":[1,2]", "\"allowed_token_ids\":[1,2]"},
      {"\"suppressed_tokens\":[1,2]", "\"suppress_tokens\":[1,2]"},
      {"\"top_k\":2", "\"top_k\":2.0"}};
  const json plain = kept(kFour, "{}", ",\"history\":[2,3]");
  for (const auto& names : synonyms) {
    const json first = kept(kFour, '{' + names[0] + '}', ",\"history\":[2,3]");
    EXPECT_NE(first, plain) << names[0];
    for (const std::string& name : names) {
      EXPECT_EQ(kept(kFour, '{' + name + '}', ",\"history\":[2,3]"), first) << name;
    }
  }
  // Parameters of sequences are accepted if they have no effect.
  EXPECT_EQ(kept(kFour,
                 "{\"num_beams\":1,\"n\":1,\"guidance_scale\":1,\"penalty_alpha\":0,\"stop\":[],"
                 "\"logprobs\":false,\"length_penalty\":1,\"early_stopping\":false,"
                 "\"num_keep\":0,\"num_predict\":9,\"top_p\":null,\"do_sample\":true}",
                 ",\"history\":[2,3]"),
            plain);
}

TEST(Sample, EveryStageChangesTheResult) {
  const std::string history = ",\"history\":[1,2,1,2,1,2,1,2,1],\"generated\":2";
  const json plain = kept(kFour, "{}", history);
  for (const char* params :
       {"{\"top_a\":0.9}", "{\"top_n_sigma\":0.5}", "{\"top_h\":0.3}", "{\"min_p\":0.6}", "{\"smoothing_factor\":0.5}",
        "{\"smoothing_factor\":0.5,\"smoothing_curve\":3}", "{\"xtc_probability\":1,\"xtc_threshold\":0.2}",
        "{\"frequency_penalty\":0.5}", "{\"presence_penalty\":0.5,\"penalty_slope\":1}",
        "{\"dry_multiplier\":1,\"dry_allowed_length\":1}", "{\"guard_window\":8}", "{\"forced_prefix\":[0,1,2]}",
        "{\"sequence_bias\":[[[1,3],-2]]}", "{\"top_p\":0.9,\"top_p_decay\":0.5,\"top_p_min\":0.1}",
        "{\"watermark\":{\"scheme\":\"lefthash\",\"delta\":4,\"gamma\":0.5}}",
        "{\"stages\":[\"top_k\",\"bias\"],\"top_k\":2,\"logit_bias\":{\"0\":9}}"}) {
    EXPECT_NE(kept(kFour, params, history), plain) << params;
  }
  EXPECT_NE(kept(kFour, "{\"begin_suppress_tokens\":[3]}"), plain);
  // The order of stages matters: top_p may be before or after the temperature.
  const std::string both = "\"top_p\":0.75,\"temperature\":0.1}";
  EXPECT_EQ(ids(kept(kFour, "{\"order\":\"default\"," + both)), (Ids{1, 2, 3}));
  EXPECT_EQ(ids(kept(kFour, "{\"order\":\"hf\"," + both)), (Ids{3}));
}

TEST(Sample, DrawsFollowTheDistribution) {
  const json object = answer_to("{\"probs\":" + kFour + ",\"params\":{\"top_k\":3,\"seed\":5},\"draws\":20000}");
  EXPECT_EQ(ids(object["counts"]), (Ids{1, 2, 3}));
  double chi_square = 0.0;
  for (const auto& [id, p] : object["kept"].items()) {
    const double expected = 20000.0 * p.get<double>();
    const double count = object["counts"][id].get<double>();
    chi_square += (count - expected) * (count - expected) / expected;
  }
  EXPECT_LT(chi_square, 18.4);  // with two degrees of freedom, exceeded once in 10,000
  for (const char* selection :
       {"\"selection\":\"gumbel\"", "\"mirostat\":1", "\"mirostat\":2,\"mirostat_tau\":1", "\"adaptive_p\":0.3",
        "\"do_sample\":false", "\"watermark\":\"tournament\"", "\"watermark\":\"gumbel\""}) {
    const json drawn =
        answer_to("{\"probs\":" + kFour + ",\"history\":[0,1,2,3,0],\"params\":{" + selection + "},\"draws\":200}");
    size_t sum = 0;
    for (const auto& [id, count] : drawn["counts"].items()) sum += count.get<size_t>();
    EXPECT_EQ(sum, 200u) << selection;
    // The noise of the Gumbel watermark depends only on the context, so there is one choice.
    const bool is_fixed =
        std::string(selection) == "\"do_sample\":false" || std::string(selection) == "\"watermark\":\"gumbel\"";
    EXPECT_EQ(drawn["counts"].size() == 1, is_fixed) << selection << drawn["counts"];
  }
}

TEST(Sample, BadLinesAreReportedAndTheRestIsAnswered) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"nonsense", "not JSON"},
      {"[]", "object"},
      {"{\"params\":{}}", "\"logits\" or \"probs\""},
      {"{\"logits\":[1],\"probs\":[1]}", "\"logits\" or \"probs\""},
      {"{\"logits\":[]}", "0 numbers"},
      {"{\"logits\":[1,\"x\"]}", "\"x\""},
      {"{\"probs\":[0.5,-0.1]}", "-0.1"},
      {std::string("{\"probs\":[1]}\0", 14), "byte 13"},
      {"{\"probs\":" + std::string(200'000, '[') + std::string(200'000, ']') + "}", "nested too deeply"},
      {"{\"probs\":[1],\"temprature\":1}", "temprature"},
      {"{\"probs\":[1],\"params\":{\"temprature\":1}}", "temprature"},
      {"{\"probs\":[1],\"params\":{\"temperature\":-1}}", "temperature"},
      {"{\"probs\":[1],\"params\":{\"temperature\":\"warm\"}}", "temperature"},
      {"{\"probs\":[1],\"params\":{\"top_k\":-1}}", "top_k"},
      {"{\"probs\":[1],\"params\":{\"top_k\":1.5}}", "top_k"},
      {"{\"probs\":[1],\"params\":{\"num_beams\":2}}", "num_beams"},
      {"{\"probs\":[1],\"params\":{\"selection\":\"best\"}}", "best"},
      {"{\"probs\":[1],\"params\":{\"stages\":[\"top_x\"]}}", "top_x"},
      {"{\"probs\":[1],\"params\":{\"stages\":[\"top_p\"],\"top_k\":2}}", "top_k"},
      {"{\"probs\":[1],\"params\":{\"logit_bias\":{\"x\":1}}}", "\"x\""},
      {"{\"probs\":[1],\"params\":{\"mirostat\":3}}", "mirostat"},
      {"{\"probs\":[1],\"params\":{\"watermark\":{\"shade\":1}}}", "watermark.shade"},
      {"{\"probs\":[1],\"params\":{\"dola\":\"low\"}}", "dola"},
      {"{\"probs\":[1],\"params\":3}", "params"},
      {"{\"probs\":[1],\"history\":[1]}", "history"},
      {"{\"probs\":[1],\"history\":[-1]}", "history"},
      {"{\"probs\":[1],\"generated\":1}", "generated"},
      {"{\"probs\":[1,1],\"mask\":[1]}", "mask"},
      {"{\"probs\":[1,1],\"mask\":[0,0]}", "sampler"},
      {"{\"probs\":[1],\"draws\":-1}", "draws"},
      {"{\"probs\":[1],\"params\":{\"watermark\":{\"key\":-1}}}", "watermark.key"},
      {"{\"probs\":[1],\"params\":{\"seed\":-1}}", "seed"}};
  std::string input;
  for (const auto& [line, part] : cases) input += line + '\n';
  input += "{\"probs\":[1]}\n";
  const Result result = run_sotto({"sample", "--jsonl", "-"}, input);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.err, "");
  const std::vector<std::string> lines = lines_of(result.out);
  ASSERT_EQ(lines.size(), cases.size() + 1);
  for (size_t i = 0; i < cases.size(); ++i) {
    const json answer = json::parse(lines[i]);
    const std::string error = answer.value("error", "");
    EXPECT_NE(error.find("line " + std::to_string(i + 1)), std::string::npos) << lines[i];
    EXPECT_NE(error.find(cases[i].second), std::string::npos) << cases[i].first << ": " << error;
    EXPECT_EQ(answer["line"], i + 1);
  }
  EXPECT_EQ(lines.back(), "{\"kept\":{\"0\":1.0}}");
}

TEST(Sample, LongLinesTakeLinearTime) {
  // Quadratic time would be minutes.
  std::string objects = "{\"probs\":[{}", names = "{\"probs\":[1]";
  for (int i = 0; i < 300'000; ++i) {
    objects += ",{}";
    names += ",\"a" + std::to_string(i) + "\":0";
  }
  const Result result = run_sotto({"sample", "--jsonl", "-"}, objects + "]}\n" + names + "}\n");
  EXPECT_EQ(result.exit_code, 1);
  const std::vector<std::string> lines = lines_of(result.out);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_NE(lines[0].find("probs is {}, not a number"), std::string::npos) << lines[0];
  EXPECT_NE(lines[1].find("unknown field"), std::string::npos) << lines[1];
}

TEST(Sample, ReadsFilesAndTheTokensOfModels) {
  const TemporaryFolder folder;
  write_file(folder.file("lines"), "{\"probs\":" + kFour + "}\n");
  const json object = json_of(run_sotto({"sample", "--jsonl", folder.file("lines")}));
  EXPECT_EQ(object["kept"].size(), 4u);
  expect_refused(run_sotto({"sample", "--jsonl", folder.file("none")}), 1, folder.file("none"));
  expect_refused(run_sotto({"sample", "--jsonl", "/"}), 1, "/");
  EXPECT_EQ(json_of(run_sotto({"sample"}, "{\"probs\":[1]}\n"))["kept"]["0"], 1.0);
  // A model's end-of-text token can be suppressed. Its vocabulary size must match.
  const json model = json_of(run_sotto({"inspect", "--json", SOTTO_DEMO_MODEL}));
  const size_t size = model["vocabulary_size"];
  const std::string end = model["end_of_text_token"].dump();
  const json line = {{"logits", std::vector<double>(size, 0.0)}, {"params", {{"ignore_eos", true}}}};
  const json with_model = json_of(run_on_demo("sample", {"--jsonl"}, line.dump() + '\n'));
  EXPECT_EQ(with_model["kept"].size(), size - 1);
  EXPECT_FALSE(with_model["kept"].contains(end));
  const Result small = run_on_demo("sample", {"--jsonl"}, "{\"probs\":[1]}\n");
  EXPECT_EQ(small.exit_code, 1);
  EXPECT_NE(small.out.find("vocabulary"), std::string::npos) << small.out;
}

}  // namespace
}  // namespace sotto::test
