// Tests `sotto score`, `sotto embed` and `sotto detect`.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "tests/cli/generate_support.h"

namespace sotto::test {
namespace {

using nlohmann::json;

TEST(Score, PerplexityAndBitsFollowFromTheSum) {
  const std::string text = "It was a dark night, and the sea was rough.";
  const json object = json_of(run_on_demo("score", {text, "--json"}));
  const json& values = object["log_probabilities"];
  ASSERT_EQ(values.size(), object["tokens"].size());
  EXPECT_TRUE(values[0].is_null());
  double sum = 0.0;
  for (size_t i = 1; i < values.size(); ++i) sum += values[i].get<double>();
  EXPECT_NEAR(object["log_probability"].get<double>(), sum, 1e-3);
  const double count = object["scored_tokens"];
  EXPECT_EQ(count, static_cast<double>(values.size() - 1));
  EXPECT_NEAR(object["perplexity"].get<double>(), std::exp(-sum / count), 1e-2);
  EXPECT_NEAR(object["bits_per_byte"].get<double>(), -sum / std::log(2.0) / object["scored_bytes"].get<double>(), 1e-4);
  // The scores equal the scores of a generation.
  const json echoed = json_of(run_on_demo("generate", {"-p", text, "-n", "0", "--echo-scores", "--json"}));
  for (size_t i = 1; i < values.size(); ++i) {
    EXPECT_EQ(values[i], echoed["prompt_log_probabilities"][i]);
  }
}

TEST(Score, ReadsFilesAndStandardInput) {
  const TemporaryFolder folder;
  write_file(folder.file("text"), "It was a dark night");
  const json started = json_of(run_on_demo("score", {"-f", folder.file("text"), "--start", "--json"}));
  EXPECT_EQ(started["scored_bytes"], 19);
  EXPECT_EQ(started["scored_tokens"], started["tokens"].size() - 1);
  const Result lines = run_on_demo("score", {"--tokens"}, "It was a dark night");
  EXPECT_EQ(lines.exit_code, 0) << lines.err;
  EXPECT_NE(lines.out.find("\" dark\""), std::string::npos) << lines.out;
  EXPECT_NE(lines.out.find("perplexity"), std::string::npos);
  expect_refused(run_on_demo("score", {"It"}), 1, "nothing to score");
  expect_refused(run_on_demo("score", {"x", "--stride", "100000"}), 1, "--stride");
  expect_refused(run_on_demo("score", {"x", "-f", "y"}), 2, "--file");
}

TEST(Score, LongTextsAreScoredInWindows) {
  std::string text;
  for (int i = 0; i < 60; ++i) text += "It was a dark night, and the sea was rough. ";
  const json whole = json_of(run_on_demo("score", {text, "--json", "--ctx", "512"}));
  const json windows = json_of(run_on_demo("score", {text, "--json", "--ctx", "64", "--stride", "16"}));
  ASSERT_GT(windows["tokens"].size(), 512u);
  EXPECT_EQ(windows["scored_tokens"], windows["tokens"].size() - 1);
  for (size_t i = 1; i < 64; ++i) {
    EXPECT_EQ(windows["log_probabilities"][i], whole["log_probabilities"][i]) << i;
  }
  EXPECT_LT(windows["perplexity"].get<double>(), 30.0);  // the text repeats itself
  // The first token of a window is scored by the window before.
  EXPECT_EQ(json_of(run_on_demo("score", {text, "--json", "--ctx", "64", "--stride", "63"}))["scored_tokens"],
            windows["scored_tokens"]);
  expect_refused(run_on_demo("score", {text, "--ctx", "64", "--stride", "65"}), 1, "it must be at most the context");
}

// The sliding window of transformers' guide to perplexity: window k has the tokens from k times the stride on, and each
// token counts in the first window that contains it. With a stride of the whole context, windows are disjoint.
TEST(Score, WindowsAreScoredLikeTextsOfTheirOwn) {
  std::string text;
  for (int i = 0; i < 12; ++i) text += "It was a dark night, and the sea was rough. ";
  const json ids = ids_of(text);
  for (const size_t stride : {64, 63, 24}) {
    SCOPED_TRACE(stride);
    const json found =
        json_of(run_on_demo("score", {text, "--json", "--ctx", "64", "--stride", std::to_string(stride)}));
    const json& values = found["log_probabilities"];
    ASSERT_EQ(values.size(), ids.size());
    double sum = 0.0;
    size_t count = 0;
    for (size_t begin = 0, done = 0; done < ids.size(); begin += stride) {
      const size_t end = std::min(begin + 64, ids.size());
      Words words = {"--json", "--ids"};
      for (size_t i = begin; i < end; ++i) words.push_back(ids[i].dump());
      const json window = json_of(run_on_demo("score", words))["log_probabilities"];
      for (; done < end; ++done) {
        EXPECT_EQ(values[done], window[done - begin]) << done;
        if (window[done - begin].is_null()) continue;
        sum += window[done - begin].get<double>();
        ++count;
      }
    }
    EXPECT_EQ(found["scored_tokens"], count);
    EXPECT_NEAR(found["log_probability"].get<double>(), sum, 1e-4);
    EXPECT_NEAR(found["perplexity"].get<double>(), std::exp(-sum / static_cast<double>(count)), 1e-4);
  }
}

TEST(Embed, PoolsAndNormalizes) {
  const json model = json_of(run_sotto({"inspect", "--json", SOTTO_DEMO_MODEL}));
  const json mean = json_of(run_on_demo("embed", {"It was a dark night"}));
  const json last = json_of(run_on_demo("embed", {"It was a dark night", "--pool", "last"}));
  ASSERT_TRUE(mean.is_array());
  EXPECT_EQ(mean.size(), last.size());
  EXPECT_NE(mean, last);
  const json object = json_of(run_on_demo("embed", {"It was a dark night", "--normalize", "--json", "--threads", "2"}));
  EXPECT_EQ(object["pooling"], "mean");
  EXPECT_EQ(object["tokens"], ids_of("It was a dark night"));
  double square = 0.0;
  double product = 0.0;
  double length = 0.0;
  for (size_t i = 0; i < mean.size(); ++i) {
    const double value = object["embedding"][i];
    square += value * value;
    product += value * mean[i].get<double>();
    length += mean[i].get<double>() * mean[i].get<double>();
  }
  EXPECT_NEAR(square, 1.0, 1e-5);
  EXPECT_NEAR(product, std::sqrt(length), 1e-3);
  expect_refused(run_on_demo("embed", {""}), 1, "empty");
  expect_refused(run_on_demo("embed", {"x", "--pool", "middle"}), 2, "--pool");
}

TEST(Detect, FindsWhatGenerateMarked) {
  const json model = json_of(run_sotto({"inspect", "--json", SOTTO_DEMO_MODEL}));
  const std::string size = model["vocabulary_size"].dump();
  for (const char* scheme : {"lefthash", "selfhash", "tournament", "gumbel"}) {
    SCOPED_TRACE(scheme);
    const auto text = [&](const std::string& mark) {
      return generated({"-n", "200", "--temp", "1", "--top-k", "0", "--top-p", "1", "--min-p", "0", "--watermark", mark,
                        "--ignore-eos"});
    };
    const auto detect = [&](const json& tokens, const Words& more) {
      Words words = {"detect", "--watermark", scheme, "--vocabulary", size, "--json", "--ids"};
      for (const json& token : tokens) words.push_back(token.dump());
      words.insert(words.end(), more.begin(), more.end());
      return json_of(run_sotto(words));
    };
    const json marked = text(scheme);
    const json found = detect(marked["tokens"], {});
    EXPECT_TRUE(found["is_marked"]) << found;
    EXPECT_GT(found["z"].get<double>(), 3.0);
    EXPECT_LT(found["p_value"].get<double>(), 0.01);
    EXPECT_FALSE(detect(text("none")["tokens"], {})["is_marked"]);
    EXPECT_FALSE(detect(marked["tokens"], {"--watermark-key", "42"})["is_marked"]);
    const json by_text =
        json_of(run_on_demo("detect", {marked["text"].get<std::string>(), "--watermark", scheme, "--json"}));
    EXPECT_GT(by_text["z"].get<double>(), 3.0);
  }
}

TEST(Detect, WrongUsageIsReported) {
  expect_refused(run_sotto({"detect", "x"}), 2, "--model");
  expect_refused(run_sotto({"detect", "--ids", "1", "2"}), 2, "--vocabulary");
  expect_refused(run_sotto({"detect", "--vocabulary", "9", "-f", "x", "--ids", "1", "2"}), 2, "--file");
  expect_refused(run_sotto({"detect", "--ids", "1", "x", "--vocabulary", "9"}), 1, "x");
  expect_refused(run_sotto({"detect", "--ids", "1", "9", "--vocabulary", "9"}), 1, "9");
  expect_refused(run_on_demo("detect", {"x", "--watermark", "none"}), 2, "--watermark");
  expect_refused(run_on_demo("detect", {"x", "--watermark-delta", "2"}), 2, "--watermark-delta");
  expect_refused(run_on_demo("detect", {"x", "--watermark-gamma", "2"}), 1, "gamma");
  const Result plain = run_on_demo("detect", {}, "It was a dark night, and the sea was rough.");
  EXPECT_EQ(plain.exit_code, 0) << plain.err;
  EXPECT_NE(plain.out.find("p-value"), std::string::npos);
}

}  // namespace
}  // namespace sotto::test
