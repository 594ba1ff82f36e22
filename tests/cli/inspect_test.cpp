// Tests `sotto inspect`, --help and --version.
#include <gtest/gtest.h>

#include <string>

#include "capi/include/sotto.h"
#include "tests/cli/program.h"

namespace sotto::test {
namespace {

using nlohmann::json;

TEST(Inspect, JsonAndTextAgree) {
  const json object = json_of(run_sotto({"inspect", "--json", "--verify", SOTTO_DEMO_MODEL}));
  EXPECT_EQ(object["file_bytes"], read_file(SOTTO_DEMO_MODEL).size());
  EXPECT_TRUE(object["has_tokenizer"]);
  EXPECT_GT(object["parameters"].get<uint64_t>(), 1000000u);
  EXPECT_GT(object["weight_bytes"].get<uint64_t>(), 1000000u);
  EXPECT_EQ(object["layer_weight_bits"], 8);
  EXPECT_EQ(object["head_weight_bits"], 8);
  // If the value is 0, the vocabulary of the file has an older version, and the model has to be converted again.
  EXPECT_GT(object["vocabulary_bytes"].get<uint64_t>(), 50000u);
  const Result text = run_sotto({"inspect", SOTTO_DEMO_MODEL});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_NE(text.out.find("layers           " + object["layers"].dump()), std::string::npos);
  EXPECT_NE(text.out.find("prepared in the file"), std::string::npos);
  EXPECT_NE(text.out.find("bits per weight  8, 8 in the head"), std::string::npos);
  EXPECT_NE(text.out.find(object["isa"].get<std::string>()), std::string::npos);
}

TEST(Inspect, ShowsWhatTheFileSaysAboutTheModel) {
  const json object = json_of(run_sotto({"inspect", "--json", SOTTO_DEMO_MODEL}));
  const json end = json::array({json::object({{"id", object["end_of_text_token"]}, {"text", "<|endoftext|>"}})});
  EXPECT_EQ(object["end_of_text_tokens"], end);
  EXPECT_EQ(object["special_tokens"], end);
  EXPECT_EQ(object["added_tokens"], json::array());
  EXPECT_EQ(object["license"], nullptr);
  EXPECT_EQ(object["chat_template"], nullptr);
  EXPECT_EQ(object["sampling_defaults"], json::object());
  const std::string text = run_sotto({"inspect", SOTTO_DEMO_MODEL}).out;
  EXPECT_NE(text.find("end of text      " + object["end_of_text_token"].dump() + " \"<|endoftext|>\"\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("\nname             " + object["name"].get<std::string>() + "\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\nsampling         no recommended values\n"), std::string::npos) << text;
}

TEST(Inspect, ReferenceReadsTheWeightsFromTheFile) {
  const std::string text = run_sotto({"inspect", "--isa", "reference", SOTTO_DEMO_MODEL}).out;
  EXPECT_NE(text.find(" read for each token, in place from the file\n"), std::string::npos) << text;
}

TEST(Inspect, SessionMemoryGrowsWithTheContext) {
  const json object = json_of(run_sotto({"inspect", "--json", SOTTO_DEMO_MODEL}));
  const json& rows = object["session_memory"];
  ASSERT_GE(rows.size(), 2u);
  for (size_t i = 1; i < rows.size(); ++i) {
    EXPECT_GT(rows[i]["context_tokens"], rows[i - 1]["context_tokens"]);
    EXPECT_GT(rows[i]["bytes"], rows[i - 1]["bytes"]);
  }
  EXPECT_EQ(rows.back()["context_tokens"], object["max_context_tokens"]);
}

TEST(Program, HelpNamesCommandsOptionsAndExamples) {
  const Result help = run_sotto({"--help"});
  EXPECT_EQ(help.exit_code, 0);
  for (const char* part : {"generate", "Examples:", "Exit codes:"}) {
    EXPECT_NE(help.out.find(part), std::string::npos) << part;
  }
  const Result generate = run_sotto({"generate", "--help"});
  EXPECT_EQ(generate.exit_code, 0);
  for (const char* part : {"--temp X [0.8]", "--top-k N [40]", "--overflow NAME [stop]",
                           "Also understood, as every name with _ for -: --max-new-tokens", "\nTruncation:\n",
                           "\nWatermark:\n", "\nSeveral sequences:\n", "Examples:"}) {
    EXPECT_NE(generate.out.find(part), std::string::npos) << part;
  }
  for (const char* command : {"tokenize", "inspect", "sample", "score", "embed", "detect"}) {
    EXPECT_NE(help.out.find(command), std::string::npos) << command;
    EXPECT_NE(run_sotto({command, "--help"}).out.find("Examples:"), std::string::npos);
  }
}

TEST(Program, PrintsItsVersion) {
  const std::string version = "sotto " + std::to_string(SOTTO_VERSION_MAJOR) + '.' +
                              std::to_string(SOTTO_VERSION_MINOR) + '.' + std::to_string(SOTTO_VERSION_PATCH) +
                              "\nBuilt with " + sotto_build_text() + '\n';
  EXPECT_EQ(run_sotto({"--version"}).out, version);
}

TEST(Program, ManualPageIsOfThisVersion) {
  const std::string page = run_sotto({"help", "--man"}).out;
  const std::string version = "\"sotto " + std::to_string(SOTTO_VERSION_MAJOR) + '.' +
                              std::to_string(SOTTO_VERSION_MINOR) + '.' + std::to_string(SOTTO_VERSION_PATCH) + '"';
  EXPECT_NE(page.find(version), std::string::npos) << "lacks " << version;
}

}  // namespace
}  // namespace sotto::test
