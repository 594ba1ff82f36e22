// Tests the defaults of options: the variable SOTTO_MODEL and the configuration file.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <string>

#include "tests/cli/generate_support.h"

namespace sotto::test {
namespace {

using nlohmann::json;

// A variable of the environment, until the end of the test.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name), before_(getenv(name) ? getenv(name) : "") {
    setenv(name, value.c_str(), 1);
  }
  ~Variable() { setenv(name_, before_.c_str(), 1); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::string before_;
};

// A configuration file that is in use until the end of the test.
class Config {
 public:
  explicit Config(const std::string& text) : path_(folder_.file("config.json")), variable_("SOTTO_CONFIG", path_) {
    write_file(path_, text);
  }
  const std::string& path() const { return path_; }

 private:
  TemporaryFolder folder_;
  std::string path_;
  Variable variable_;
};

json parameters(const Words& words) { return generated(words)["parameters"]; }

const Words kShort = {"-n", "2"};

Words with_short(Words words) {
  words.insert(words.end(), kShort.begin(), kShort.end());
  return words;
}

TEST(DefaultModel, IsThatOfTheVariable) {
  const Variable variable("SOTTO_MODEL", SOTTO_DEMO_MODEL);
  const Words words = {"tokenize", "--json", kPrompt};
  EXPECT_EQ(json_of(run_sotto(words))["ids"], ids_of(kPrompt));
  EXPECT_EQ(json_of(run_sotto({"inspect", "--json"}))["file"], SOTTO_DEMO_MODEL);
  expect_refused(run_sotto({"tokenize", "-m", "absent.sotto", kPrompt}), 1, "absent.sotto");
  EXPECT_EQ(json_of(run_sotto({"plan", "--json", "--shape", "gpt2"}))["model"]["name"], "gpt2");
  EXPECT_EQ(json_of(run_sotto({"tokenize", "--no-config", "--json", kPrompt}))["ids"], ids_of(kPrompt));
}

TEST(DefaultModel, IsNamedIfItCannotBeUsed) {
  const Variable variable("SOTTO_MODEL", "absent.sotto");
  expect_refused(run_sotto({"tokenize", kPrompt}), 1, "absent.sotto");
}

TEST(Config, GivesTheOptionsOfACommand) {
  const Config config(R"({"temp": 0.25, "generate": {"top-k": 7, "min_p": 0.5, "stop": ["one", "two"]},
                          "sample": {"top-k": 9}})");
  const json given = parameters(kShort);
  EXPECT_EQ(given["temperature"], 0.25);
  EXPECT_EQ(given["top_k"], 7);
  EXPECT_EQ(given["min_p"], 0.5);
  EXPECT_EQ(given["stop"], json({"one", "two"}));
  EXPECT_EQ(parameters(with_short({"--top-k", "3"}))["top_k"], 3);
  EXPECT_EQ(parameters(with_short({"--stop", "three"}))["stop"], json({"three"}));
  EXPECT_EQ(parameters(with_short({"--no-config"}))["top_k"], 40);
}

TEST(Config, OfACommandIsMoreSpecific) {
  const Config config(R"({"temp": 0.25, "generate": {"temperature": 0.5}})");
  EXPECT_EQ(parameters(kShort)["temperature"], 0.5);
}

TEST(Config, HasFlagsAndOptionalValues) {
  const Config config(R"({"generate": {"model": ")" SOTTO_DEMO_MODEL
                      R"(", "json": true, "ignore-eos": false, "logprobs": true, "seed": 18446744073709551615}})");
  const json object = json_of(run_sotto({"generate", "-p", kPrompt, "-n", "2"}));
  EXPECT_EQ(object["parameters"]["seed"], 18446744073709551615u);
  EXPECT_TRUE(object.contains("log_probabilities")) << object;
  EXPECT_EQ(run_sotto({"generate", "-p", kPrompt, "-n", "2", "--json=false", "-q"}).out.find('{'), std::string::npos);
}

TEST(Config, YieldsToContradictingOptions) {
  const Config config(R"({"temp": 0.25, "generate": {"regex": "a+", "draft-tokens": 3}})");
  EXPECT_EQ(parameters(with_short({"--greedy"}))["temperature"], 0.0);
  EXPECT_EQ(parameters(with_short({"--choices", "yes,no"}))["grammar"]["language"], "choices");
  EXPECT_EQ(parameters(kShort)["grammar"]["language"], "regex");
}

TEST(Config, DefaultsWithoutWhatTheyNeedAreNotUsed) {
  const Config config(R"({"generate": {"length-penalty": 2}})");
  EXPECT_EQ(run_on_demo("generate", {"-p", kPrompt, "-n", "2"}).exit_code, 0);
}

TEST(Config, ErrorsNameFileAndLine) {
  const auto expect_error = [](const std::string& text, const std::string& message) {
    SCOPED_TRACE(text);
    const Config config(text);
    expect_refused(run_on_demo("generate", {"-p", kPrompt, "-n", "2"}), 2, message);
  };
  expect_error("{\n \"generate\": {\n  \"tmp\": 1}}",
               "config.json:3: \"--tmp\" is not an option of sotto generate; did you mean --temp?");
  expect_error("{\n\"generat\": {}}", "config.json:2: \"generat\" is not a command; did you mean generate?");
  expect_error("{\n\"tmp\": 1}", "config.json:2: \"tmp\" is neither a command nor an option");
  expect_error("{\"generate\": {\n\n\"temp\": \"warm\"}}", "config.json:3: --temp: \"warm\" is not a number");
  expect_error("{\"generate\": {\"temp\":\n[1, 2]}}", "config.json:2: --temp: is given more than once");
  expect_error("{\"generate\": {\"ignore-eos\": \"maybe\"}}", "config.json:1: --ignore-eos: \"maybe\" is neither");
  expect_error("{\"generate\": {\"temp\": {}}}", "must be a text, a number, true, false or a list");
  expect_error("{\"generate\": {\"temp\": null}}", "must be a text, a number, true, false or a list");
  expect_error("{\"generate\": {\"stop\": []}}", "is an empty list");
  expect_error("[]", "config.json: is not a JSON object");
  expect_error("{\"temp\": 1", "config.json: not JSON: ");
  // Defaults that contradict each other, by themselves or by their values.
  expect_error("{\"regex\": \"a\", \"choices\": \"a,b\"}", "; defaults: --");
}

TEST(Config, MayBeAbsentUnlessItIsNamed) {
  const TemporaryFolder folder;
  {
    const Variable variable("SOTTO_CONFIG", folder.file("absent.json"));
    expect_refused(run_on_demo("tokenize", {kPrompt}), 1, "absent.json");
    EXPECT_EQ(run_on_demo("tokenize", {"--no-config", kPrompt}).exit_code, 0);
    EXPECT_EQ(run_sotto({"help"}).exit_code, 0);
  }
  unsetenv("SOTTO_CONFIG");
  const Variable home("XDG_CONFIG_HOME", folder.file(""));
  EXPECT_EQ(run_on_demo("tokenize", {kPrompt}).exit_code, 0);
  EXPECT_EQ(std::system(("mkdir " + shell_word(folder.file("sotto"))).c_str()), 0);
  write_file(folder.file("sotto/config.json"), "{\"frob\": 1}");
  expect_refused(run_on_demo("tokenize", {kPrompt}), 2, "sotto/config.json:1: \"frob\"");
  setenv("SOTTO_CONFIG", "", 1);
  EXPECT_EQ(run_on_demo("tokenize", {kPrompt}).exit_code, 0);
}

}  // namespace
}  // namespace sotto::test
