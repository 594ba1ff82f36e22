// Tests `sotto chat` without a terminal. terminal_test.py tests it on one.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/cli/generate_support.h"

namespace sotto::test {
namespace {

using nlohmann::json;

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

Result chat(const std::string& input, const Words& words = {}) {
  Words all = {"-n", "12"};
  all.insert(all.end(), words.begin(), words.end());
  return run_on_demo("chat", all, input);
}

// Returns the events of a conversation with --json.
std::vector<json> events(const std::string& input, const Words& words = {}) {
  Words all = {"--json"};
  all.insert(all.end(), words.begin(), words.end());
  const Result result = chat(input, all);
  EXPECT_EQ(result.err, "");
  std::vector<json> list;
  size_t begin = 0;
  for (size_t end; (end = result.out.find('\n', begin)) != std::string::npos; begin = end + 1) {
    list.push_back(json::parse(result.out.substr(begin, end - begin)));
  }
  EXPECT_EQ(begin, result.out.size());
  return list;
}

// Returns the texts of one kind of event, or the whole events if they have none.
std::vector<json> of_kind(const std::vector<json>& list, const std::string& kind) {
  std::vector<json> found;
  for (const json& event : list) {
    if (event["event"] == kind) found.push_back(event.contains("text") ? event["text"] : event);
  }
  return found;
}

TEST(Chat, ReplyIsWhatGenerateWritesAfterTheSamePrompt) {
  const Result reply = chat("Who is there?\n", {"--greedy"});
  EXPECT_EQ(reply.exit_code, 0);
  EXPECT_EQ(reply.err, "");
  Words words = {"-p", "User: Who is there?\nAssistant:", "-n", "12", "--greedy", "-q", "--no-echo"};
  for (const char* stop : {"\"\\nUser:\"", "\"\\nUser: \""}) words.insert(words.end(), {"--stop", stop});
  std::string expected = run_on_demo("generate", words).out;
  expected.erase(0, expected.find_first_not_of(" \n"));
  EXPECT_EQ(reply.out, expected);
}

TEST(Chat, PiecesOfJsonEventsJoinToReplies) {
  const auto list = events("One.\n\nTwo.", {"--seed", "5"});
  std::string text, replies;
  for (const json& piece : of_kind(list, "piece")) text += piece.get<std::string>();
  const auto texts = of_kind(list, "reply");
  ASSERT_EQ(texts.size(), 2u);
  for (const json& reply : texts) replies += reply.get<std::string>();
  EXPECT_EQ(text, replies);
  const json& last = list.back();
  EXPECT_EQ(last["tokens"], 12);
  EXPECT_EQ(last["stop"], "max_tokens");
  EXPECT_LT(last["evaluated_tokens"], last["prompt_tokens"]) << "the first turn is evaluated again";
}

TEST(Chat, SavedConversationContinuesWithTheSameReply) {
  const TemporaryFolder folder;
  const std::string file = folder.file("talk");
  const auto whole = of_kind(events("One.\n/save " + file + "\nTwo.\n"), "reply");
  ASSERT_EQ(whole.size(), 2u);
  EXPECT_EQ(of_kind(events("Two.\n", {"--load", file}), "reply"), std::vector<json>{whole[1]});
  EXPECT_EQ(of_kind(events("Other.\n/load " + file + "\nTwo.\n"), "reply").back(), whole[1]);
  expect_refused(chat("", {"--load", file, "--format", "instruct"}), 1, file);
  write_file(file, "no conversation");
  expect_refused(chat("", {"--load", file}), 1, file);
  expect_refused(chat("", {"--load", folder.file("none")}), 1, "No such file");
}

TEST(Chat, UndoAndSystemChangeTheMessages) {
  const auto expected = of_kind(events("Two.\n"), "reply");
  EXPECT_EQ(of_kind(events("One.\n/undo\nTwo.\n"), "reply").back(), expected[0]);
  EXPECT_EQ(of_kind(events("/system Be kind.\n/system\nTwo.\n"), "reply"), expected);
  const auto kind = of_kind(events("Two.\n", {"--system", "Be kind."}), "reply");
  EXPECT_NE(kind, expected);
  EXPECT_EQ(of_kind(events("/system Be kind.\nTwo.\n"), "reply"), kind);
}

TEST(Chat, RegenerateUsesTheNextSeed) {
  const auto replies = of_kind(events("One.\n/regenerate\n", {"--seed", "7"}), "reply");
  ASSERT_EQ(replies.size(), 2u);
  EXPECT_NE(replies[0], replies[1]);
  EXPECT_EQ(of_kind(events("One.\n", {"--seed", "8"}), "reply"), std::vector<json>{replies[1]});
}

TEST(Chat, ParametersOfTheSamplerCanBeSet) {
  const auto expected = of_kind(events("One.\n", {"--temp", "0"}), "reply");
  EXPECT_EQ(of_kind(events("/temperature 0\nOne.\n"), "reply"), expected);
  EXPECT_EQ(of_kind(events("/set top_k 1\nOne.\n"), "reply"), expected);
  const auto list = events("/set temp 0.5\n/set top_p 3\n/set colour red\n/set seed\n/temperature warm\n/stats\n");
  const auto errors = of_kind(list, "error");
  ASSERT_EQ(errors.size(), 4u);
  EXPECT_EQ(errors[0], "top_p is 3; it must be greater than 0 and at most 1");
  EXPECT_EQ(errors[1], "unknown parameter: colour");
  EXPECT_EQ(errors[2], "/set needs a value: /set seed VALUE");
  EXPECT_PRED2(contains, errors[3].get<std::string>(), "temperature");
  EXPECT_EQ(list.back()["parameters"]["temperature"], 0.5);
  EXPECT_EQ(list.back()["messages"], 0);
}

// With only one token, every reply is a loop.
TEST(Chat, RepetitionEndsAReply) {
  const auto reply = [](const std::string& commands, const Words& more) {
    Words words = {"--allowed-tokens", "290", "--repetition-limit-window", "8"};
    words.insert(words.end(), more.begin(), more.end());
    return events(commands + "Say it.\n", words).back();
  };
  const json given = reply("", {"--repetition-limit", "0.7"});
  EXPECT_EQ(given["stop"], "repetition");
  EXPECT_LT(given["tokens"], 12);
  const json set = reply("/set repetition_limit 0.7\n", {"--repetition-limit", "1"});
  EXPECT_EQ(set["stop"], "repetition");
  EXPECT_EQ(set["tokens"], given["tokens"]);
  EXPECT_EQ(reply("/set repetition_limit 0\n", {"--repetition-limit", "0.7"})["stop"], "max_tokens");
  const auto list = events("/set repetition_limit 2\n/set repetition_limit 0.5\n/set guard_window 64\n/stats\n");
  EXPECT_EQ(of_kind(list, "error"), std::vector<json>{"repetition_limit is 2; it must be from 0 to 1"});
  EXPECT_EQ(list.back()["parameters"]["repetition_limit"], 0.5);
  EXPECT_EQ(list.back()["parameters"]["guard_window"], 64);
}

TEST(Chat, RepliesFollowTheGrammar) {
  const auto given = of_kind(events("Who?\nWho?\n", {"--regex", "(yes|no)!"}), "reply");
  for (const json& reply : given) EXPECT_TRUE(reply == "yes!" || reply == "no!") << reply;
  const auto list = events(
      "/grammar choices a,b\nWho?\n/regenerate\n/undo\n/grammar\nWho?\n/grammar json_object\n"
      "/grammar regex [\n/grammar x y\n/grammar gbnf\nWho?\n",
      {"--seed", "0"});
  const auto replies = of_kind(list, "reply");
  ASSERT_EQ(replies.size(), 4u);
  for (const json& reply : {replies[0], replies[1]}) EXPECT_TRUE(reply == "a" || reply == "b") << reply;
  EXPECT_NE(replies[2].get<std::string>().size(), 1u);
  EXPECT_TRUE(json::parse(replies[3].get<std::string>()).is_object()) << "12 tokens must suffice";
  const auto errors = of_kind(list, "error");
  ASSERT_EQ(errors.size(), 3u);
  EXPECT_PRED2(contains, errors[0].get<std::string>(), "regex:1:1: missing closing ]");
  EXPECT_PRED2(contains, errors[1].get<std::string>(), "/grammar: x is not one of gbnf, ");
  EXPECT_EQ(errors[2], "/grammar gbnf needs a source");
  expect_refused(chat("", {"--finish-within", "9"}), 2, "has no effect without a grammar");
}

TEST(Chat, RejectsCommandsAndMessagesAndGoesOn) {
  const Result result = chat("/regenarate\n/undo\n/exit now\n/save\n\xff\n/exit\nHello\n");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.out, "");
  EXPECT_PRED2(contains, result.err, "\"/regenarate\" is not a command; did you mean /regenerate?\n");
  EXPECT_PRED2(contains, result.err, "/undo: ");
  EXPECT_PRED2(contains, result.err, "/exit takes no argument\n");
  EXPECT_PRED2(contains, result.err, "/save needs an argument: /save FILE\n");
  EXPECT_PRED2(contains, result.err, "UTF-8");
}

TEST(Chat, MessageThatDoesNotFitIsRemoved) {
  std::string longest;
  for (int i = 0; i < 400; ++i) longest += "many words ";
  const auto list = events(longest + "\nTwo.\n");
  EXPECT_EQ(of_kind(list, "error").size(), 1u);
  EXPECT_EQ(of_kind(list, "reply"), of_kind(events("Two.\n"), "reply"));
}

TEST(Chat, RepliesStayWhenOldTurnsAreDropped) {
  std::string input;
  for (int i = 0; i < 12; ++i) input += "Go on.\n";
  const auto list = events(input + "/stats\n", {"--ctx", "64", "--reply-tokens", "16"});
  EXPECT_EQ(of_kind(list, "reply").size(), 12u);
  EXPECT_EQ(of_kind(list, "note").size(), 0u);
  const json& stats = list.back();
  EXPECT_GT(stats["dropped_turns"], 0);
  EXPECT_EQ(stats["messages"], 2 * stats["turns"].get<int>());
  EXPECT_EQ(stats["turns"].get<int>() + stats["dropped_turns"].get<int>(), 12);
}

TEST(Chat, LinesWithTwoSlashesAreMessages) {
  const TemporaryFolder folder;
  const std::string file = folder.file("talk");
  EXPECT_EQ(of_kind(events("//undo\n/save " + file + "\n"), "reply").size(), 1u);
  EXPECT_PRED2(contains, read_file(file), "/undo");
  EXPECT_FALSE(contains(read_file(file), "//undo"));
}

TEST(Chat, WrongUsageNamesTheOption) {
  expect_refused(run_sotto({"chat"}), 2, "--model");
  expect_refused(chat("", {"--format", "chatty"}), 2, "--format: \"chatty\" is neither one of plain, instruct");
  expect_refused(chat("", {"--format", "{user}{|}{user}"}), 1, "--format: ");
  expect_refused(chat("", {"--reply-tokens", "100000"}), 1, "--reply-tokens is 100000");
  expect_refused(chat("", {"-n", "-2"}), 2, "--max-tokens");
  expect_refused(chat("", {"--system", "\xff"}), 1, "--system: ");
}

TEST(Chat, CommandsAreInTheHelpAndTheManual) {
  for (const std::string& text : {run_sotto({"chat", "--help"}).out, chat("/help\n").err}) {
    for (const char* command : {"/help", "/system [TEXT]", "/set NAME VALUE", "/regenerate", "/stats", "/exit"}) {
      EXPECT_PRED2(contains, text, command);
    }
  }
  EXPECT_PRED2(contains, run_sotto({"help", "--man"}).out, ".SH sotto chat");
  EXPECT_PRED2(contains, run_sotto({"completion", "bash"}).out, "--history-bytes");
}

}  // namespace
}  // namespace sotto::test
