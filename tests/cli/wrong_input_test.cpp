// Tests wrong input: the message names it, the exit code is not zero, and standard output is empty.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "runtime/model/file_header.h"
#include "runtime/model/model_generated.h"
#include "tests/cli/program.h"
#include "tests/support/model_checksums.h"

namespace sotto::test {
namespace {

using Words = std::vector<std::string>;

enum { kFailure = 1, kUsage = 2 };

std::string demo_bytes() { return read_file(SOTTO_DEMO_MODEL); }

Result generate_from(const std::string& path) {
  return run_sotto({"generate", "-m", path, "--seed", "0", "-p", "Once", "-n", "4", "-q", "--no-echo"});
}

std::string with_checksums(std::string bytes) {
  repair_checksums({reinterpret_cast<uint8_t*>(bytes.data()), bytes.size()});
  return bytes;
}

TEST(WrongModel, MissingAndUnreadableFilesAreRejectedByName) {
  const TemporaryFolder folder;
  const std::string missing = folder.file("missing.sotto");
  expect_refused(generate_from(missing), kFailure, missing + ": No such file");
  expect_refused(run_sotto({"inspect", missing}), kFailure, missing);
  expect_refused(run_sotto({"tokenize", "-m", missing, "x"}), kFailure, missing);
  expect_refused(generate_from("/"), kFailure, "directory");
  expect_refused(generate_from("/dev/null"), kFailure, "not a regular file");
  write_file(folder.file("empty.sotto"), "");
  expect_refused(generate_from(folder.file("empty.sotto")), kFailure, "empty");
}

TEST(WrongModel, TruncationIsDetected) {
  const TemporaryFolder folder;
  const std::string bytes = demo_bytes();
  const std::string path = folder.file("truncated.sotto");
  for (const size_t size : {size_t{1}, size_t{8}, size_t{63}, size_t{64}, size_t{65}, bytes.size() / 2,
                            bytes.size() - 64, bytes.size() - 1}) {
    write_file(path, bytes.substr(0, size));
    expect_refused(generate_from(path), kFailure, path);
    expect_refused(run_sotto({"inspect", path}), kFailure, path);
  }
}

TEST(WrongModel, BitFlipsAreDetected) {
  const TemporaryFolder folder;
  const std::string bytes = demo_bytes();
  const std::string path = folder.file("flipped.sotto");
  const std::string text = generate_from(SOTTO_DEMO_MODEL).out;
  constexpr size_t kFlips = 96;
  size_t refused = 0;
  for (size_t i = 0; i < kFlips; ++i) {
    const size_t position = i < 32 ? i * 2 : i * (bytes.size() - 1) / (kFlips - 1);
    std::string flipped = bytes;
    flipped[position] = static_cast<char>(flipped[position] ^ 1 << i % 8);
    write_file(path, flipped);
    const Result result = generate_from(path);
    if (result.exit_code == 0) {
      EXPECT_EQ(result.out, text) << "byte " << position;  // padding between tensors
      continue;
    }
    expect_refused(result, kFailure, path);
    ++refused;
  }
  EXPECT_GE(refused, kFlips * 9 / 10);
}

TEST(WrongModel, InspectVerifiesTensorsOnRequest) {
  const TemporaryFolder folder;
  std::string bytes = demo_bytes();
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 4);
  const std::string path = folder.file("flipped.sotto");
  write_file(path, bytes);
  expect_refused(run_sotto({"inspect", "--verify", path}), kFailure, path);
}

TEST(WrongModel, InspectVerifiesTheVocabularyOnRequest) {
  const TemporaryFolder folder;
  std::string bytes = demo_bytes();
  const auto* arrays = format::GetModel(bytes.data() + sizeof(FileHeader))->vocabulary()->arrays();
  char& byte = bytes[arrays->offset() + 1];
  byte = static_cast<char>(byte ^ 4);
  const std::string path = folder.file("flipped.sotto");
  write_file(path, bytes);
  EXPECT_EQ(run_sotto({"inspect", path}).exit_code, 0);
  expect_refused(run_sotto({"inspect", "--verify", path}), kFailure, path + ": vocabulary section: ");
}

TEST(WrongModel, OtherFilesAreRejectedByName) {
  const TemporaryFolder folder;
  const std::string path = folder.file("other.sotto");
  write_file(path, std::string(100000, '\0'));
  expect_refused(generate_from(path), kFailure, path);
  write_file(path, "This is a text about models.\n");
  expect_refused(generate_from(path), kFailure, path);
  expect_refused(generate_from(SOTTO_CLI), kFailure, SOTTO_CLI);
}

TEST(WrongModel, HostileHeadersAreRejected) {
  const TemporaryFolder folder;
  const std::string bytes = demo_bytes();
  const std::string path = folder.file("hostile.sotto");
  const auto refuse = [&](auto change) {
    std::string changed = bytes;
    FileHeader header;
    std::memcpy(&header, changed.data(), sizeof header);
    change(header);
    std::memcpy(changed.data(), &header, sizeof header);
    write_file(path, with_checksums(changed));
    expect_refused(generate_from(path), kFailure, path);
  };
  refuse([](FileHeader& header) { header.version = 2; });
  refuse([](FileHeader& header) { header.version = 0; });
  refuse([](FileHeader& header) { header.file_size = UINT64_MAX; });
  refuse([](FileHeader& header) { header.file_size -= 1; });
  refuse([](FileHeader& header) { header.metadata_size = UINT64_MAX - 63; });
  refuse([](FileHeader& header) { header.metadata_size = 0; });
  refuse([](FileHeader& header) { header.metadata_size = 4; });
}

// Any metadata may be rejected or, if it is valid, run. It must not crash.
TEST(WrongModel, WrongMetadataWithRightChecksumsIsRejected) {
  const TemporaryFolder folder;
  const std::string bytes = demo_bytes();
  FileHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  const std::string path = folder.file("hostile.sotto");
  constexpr size_t kFiles = 64;
  size_t refused = 0;
  for (size_t i = 0; i < kFiles; ++i) {
    // One half of the changes is in the tables at the front, and the other half anywhere.
    const size_t size = i % 2 == 0 ? std::min<size_t>(header.metadata_size, 512) : header.metadata_size;
    std::string changed = bytes;
    const size_t position = sizeof header + i * (size - 4) / kFiles;
    std::memset(changed.data() + position, i % 3 == 0 ? 0xff : i % 3 == 1 ? 0x7f : 0, 4);
    write_file(path, with_checksums(changed));
    const Result result = generate_from(path);
    EXPECT_TRUE(result.exit_code == 0 || result.exit_code == kFailure) << "byte " << position;
    if (result.exit_code == kFailure) {
      expect_refused(result, kFailure, path);
      ++refused;
    }
  }
  EXPECT_GT(refused, kFiles / 4);
}

TEST(WrongText, InvalidUtf8IsRejectedWithItsPlace) {
  const std::string text = "It was \xff late";
  expect_refused(run_on_demo("generate", {"-p", text}), kFailure, "byte 7");
  expect_refused(run_on_demo("generate", {"-p", "-"}, text), kFailure, "standard input");
  expect_refused(run_on_demo("tokenize", {}, text), kFailure, "byte 7");
  expect_refused(run_on_demo("tokenize", {"cut \xe4\xbd"}), kFailure, "byte 4");
  const TemporaryFolder folder;
  write_file(folder.file("prompt.txt"), text);
  expect_refused(run_on_demo("generate", {"-f", folder.file("prompt.txt")}), kFailure, folder.file("prompt.txt"));
}

TEST(WrongText, MissingAndTooLongTextsAreRejected) {
  expect_refused(run_on_demo("generate", {"-f", "/nowhere/prompt.txt"}), kFailure, "/nowhere/prompt.txt: No such file");
  std::string text;
  for (int i = 0; i < 100; ++i) text += "again and again ";
  expect_refused(run_on_demo("generate", {"-p", text, "-c", "32", "--no-echo"}), kFailure,
                 "do not fit a context of 32");
}

TEST(WrongText, WrongTokenIdsAreRejected) {
  expect_refused(run_on_demo("tokenize", {"--decode", "12", "x3"}), kFailure, "x3");
  expect_refused(run_on_demo("tokenize", {"--decode", "99999999999"}), kFailure, "99999999999");
  expect_refused(run_on_demo("tokenize", {"--decode", "1000000"}), kFailure, "1000000");
  expect_refused(run_on_demo("tokenize", {"--decode"}, "-1"), kFailure, "-1");
}

// `redirections` are in the notation of a shell.
Result run_in_shell(const std::string& command, const std::string& redirections) {
  const std::string script = shell_word(SOTTO_CLI) + ' ' + command + ' ' + redirections;
  return Program("/bin/sh", {"-c", script}).wait();
}

const std::vector<std::string>& lines_commands() {
  static const std::vector<std::string> commands = {"tokenize --jsonl -m " + shell_word(SOTTO_DEMO_MODEL),
                                                    "grammar check --jsonl", "sample --jsonl"};
  return commands;
}

TEST(WrongText, UnreadableLinesAreRejected) {
  for (const std::string& command : lines_commands()) {
    expect_refused(run_in_shell(command, "</"), kFailure, "standard input: line 1: ");
  }
  expect_refused(run_sotto({"sample", "--jsonl", "/"}), kFailure, "/: line 1: ");
  expect_refused(run_sotto({"sample", "--jsonl", "/nowhere"}), kFailure, "/nowhere: No such file");
}

TEST(WrongText, EndlessLinesAreRejected) {
  expect_refused(run_in_shell("sample --jsonl", "</dev/zero"), kFailure, "standard input: line 1: longer than 256 MiB");
}

TEST(WrongParameters, OutOfRangeAreRejected) {
  const std::vector<Words> cases = {{"--temp", "-1"},
                                    {"--temp", "nan"},
                                    {"--temp", "101"},
                                    {"--top-p", "0"},
                                    {"--top-p", "1.5"},
                                    {"--min-p", "-0.1"},
                                    {"--min-p", "2"},
                                    {"--repeat-penalty", "0"},
                                    {"--repeat-penalty", "inf"},
                                    {"--ctx", "15"},
                                    {"--ctx", "1000000"},
                                    {"--batch", "5000"},
                                    {"--threads", "65"},
                                    {"--overflow", "ring", "--sink-tokens", "1000"}};
  for (const Words& words : cases) {
    Words all = {"-p", "Once"};
    all.insert(all.end(), words.begin(), words.end());
    SCOPED_TRACE(words[0] + ' ' + words[1]);
    expect_refused(run_on_demo("generate", all), kFailure, "sotto: ");
  }
}

TEST(WrongParameters, WrongUseNamesTheOption) {
  EXPECT_EQ(run_sotto({}).exit_code, kUsage);
  expect_refused(run_sotto({"sing"}), kUsage, "sing");
  expect_refused(run_sotto({"generate", "-p", "x"}), kUsage, "--model");
  expect_refused(run_on_demo("generate", {}), kUsage, "Give a prompt");
  expect_refused(run_on_demo("generate", {"-p", "x", "-f", "y"}), kUsage, "--file");
  expect_refused(run_on_demo("generate", {"-p", "x", "-n", "-2"}), kUsage, "--max-tokens");
  expect_refused(run_on_demo("generate", {"-p", "x", "--top-k", "-1"}), kUsage, "--top-k");
  expect_refused(run_on_demo("generate", {"-p", "x", "--temp", "warm"}), kUsage, "--temp");
  expect_refused(run_on_demo("generate", {"-p", "x", "--seed", "0x"}), kUsage, "--seed");
  expect_refused(run_on_demo("generate", {"-p", "x", "--isa", "mmx"}), kUsage, "--isa");
  expect_refused(run_on_demo("generate", {"-p", "x", "--overflow", "grow"}), kUsage, "--overflow");
  expect_refused(run_on_demo("generate", {"-p", "x", "--repeat-last-n", "-2"}), kUsage, "--repeat-last-n");
  expect_refused(run_on_demo("tokenize", {"--json", "--pieces", "x"}), kUsage, "--pieces");
  expect_refused(run_on_demo("tokenize", {"--parse-special", "--decode", "1"}), kUsage, "--parse-special");
  expect_refused(run_sotto({"inspect"}), kUsage, "MODEL");
}

TEST(WrongOutput, FullDisksAreReported) {
  if (std::FILE* full = std::fopen("/dev/full", "w")) {
    std::fclose(full);
  } else {
    GTEST_SKIP() << "this system has no /dev/full";
  }
  const std::string generate = "generate -q -p x -n 4 -m " + shell_word(SOTTO_DEMO_MODEL);
  expect_refused(run_in_shell(generate, ">/dev/full"), kFailure, "standard output");
  for (const std::string& command : lines_commands()) {
    expect_refused(run_in_shell(command, ">/dev/full <<line\n{}\nline"), kFailure, "standard output");
  }
}

TEST(WrongOutput, FilesBeyondTheLimitAreRemoved) {
  const TemporaryFolder folder;
  const std::string command = "ulimit -f 4 && " + shell_word(SOTTO_CLI) + " generate -q -p x -n 4 -m " +
                              shell_word(SOTTO_DEMO_MODEL) + " --save-state " + shell_word(folder.file("state"));
  const Result result = Program("/bin/sh", {"-c", command}).wait();
  EXPECT_EQ(result.exit_code, kFailure);
  EXPECT_NE(result.err.find("state: File too large"), std::string::npos) << result.err;
  EXPECT_TRUE(std::filesystem::is_empty(std::filesystem::path(folder.file("state")).parent_path()));
}

}  // namespace
}  // namespace sotto::test
