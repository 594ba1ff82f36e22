// The program sotto-convert from outside: exit codes, messages, summaries.
#include <sys/wait.h>

#include <cstdlib>

#include "runtime/model/file_header.h"
#include "tests/unit/converters/checkpoint_support.h"

namespace sotto {
namespace {

class ProgramTest : public testing::Test {
 protected:
  ProgramTest() { make_tiny_checkpoint().save(directory_.path()); }

  // `arguments` as a shell takes them; fills out_ and err_.
  int run(const std::string& arguments) {
    const std::string command = "cd '" + directory_.path().string() + "' && " SOTTO_CONVERT
                                " " + arguments + " >out 2>err";
    const int status = std::system(command.c_str());
    out_ = read_bytes(directory_ / "out");
    err_ = read_bytes(directory_ / "err");
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  void expect_failure(const std::string& arguments, int code, const std::string& part) {
    EXPECT_EQ(run(arguments), code) << arguments;
    EXPECT_EQ(out_, "");
    EXPECT_EQ(err_.rfind("sotto-convert: ", 0), 0u) << err_;
    EXPECT_PRED2(contains, err_, part);
  }

  TemporaryDirectory directory_;
  std::string out_;
  std::string err_;
};

TEST_F(ProgramTest, ConvertsAndPrintsASummary) {
  ASSERT_EQ(run(". -o m.sotto --name 'a name'"), 0) << err_;
  EXPECT_PRED2(contains, out_, "layers.feed_forward_up          2  16 x 8");
  EXPECT_PRED2(contains, out_, "no tokenizer");
  EXPECT_PRED2(contains, read_bytes(directory_ / "m.sotto"), "a name");

  ASSERT_EQ(run(". -o j.sotto --json"), 0) << err_;
  const auto json = nlohmann::json::parse(out_);
  EXPECT_EQ(json["file_size"], std::filesystem::file_size(directory_ / "j.sotto"));
  EXPECT_EQ(json["tensors"].size(), 15u);

  ASSERT_EQ(run(". -o q.sotto --quiet"), 0);
  EXPECT_EQ(out_ + err_, "");
  EXPECT_EQ(read_bytes(directory_ / "q.sotto"), read_bytes(directory_ / "j.sotto"));
}

TEST_F(ProgramTest, MakesSyntheticModels) {
  const std::string shape =
      "--synthetic custom --layers 1 --embedding 8 --heads 2 --positions 4 --vocabulary-size 5";
  ASSERT_EQ(run(shape + " --json -o a.sotto"), 0) << err_;
  EXPECT_EQ(nlohmann::json::parse(out_)["shape"]["feed_forward_size"], 32);
  ASSERT_EQ(run(shape + " --seed 1 -o b.sotto"), 0) << err_;
  EXPECT_NE(read_bytes(directory_ / "a.sotto"), read_bytes(directory_ / "b.sotto"));
  expect_failure(shape + " --heads 3 -o c.sotto", 2, "--heads");
  expect_failure("--synthetic gpt2 --layers 3 -o c.sotto", 2, "is only for --synthetic custom");
  expect_failure("--synthetic custom --layers 3 -o c.sotto", 2, "needs --vocabulary-size");
  expect_failure("--synthetic gpt3 -o c.sotto", 2, "gpt3");
  expect_failure(". --synthetic gpt2 -o c.sotto", 2, "excludes");
}

TEST_F(ProgramTest, ExplainsWrongUsageAndInput) {
  expect_failure("", 2, "CHECKPOINT or --synthetic is required");
  expect_failure(".", 2, "--output or --evaluate is required");
  expect_failure(". -o m.sotto --pack mmx", 2, "mmx");
  expect_failure(". -o m.sotto --nonsense", 2, "--nonsense");
  expect_failure("absent -o m.sotto", 1, "absent: not a directory");
  expect_failure(". -o absent/m.sotto", 1, "cannot create");
  expect_failure(". --vocab . -o m.sotto", 1, "no tokenizer here");
  EXPECT_FALSE(std::filesystem::exists(directory_ / "m.sotto"));
  EXPECT_EQ(run("--help"), 0);
  EXPECT_PRED2(contains, out_, "Examples:");
}

TEST_F(ProgramTest, ReplacesOnlyModelFilesUnasked) {
  expect_failure(". -o model.safetensors", 1, "exists and is no .sotto file");
  expect_failure(". -o .", 1, "is not a regular file");
  ASSERT_EQ(run(". -o m.sotto"), 0) << err_;
  ASSERT_EQ(run(". -o m.sotto --name other"), 0) << err_;
  EXPECT_PRED2(contains, read_bytes(directory_ / "m.sotto"), "other");
  write_bytes(directory_ / "m.sotto", "something else");
  expect_failure(". -o m.sotto", 1, "--force replaces it");
  EXPECT_EQ(run(". -o m.sotto --force"), 0) << err_;
}

TEST_F(ProgramTest, NotesWhatItLeavesOut) {
  TinyCheckpoint tiny = make_tiny_checkpoint();
  tiny.config["eos_token_id"] = 50256;
  tiny.save(directory_.path());
  ASSERT_EQ(run(". -o m.sotto"), 0);
  EXPECT_PRED2(contains, err_, "note: the end-of-text token 50256 is outside the vocabulary");
}

}  // namespace
}  // namespace sotto
