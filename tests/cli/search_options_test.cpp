// Tests several sequences from `sotto generate`: beams, draws, votes, and contrastive search.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "tests/cli/generate_support.h"

namespace sotto::test {
namespace {

using nlohmann::json;

json search(const Words& words) {
  Words all = {"-n", "12"};
  all.insert(all.end(), words.begin(), words.end());
  return generated(all);
}

std::set<json> distinct(const json& sequences) {
  std::set<json> tokens;
  for (const json& sequence : sequences) tokens.insert(sequence["tokens"]);
  return tokens;
}

TEST(Searches, BeamsFindMoreLikelyTextsThanGreedySearch) {
  const json greedy = generated({"-n", "12", "--greedy", "--logprobs"});
  double greedy_sum = 0.0;
  for (const json& value : greedy["log_probabilities"]) greedy_sum += value.get<double>();
  for (const char* name : {"--num-beams", "--num_beams", "--beams"}) {
    const json object = search({name, "5", "--num_return_sequences", "3", "--logprobs"});
    const json& sequences = object["sequences"];
    ASSERT_EQ(sequences.size(), 3u);
    EXPECT_EQ(distinct(sequences).size(), 3u);
    EXPECT_EQ(object["tokens"], sequences[0]["tokens"]);
    EXPECT_EQ(object["parameters"]["search"]["mode"], "beam");
    EXPECT_GT(sequences[0]["log_probability"].get<double>(), greedy_sum);
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_TRUE(i == 0 || sequences[i]["score"] <= sequences[i - 1]["score"]);
      double sum = 0.0;
      for (const json& value : sequences[i]["log_probabilities"]) sum += value.get<double>();
      EXPECT_NEAR(sequences[i]["log_probability"].get<double>(), sum, 1e-3);
      EXPECT_NEAR(sequences[i]["score"].get<double>(), sum / 12.0, 1e-3);
    }
  }
}

TEST(Searches, LengthPenaltyAndNormDivideTheScore) {
  const json power = search({"--num-beams", "3", "--length-penalty", "2"})["sequences"][0];
  EXPECT_NEAR(power["score"].get<double>(), power["log_probability"].get<double>() / 144.0, 1e-5);
  const json gnmt = search({"--num-beams", "3", "--length_norm", "gnmt", "--length_penalty", "0.5"});
  const json& best = gnmt["sequences"][0];
  EXPECT_NEAR(best["score"].get<double>(), best["log_probability"].get<double>() / std::sqrt(17.0 / 6.0), 1e-5);
  EXPECT_EQ(gnmt["parameters"]["search"]["length_norm"], "gnmt");
  for (const auto& [given, meant] :
       {std::pair{"true", "at_once"}, std::pair{"false", "heuristic"}, std::pair{"never", "never"}}) {
    const json object = search({"--num-beams", "2", "--early-stopping", given});
    EXPECT_EQ(object["parameters"]["search"]["early_stopping"], meant);
  }
}

TEST(Searches, EndAtStopStrings) {
  const Words draws = {"-n", "60", "--n", "6", "--temp", "1", "--seed", "5"};
  const json whole = generated(draws);
  for (const bool includes : {false, true}) {
    Words words = draws;
    words.insert(words.end(), {"--stop", "said", "--stop", ". ", "--stop", "e t"});
    if (includes) words.push_back("--include-stop");
    const json stopped = generated(words);
    for (size_t i = 0; i < 6; ++i) {
      const std::string text = whole["sequences"][i]["text"];
      size_t end = text.size(), begin = end;
      for (const std::string stop : {"said", ". ", "e t"}) {
        const size_t at = text.find(stop);
        if (at == std::string::npos || at + stop.size() >= end) continue;
        begin = at;
        end = at + stop.size();
      }
      ASSERT_LT(begin, text.size());
      const json& sequence = stopped["sequences"][i];
      EXPECT_EQ(sequence["text"], text.substr(0, includes ? end : begin));
      EXPECT_EQ(sequence["stop"], "stop_string");
    }
  }
  const json beams = search({"--num-beams", "4", "--n", "4", "--stop", " the", "--max-time", "60"});
  for (const json& sequence : beams["sequences"]) {
    EXPECT_EQ(sequence["text"].get<std::string>().find(" the"), std::string::npos);
  }
  EXPECT_EQ(search({"--num-beams", "4", "--max-time", "1e-9"})["stop"], "max_time");
}

TEST(Searches, SampledAndDiverseBeamsDifferFromPlainBeams) {
  const json plain = search({"--num-beams", "4", "--n", "4"});
  const json sampled = search({"--num-beams", "4", "--n", "4", "--do-sample", "--temp", "1.5"});
  EXPECT_EQ(sampled["parameters"]["search"]["mode"], "beam_sample");
  EXPECT_NE(sampled["tokens"], plain["tokens"]);
  EXPECT_NE(search({"--num-beams", "4", "--do-sample", "--temp", "1.5", "--seed", "9"})["tokens"], sampled["tokens"]);
  EXPECT_EQ(search({"--num-beams", "4", "--n", "4", "--no-sample"})["tokens"], plain["tokens"]);
  const json diverse = search({"--num-beams", "4", "--n", "4", "--num-beam-groups", "4", "--diversity-penalty", "5"});
  std::set<json> starts;
  for (const json& sequence : diverse["sequences"]) starts.insert(sequence["tokens"][0]);
  EXPECT_EQ(starts.size(), 4u);
  EXPECT_EQ(diverse["parameters"]["search"]["group_count"], 4);
}

TEST(Searches, PhrasesAppear) {
  const json moon = search({"--num-beams", "6", "--force-phrase", "moon"});
  EXPECT_NE(moon["text"].get<std::string>().find("moon"), std::string::npos) << moon["text"];
  const json either = search({"--num-beams", "6", "--force-phrase", "[\"river\", \"moon\"]", "--force-phrase", "sea"});
  const std::string text = either["text"];
  EXPECT_NE(text.find("sea"), std::string::npos) << text;
  EXPECT_NE(std::min(text.find("river"), text.find("moon")), std::string::npos) << text;
}

TEST(Searches, SamplesAreRankedByBestOfAndByVotes) {
  const json drawn = search({"--n", "4", "--seed", "3"});
  EXPECT_EQ(drawn["parameters"]["search"]["mode"], "sample");
  EXPECT_EQ(distinct(drawn["sequences"]).size(), 4u);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(drawn["sequences"][i]["index"], i);
  // The first draw equals the draw of a stream.
  EXPECT_EQ(drawn["tokens"], generated({"-n", "12", "--seed", "3"})["tokens"]);
  const json best = search({"--best-of", "4", "--seed", "3"});
  ASSERT_EQ(best["sequences"].size(), 1u);
  EXPECT_EQ(best["parameters"]["search"]["rerank"], "best");
  const std::set<json> pool = distinct(drawn["sequences"]);
  EXPECT_TRUE(pool.count(best["tokens"]) != 0);
  for (const char* vote : {"exact", "ngram"}) {
    const json object = search({"--n", "4", "--seed", "3", "--vote", vote});
    EXPECT_EQ(object["parameters"]["search"]["rerank"], vote);
    EXPECT_EQ(distinct(object["sequences"]), pool);
    for (size_t i = 1; i < 4; ++i) {
      EXPECT_LE(object["sequences"][i]["score"], object["sequences"][i - 1]["score"]);
    }
  }
  EXPECT_EQ(search({"--best-of", "4", "--n", "2", "--vote", "ngram"})["sequences"].size(), 2u);
}

TEST(Searches, ContrastiveSearchFollowsItsAlpha) {
  const json object = search({"--penalty_alpha", "0.6", "--top_k", "5"});
  EXPECT_EQ(object["parameters"]["search"]["mode"], "contrastive");
  EXPECT_EQ(object["parameters"]["search"]["contrastive_k"], 5);
  EXPECT_EQ(object["parameters"]["search"]["contrastive_alpha"], 0.6);
  const json greedy = generated({"-n", "12", "--greedy"});
  EXPECT_NE(object["tokens"], greedy["tokens"]);
  EXPECT_EQ(search({"--penalty-alpha", "0.00001"})["tokens"], greedy["tokens"]);
}

TEST(Searches, BannedTokensNeverOccur) {
  for (const Words& mode : std::vector<Words>{
           {"--num-beams", "3"}, {"--num-beams", "3", "--do-sample"}, {"--n", "3"}, {"--penalty-alpha", "0.5"}}) {
    Words words = mode;
    words.insert(words.end(), {"--bad-word", "the", "--suppress-tokens", ","});
    SCOPED_TRACE(joined(words));
    const json found = search(words);
    for (const json& sequence : found["sequences"]) {
      const json& tokens = sequence["tokens"];
      EXPECT_EQ(std::count(tokens.begin(), tokens.end(), ids_of(" the")[0]), 0);
      EXPECT_EQ(std::count(tokens.begin(), tokens.end(), ids_of(",")[0]), 0);
    }
  }
}

TEST(Searches, AreReadableWithoutJson) {
  const Result several = run_on_demo("generate", {"-p", kPrompt, "-n", "8", "--num-beams", "3", "--n", "2", "-q"});
  EXPECT_EQ(several.exit_code, 0) << several.err;
  EXPECT_EQ(several.err, "");
  EXPECT_EQ(several.out.rfind(kPrompt + "\n[1] score ", 0), 0u) << several.out;
  EXPECT_NE(several.out.find("\n[2] score "), std::string::npos);
  const Result one = run_on_demo("generate", {"-p", kPrompt, "-n", "8", "--num-beams", "3", "-q"});
  EXPECT_EQ(one.out.rfind(kPrompt, 0), 0u);
  EXPECT_EQ(one.out.find("[1]"), std::string::npos);
  const Result scored = run_on_demo("generate", {"-p", kPrompt, "-n", "8", "--num-beams", "3", "-q", "--logprobs"});
  EXPECT_EQ(std::count(scored.out.begin(), scored.out.end(), '\n'), 8);
}

}  // namespace
}  // namespace sotto::test
