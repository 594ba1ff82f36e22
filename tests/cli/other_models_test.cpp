// Tests models unlike the demo model: without a tokenizer, with another vocabulary, or with a tiny context.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/capi/open_session.h"
#include "tests/cli/generate_support.h"
#include "tests/memory/support.h"

namespace sotto::test {
namespace {

using nlohmann::json;

constexpr uint32_t kGpt2Vocabulary = 50257;  // has an end of text

// Writes a model with random weights and returns its path.
std::string write_other_model(const TemporaryFolder& folder, const ModelShape& shape, bool with_tokenizer) {
  const std::vector<uint8_t> bytes = make_model_file(shape, with_tokenizer);
  const std::string path = folder.file("other.sotto");
  write_file(path, {bytes.begin(), bytes.end()});
  return path;
}

TEST(OtherModels, ModelsWithoutATokenizerGiveEmptyTexts) {
  const TemporaryFolder folder;
  const std::string path = write_other_model(folder, {kGpt2Vocabulary, 32, 16, 1, 16, 1}, false);
  for (const Words& more : std::vector<Words>{{"--num-beams", "2", "--logprobs"},
                                              {"--n", "2"},
                                              {"--logprobs", "2"},
                                              {"--echo-scores"},
                                              {"--penalty-alpha", "0.5"}}) {
    SCOPED_TRACE(joined(more));
    Words words = {"generate", "-m", path, "--seed", "0", "--ids", "5", "-n", "3", "--ignore-eos"};
    words.insert(words.end(), more.begin(), more.end());
    const Result lines = run_sotto(words);
    EXPECT_EQ(lines.exit_code, 0) << lines.err;
    words.push_back("--json");
    const json object = json_of(run_sotto(words));
    EXPECT_EQ(object["tokens"].size(), 3u);
    EXPECT_EQ(object["text"], "");
    for (const json& sequence : object.value("sequences", json::array())) {
      EXPECT_EQ(sequence["text"], "");
    }
  }
  expect_refused(run_sotto({"tokenize", "-m", path, "--decode", "1"}), 1, "no tokenizer");
}

TEST(OtherModels, RewardModelsGiveTheirLastLogitsAndWriteNoText) {
  const TemporaryFolder folder;
  const ModelShape shape = {300, 32, 16, 1, 16, 1};
  const std::string plain = write_other_model(folder, shape, false);
  const std::vector<uint8_t> bytes = make_described_file(shape, [](CheckpointInfo& info) { info.reward_count = 2; });
  const std::string path = folder.file("reward.sotto");
  write_file(path, {bytes.begin(), bytes.end()});
  const json rewards = json_of(run_sotto({"score", "-m", path, "--reward", "--ids", "5", "6", "7"}));
  const json object = json_of(run_sotto({"score", "-m", path, "--reward", "--json", "--ids", "5", "6", "7"}));
  EXPECT_EQ(object["rewards"], rewards);
  EXPECT_EQ(object["tokens"], json({5, 6, 7}));
  LoadedModel model(bytes);
  OpenSession session(model.get());
  const sotto_token tokens[] = {5, 6, 7};
  const float* logits = nullptr;
  size_t count = 0;
  ASSERT_EQ(sotto_session_prefill(session.get(), tokens, 3), SOTTO_OK);
  ASSERT_EQ(sotto_session_logits(session.get(), &logits, &count), SOTTO_OK);
  ASSERT_EQ(rewards.size(), 2u);
  EXPECT_EQ(rewards[0].get<float>(), logits[count - 2]);
  EXPECT_EQ(rewards[1].get<float>(), logits[count - 1]);
  expect_refused(run_sotto({"generate", "-m", path, "--ids", "5"}), 1, "is a reward model");
  expect_refused(run_sotto({"score", "-m", path, "--ids", "5", "6"}), 1, "is a reward model");
  expect_refused(run_sotto({"score", "-m", plain, "--reward", "--ids", "5"}), 1, "is no reward model");
}

TEST(OtherModels, ModelsWithoutATokenizerReadAndWriteIds) {
  const TemporaryFolder folder;
  const std::string path = write_other_model(folder, {300, 32, 16, 1, 16, 1}, false);
  const Result generated = run_sotto({"generate", "-m", path, "--seed", "0", "-n", "3", "-q", "--ids", "5", "6", "7"});
  EXPECT_EQ(generated.exit_code, 0) << generated.err;
  EXPECT_EQ(generated.out.substr(0, 6), "5 6 7 ");
  EXPECT_EQ(generated.out.find_first_not_of("0123456789 \n"), std::string::npos) << generated.out;
  const Result continued =
      run_sotto({"generate", "-m", path, "--seed", "0", "-n", "3", "-q", "--no-echo", "--ids", "5,6,7"});
  EXPECT_EQ("5 6 7 " + continued.out, generated.out);
  const json score = json_of(run_sotto({"score", "-m", path, "--json", "--ids", "5", "6", "7"}));
  EXPECT_EQ(score["tokens"], json({5, 6, 7}));
  EXPECT_TRUE(score["bits_per_byte"].is_null());
  EXPECT_EQ(json_of(run_sotto({"embed", "-m", path, "--ids", "5", "6"})).size(), 16u);
  expect_refused(run_sotto({"generate", "-m", path, "--ids", "300"}), 1, "--ids: token 300");
  expect_refused(run_sotto({"generate", "-m", path, "-p", "hi"}), 1, "give token ids with --ids");
  expect_refused(run_sotto({"generate", "-m", path, "-p", "hi", "--ids", "1"}), 2, "cannot be combined with");
}

TEST(OtherModels, RecommendedValuesApplyOnlyIfAsked) {
  const TemporaryFolder folder;
  const std::string path = folder.file("described.sotto");
  const std::vector<uint8_t> bytes = make_described_file({300, 32, 16, 1, 16, 1}, [](CheckpointInfo& info) {
    info.license = "mit";
    info.chat_template = "{{ messages }}";
    info.sampling.temperature = 0.0f;
  });
  write_file(path, {bytes.begin(), bytes.end()});
  const json info = json_of(run_sotto({"inspect", path, "--json"}));
  EXPECT_EQ(info["license"], "mit");
  EXPECT_EQ(info["chat_template"], "{{ messages }}");
  EXPECT_EQ(info["sampling_defaults"], json::object({{"temperature", 0.0}}));
  const auto tokens = [&](const Words& more) {
    Words words = {"generate", "-m", path, "--seed", "0", "--ids", "5", "-n", "8", "--ignore-eos", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return json_of(run_sotto(words))["tokens"];
  };
  const json plain = tokens({}), cold = tokens({"--temp", "0"});
  EXPECT_NE(plain, cold);
  EXPECT_EQ(tokens({"--model-defaults"}), cold);
  // Also a value that is the default replaces the recommended one.
  EXPECT_EQ(tokens({"--model-defaults", "--temp", "0.8"}), plain);
}

TEST(OtherModels, ConversationsHaveTheFormatOfTheModel) {
  const TemporaryFolder folder;
  const std::string path = folder.file("chat.sotto");
  const std::string format = "{|}Q {user}\n{|}A {assistant}\n";
  const std::vector<uint8_t> bytes = make_described_file(
      {300, 256, 16, 1, 16, 1},
      [&](CheckpointInfo& info) {
        info.chat_template = "{{ messages }}";
        info.chat_format = format;
      },
      true);
  write_file(path, {bytes.begin(), bytes.end()});
  EXPECT_EQ(json_of(run_sotto({"inspect", path, "--json"}))["chat_format"], format);
  EXPECT_NE(run_sotto({"inspect", path}).out.find("Q {user}"), std::string::npos);
  const auto reply = [&](const Words& more) {
    Words words = {"chat", "-m", path, "--reply-tokens", "16", "-n", "4", "--seed", "1", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const Result result = run_sotto(words, "Hello.\n");
    EXPECT_EQ(result.exit_code, 0) << result.err;
    const size_t last_line = result.out.rfind('\n', result.out.size() - 2) + 1;
    json event = json::parse(result.out.substr(last_line));
    event.erase("seconds");
    return event;
  };
  const json own = reply({});
  EXPECT_EQ(own["event"], "reply");
  EXPECT_EQ(own["prompt_tokens"], std::string("Q Hello.\nA ").size());
  EXPECT_EQ(own, reply({"--format", format}));
  EXPECT_EQ(reply({"--format", "plain"})["prompt_tokens"], std::string("User: Hello.\nAssistant:").size());
}

TEST(OtherModels, ModelsWithAnotherVocabularyAreRejectedAsGuides) {
  const TemporaryFolder folder;
  const std::string path = write_other_model(folder, {300, 32, 16, 1, 16, 1}, true);
  expect_refused(run_on_demo("generate", {"-p", "hello there", "--contrastive-model", path}), 1,
                 "--contrastive-model: vocabulary_size is 300");
}

TEST(OtherModels, ModelsWithOneTokenScoreNothing) {
  const TemporaryFolder folder;
  const std::string path = write_other_model(folder, {300, 1, 16, 1, 16, 1}, true);
  expect_refused(run_sotto({"score", "-m", path, "hello there"}), 1, "context of 1 token");
}

}  // namespace
}  // namespace sotto::test
