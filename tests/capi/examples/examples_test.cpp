// Tests the programs of capi/examples, compiled with a plain C compiler against the shared library, as a user would
// compile them, and run on the demo model.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/program.h"

namespace sotto::test {
namespace {

const std::string kPrompt = "Once upon a time";

// In sanitizer builds leaks are not reported, because the programs leave their memory to the system when they end.
Result shell(const std::string& command) {
  return Program("/bin/sh", {"-c", "ASAN_OPTIONS=detect_leaks=0 " + command}).wait();
}

// Compiles capi/examples/NAME.c to `program`.
Result compile(const std::string& name, const std::string& program) {
  const std::string root = SOTTO_SOURCE_DIR;
  const std::string library = SOTTO_LIBRARY_DIR;
  return shell(shell_word(SOTTO_C_COMPILER) + ' ' + SOTTO_C_FLAGS + " -std=c11 -Wall -Wextra -Wpedantic -Werror -I" +
               shell_word(root + "/capi/include") + ' ' + shell_word(root + "/capi/examples/" + name + ".c") + " -L" +
               shell_word(library) + " -lsotto -Wl,-rpath," + shell_word(library) + " -o " + shell_word(program));
}

std::string arguments(const std::string& model) { return ' ' + shell_word(model) + ' ' + shell_word(kPrompt); }

TEST(Examples, GenerateStreamsWhatTheCommandLineDoes) {
  const TemporaryFolder folder;
  const std::string program = folder.file("generate");
  const Result compiled = compile("generate", program);
  ASSERT_EQ(compiled.exit_code, 0) << compiled.err;
  const Result result = shell(shell_word(program) + arguments(SOTTO_DEMO_MODEL));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const Result expected = run_on_demo("generate", {"-p", kPrompt, "-n", "100", "--no-echo", "--quiet"});
  EXPECT_GT(expected.out.size(), 100u);
  EXPECT_EQ(result.out, expected.out);

  write_file(folder.file("no.sotto"), "This is not a model.");
  const Result refused = shell(shell_word(program) + arguments(folder.file("no.sotto")));
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_NE(refused.err, "");
}

TEST(Examples, StaticArenaIsLargeEnough) {
  const TemporaryFolder folder;
  const std::string program = folder.file("static_arena");
  const Result compiled = compile("static_arena", program);
  ASSERT_EQ(compiled.exit_code, 0) << compiled.err;
  const Result result = shell(shell_word(program) + arguments(SOTTO_DEMO_MODEL));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const Result expected = run_on_demo("generate", {"-p", kPrompt, "-n", "400", "--ctx", "256", "--batch", "16",
                                                   "--overflow", "ring", "--no-echo", "--quiet"});
  EXPECT_EQ(result.out.rfind(expected.out, 0), 0u) << result.out << expected.out;
  EXPECT_NE(result.out.find(" bytes for the model, "), std::string::npos);
}

TEST(Examples, JsonOutputIsOfItsSchema) {
  const TemporaryFolder folder;
  const std::string program = folder.file("json_output");
  const Result compiled = compile("json_output", program);
  ASSERT_EQ(compiled.exit_code, 0) << compiled.err;
  const Result result = shell(shell_word(program) + arguments(SOTTO_DEMO_MODEL));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const auto value = nlohmann::json::parse(result.out, nullptr, false);
  ASSERT_TRUE(value.is_object()) << result.out;
  EXPECT_EQ(value.size(), 2u) << result.out;
  EXPECT_TRUE(value.contains("name") && value["name"].is_string()) << result.out;
  ASSERT_TRUE(value.contains("age") && value["age"].is_number_integer()) << result.out;
  EXPECT_LE(value["age"].get<int>(), 120);
}

}  // namespace
}  // namespace sotto::test
