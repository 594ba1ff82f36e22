// Tests help texts, suggestions for unknown names, and shell completion.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/cli/generate_support.h"

namespace sotto::test {
namespace {

using nlohmann::json;

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Help, WithoutACommandItListsTheCommands) {
  const Result result = run_sotto({});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_PRED2(contains, result.err, "Continue a prompt");
}

TEST(Help, IsACommand) {
  EXPECT_EQ(run_sotto({"help"}).out, run_sotto({"--help"}).out);
  EXPECT_EQ(run_sotto({"help", "generate"}).out, run_sotto({"generate", "--help"}).out);
  EXPECT_EQ(run_sotto({"help", "grammar", "check"}).out, run_sotto({"grammar", "check", "--help"}).out);
  expect_refused(run_sotto({"help", "frob"}), 2, "\"frob\" is not a command");
}

TEST(Help, ExplainsOneGroupOfOptions) {
  const Result result = run_sotto({"help", "generate", "repetition"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_PRED2(contains, result.out, "--repeat-penalty");
  EXPECT_FALSE(contains(result.out, "--top-p"));
  expect_refused(run_sotto({"help", "generate", "frob"}), 2, "the groups are ");
}

TEST(Help, TheManualPageHasEveryOption) {
  const std::string page = run_sotto({"help", "--man"}).out;
  for (const char* option : {"\\-p, \\-\\-prompt TEXT", "\\-\\-json\\-schema", "\\-\\-repeat\\-penalty",
                             "\\-\\-ids IDS...", ".SH sotto grammar check", ".B completion"}) {
    EXPECT_PRED2(contains, page, option);
  }
}

TEST(Help, FailsIfItCannotBeWritten) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "this system has no /dev/full";
  EXPECT_NE(std::system((shell_word(SOTTO_CLI) + " --help >/dev/full 2>/dev/null").c_str()), 0);
}

TEST(Usage, SuggestsANearName) {
  expect_usage_error({"--tmp", "0.9"}, "\"--tmp\" is not an option of sotto generate; did you mean --temp?");
  expect_usage_error({"hi"}, "unexpected argument \"hi\"; give the prompt with -p");
  expect_refused(run_sotto({"generat", "-m", "x"}), 2, "did you mean generate?");
  expect_refused(run_sotto({"help", "generat"}), 2, "\"generat\" is not a command; did you mean generate?");
  for (const char* help : {"--help", "-h"}) {
    expect_refused(run_sotto({"frobnicate", help}), 2, "\"frobnicate\" is not a command");
    expect_refused(run_sotto({"grammar", "chek", help}), 2, "did you mean check?");
  }
}

TEST(Usage, FollowsTheConventionsOfGnuPrograms) {
  const auto options = [](const Words& words) {
    Words all = {"--json", "-p", kPrompt, "--seed", "3"};
    all.insert(all.end(), words.begin(), words.end());
    return json_of(run_on_demo("generate", all));
  };
  const json expected = options({"-n", "3", "--top-k", "7"});
  for (const Words& words :
       std::vector<Words>{{"-n3", "--top-k=7"}, {"-qn3", "--top_k", "7"}, {"-qn", "3", "--top_k=7"}}) {
    const json object = options(words);
    EXPECT_EQ(object["tokens"], expected["tokens"]) << joined(words);
    EXPECT_EQ(object["parameters"], expected["parameters"]) << joined(words);
  }
  const json plain = json_of(run_on_demo("tokenize", {"--json", "--", "--json"}));
  EXPECT_EQ(plain["text"], "--json");
  EXPECT_EQ(json_of(run_on_demo("tokenize", {"generate", "--json"}))["text"], "generate");
  EXPECT_EQ(options({"-n3", "--top-k", "7", "--do-sample=false"})["parameters"]["temperature"], 0.0);
  expect_usage_error({"--temp", "1", "--temp", "2"}, "--temp: is given more than once");
  expect_usage_error({"-n"}, "--max-tokens: needs a value");
  expect_usage_error({"--json=maybe"}, "--json: \"maybe\" is neither true nor false");
}

TEST(Usage, NamesTheValueThatIsNoNumber) {
  expect_usage_error({"--temp", "warm"}, "--temp: \"warm\" is not a number");
  expect_usage_error({"--top-k", "few"}, "\"few\" is not a whole number");
  const Result result = run_on_demo("generate", {"-p", kPrompt, "-n", "-2"});
  expect_refused(result, 2, "is -2; it must be at least -1");
}

TEST(Usage, NamesOptionsInsteadOfParameters) {
  const auto expect_failure = [](const Words& words, const std::string& message) {
    Words all = {"-p", kPrompt};
    all.insert(all.end(), words.begin(), words.end());
    expect_refused(run_on_demo("generate", all), 1, "sotto: " + message);
  };
  expect_failure({"--logprobs", "100"}, "--logprobs is 100");
  expect_failure({"--repeat-penalty", "0"}, "--repeat-penalty is 0");
  expect_failure({"--threads", "10000"}, "--threads is 10000");
  expect_failure({"--batch", "0"}, "--batch is 0");
  expect_failure({"--sink-tokens", "4"}, "--sink-tokens ");
}

TEST(Usage, AGreedyTemperatureMayBeSaidTwice) {
  EXPECT_EQ(run_on_demo("generate", {"-p", kPrompt, "-n", "2", "-q", "--temp", "0", "--greedy"}).exit_code, 0);
  expect_usage_error({"--temp", "0.5", "--greedy"}, "--greedy");
}

TEST(Usage, ExplainsWordsThatAreTakenForFiles) {
  expect_refused(run_sotto({"grammar", "check", "root = \"a\""}), 1, "neither a file nor a rule with ::=");
  expect_refused(run_on_demo("generate", {"-p", kPrompt, "--draft", "foo"}), 1,
                 "neither lookup, lookahead or early-exit nor a model file");
  expect_usage_error({"--choices", ""}, "--choices");
}

TEST(Usage, NotesABackslashThatIsNoEscape) {
  const Result plain = run_on_demo("generate", {"-p", kPrompt, "-n", "2", "-q", "--stop", "\\n"});
  EXPECT_EQ(plain.exit_code, 0);
  EXPECT_PRED2(contains, plain.err, "note: --stop");
  EXPECT_EQ(run_on_demo("generate", {"-p", kPrompt, "-n", "2", "-q", "--stop", "\"\\n\""}).err, "");
}

// Runs a line of bash after the completion script and returns the completions in order.
std::string completed(const std::string& line) {
  const TemporaryFolder folder;
  const std::string script = folder.file("script");
  write_file(script, run_sotto({"completion", "bash"}).out + line +
                         "\n_sotto; printf '%s\\n' \"${COMPREPLY[@]}\" | LC_ALL=C sort | paste -s -d ' '\n");
  const std::string out = folder.file("out");
  EXPECT_EQ(std::system(("bash " + shell_word(script) + " >" + shell_word(out)).c_str()), 0);
  return read_file(out);
}

TEST(Completion, BashCompletesCommandsAndOptions) {
  if (std::system("bash -c 'complete -p >/dev/null' 2>/dev/null") != 0) GTEST_SKIP() << "there is no bash";
  EXPECT_EQ(completed("COMP_WORDS=(sotto gen) COMP_CWORD=1"), "generate\n");
  EXPECT_EQ(completed("COMP_WORDS=(sotto generate --repeat-p) COMP_CWORD=2"), "--repeat-penalty\n");
  EXPECT_EQ(completed("COMP_WORDS=(sotto grammar ch) COMP_CWORD=2"), "check\n");
}

TEST(Completion, OfBashCompletesValues) {
  if (std::system("bash -c 'complete -p >/dev/null' 2>/dev/null") != 0) GTEST_SKIP() << "there is no bash";
  EXPECT_EQ(completed("COMP_WORDS=(sotto generate --preset c) COMP_CWORD=3"), "chat code creative\n");
  EXPECT_EQ(completed("COMP_WORDS=(sotto generate --preset = trans) COMP_CWORD=4"), "translation\n");
  EXPECT_EQ(completed("COMP_WORDS=(sotto generate --json_space = ) COMP_CWORD=3"), "compact flexible one\n");
  EXPECT_EQ(completed("COMP_WORDS=(sotto chat --format chat) COMP_CWORD=3"), "chatml\n");
  EXPECT_EQ(completed("COMP_WORDS=(sotto next --isa ref) COMP_CWORD=3"), "reference\n");
  EXPECT_EQ(completed("COMP_WORDS=(sotto plan --shape gpt2-x) COMP_CWORD=3"), "gpt2-xl\n");
  EXPECT_EQ(completed("COMP_WORDS=(sotto completion f) COMP_CWORD=2"), "fish\n");
  EXPECT_EQ(completed("COMP_WORDS=(sotto generate --preset chat --pre) COMP_CWORD=4"), "--presence-penalty --preset\n");
}

TEST(Completion, OfBashCompletesModelFiles) {
  if (std::system("bash -c 'complete -p >/dev/null' 2>/dev/null") != 0) GTEST_SKIP() << "there is no bash";
  const TemporaryFolder folder;
  for (const char* name : {"a.sotto", "a.txt", "b.sotto"}) write_file(folder.file(name), "");
  const std::string begin = "cd " + shell_word(folder.file("")) + "; COMP_WORDS=(sotto ";
  EXPECT_EQ(completed(begin + "generate -m a) COMP_CWORD=3"), "a.sotto\n");
  EXPECT_EQ(completed(begin + "generate --draft '') COMP_CWORD=3"), "a.sotto b.sotto early-exit lookahead lookup\n");
  EXPECT_EQ(completed(begin + "inspect a) COMP_CWORD=2"), "a.sotto\n");
  // Values of other options are files of any name.
  EXPECT_EQ(completed(begin + "plan --json-schema a) COMP_CWORD=3"), "a.sotto a.txt\n");
  EXPECT_EQ(completed(begin + "generate -f a) COMP_CWORD=3"), "a.sotto a.txt\n");
}

TEST(Completion, HasAScriptForEachShell) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const Result result = run_sotto({"completion", shell});
    EXPECT_EQ(result.exit_code, 0) << shell;
    EXPECT_PRED2(contains, result.out, "repeat-penalty") << shell;
  }
  expect_refused(run_sotto({"completion", "csh"}), 2, "\"csh\" is not one of bash, zsh, fish");
}

}  // namespace
}  // namespace sotto::test
