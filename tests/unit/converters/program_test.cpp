// Runs the program sotto-convert and checks its exit codes, messages, and summaries.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "runtime/model/file_header.h"
#include "tests/unit/converters/checkpoint_support.h"

namespace sotto {
namespace {

class ProgramTest : public testing::Test {
 protected:
  ProgramTest() { make_tiny_checkpoint().save(directory_.path()); }

  // Runs a script, fills err_ and returns the exit code.
  int shell(const std::string& script) {
    const int status = std::system(("cd '" + directory_.path().string() + "' && " + script).c_str());
    err_ = read_file(directory_ / "err");
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  // Runs the program with `arguments` in the notation of a shell and fills out_ and err_.
  int run(const std::string& arguments) {
    const int code = shell(SOTTO_CONVERT " " + arguments + " >out 2>err");
    out_ = read_file(directory_ / "out");
    return code;
  }
  void expect_failure(const std::string& arguments, int code, const std::string& part) {
    EXPECT_EQ(run(arguments), code) << arguments;
    EXPECT_EQ(out_, "");
    EXPECT_EQ(err_.rfind("sotto-convert: ", 0), 0u) << err_;
    EXPECT_PRED2(contains, err_, part);
  }

  // Saves a tokenizer, and a text that it can encode.
  void save_tokenizer() {
    write_bytes(directory_ / "vocab.json", R"({"a": 0, "b": 1})");
    write_bytes(directory_ / "merges.txt", "");
    write_bytes(directory_ / "text", std::string(20, 'a'));
  }

  TemporaryDirectory directory_;
  std::string out_;
  std::string err_;
};

TEST_F(ProgramTest, ConvertsAndPrintsASummary) {
  ASSERT_EQ(run(". -o m.sotto --name 'a name' --source 'a source'"), 0) << err_;
  EXPECT_PRED2(contains, out_, "layers.feed_forward_up          2  16 x 8");
  EXPECT_PRED2(contains, out_, "no tokenizer");
  EXPECT_PRED2(contains, read_file(directory_ / "m.sotto"), "a name");
  EXPECT_PRED2(contains, read_file(directory_ / "m.sotto"), "a source");

  ASSERT_EQ(run(". -o j.sotto --json"), 0) << err_;
  const auto json = nlohmann::json::parse(out_);
  EXPECT_EQ(json["file_size"], std::filesystem::file_size(directory_ / "j.sotto"));
  EXPECT_EQ(json["tensors"].size(), 15u);

  ASSERT_EQ(run(". -o q.sotto --quiet"), 0);
  EXPECT_EQ(out_ + err_, "");
  EXPECT_EQ(read_file(directory_ / "q.sotto"), read_file(directory_ / "j.sotto"));
}

TEST_F(ProgramTest, SimulatesQuantizationWithoutWritingAFile) {
  ASSERT_EQ(run(". --simulate"), 0) << err_;
  EXPECT_PRED2(contains, out_, "layers.feed_forward_up (2)      2  ");
  EXPECT_PRED2(contains, out_, "the largest 1% kept");
  ASSERT_EQ(run(". --simulate --json --keep 10"), 0) << err_;
  const auto simulated = nlohmann::json::parse(out_);
  EXPECT_EQ(simulated["kept_share"], 0.1);
  ASSERT_EQ(simulated["tensors"].size(), 9u);
  // The formats have the errors of a conversion.
  ASSERT_EQ(run(". --dry-run --calibrate none --json"), 0) << err_;
  const auto summary = nlohmann::json::parse(out_);
  size_t compared = 0;
  for (const auto& written : summary["tensors"]) {
    for (const auto& tensor : simulated["tensors"]) {
      if (tensor["name"] != written["name"]) continue;
      EXPECT_EQ(tensor["int8"]["signal_to_noise_db"], written["signal_to_noise_db"]);
      EXPECT_EQ(tensor["int8"]["mean_squared_error"], written["mean_squared_error"]);
      EXPECT_EQ(tensor["int8"]["largest_error"], written["largest_error"]);
      EXPECT_GE(tensor["widths"][0]["all"]["mean_squared_error"], tensor["widths"][0]["kept"]["mean_squared_error"]);
      ++compared;
    }
  }
  EXPECT_EQ(compared, 9u);
  EXPECT_FALSE(std::filesystem::exists(directory_ / "m.sotto"));
  expect_failure(". --simulate -o m.sotto", 2, "--simulate: cannot be combined with --output");
  expect_failure(". --simulate --keep 101", 2, "--keep: is 101; it must be from 0 to 100");
  expect_failure(". -o m.sotto --keep 1", 2, "--keep: has no effect without --simulate");
}

TEST_F(ProgramTest, HasAManualPageAndCompletions) {
  ASSERT_EQ(run("--man"), 0) << err_;
  for (const char* part : {".TH SOTTO\\-CONVERT 1 ", ".SH NAME\nsotto\\-convert \\- Converts a GPT\\-2 checkpoint",
                           ".SH OPTIONS\n", ".B \\-\\-calibrate TEXT\n", ".SS Shape of", "CHECKPOINT is a directory"}) {
    EXPECT_PRED2(contains, out_, part);
  }
  ASSERT_EQ(run("--version"), 0);
  EXPECT_EQ(out_.rfind("sotto-convert 1.", 0), 0u) << out_;
  for (const char* shell : {"bash", "zsh", "fish"}) {
    ASSERT_EQ(run(std::string("--completion ") + shell), 0) << err_;
    EXPECT_PRED2(contains, out_, std::string(shell) == "fish" ? "-l calibrate" : "--calibrate") << shell;
  }
  expect_failure("--completion csh", 2, "--completion: \"csh\" is not one of bash, zsh, fish");
  expect_failure("--completion", 2, "--completion: needs a value");
  if (shell("zsh -f -c true 2>err") == 0) {
    EXPECT_EQ(shell(SOTTO_CONVERT
                    " --completion zsh >script && zsh -f -c 'autoload -U compinit && compinit -u -D; "
                    ". ./script; setopt ksharrays; COMP_WORDS=(sotto-convert --cal) COMP_CWORD=1; _sotto_convert; "
                    "echo \"${COMPREPLY[*]}\"' >out 2>err"),
              0);
    EXPECT_PRED2(contains, read_file(directory_ / "out"), "--calibrate");
    EXPECT_EQ(err_, "");
  }
  if (shell("bash -c 'complete -p >/dev/null' 2>err") != 0) GTEST_SKIP() << "there is no bash";
  EXPECT_EQ(shell(SOTTO_CONVERT " --completion bash >script && echo 'COMP_WORDS=(sotto-convert --cal) COMP_CWORD=1; "
                                "_sotto_convert; echo \"${COMPREPLY[*]}\"' >>script && bash script >out 2>err"),
            0);
  EXPECT_EQ(read_file(directory_ / "out"), "--calibrate\n");
}

TEST_F(ProgramTest, AFileBeyondTheLimitOfFilesIsRemoved) {
  // The limit is in blocks of 512 bytes, and holds for the messages, too.
  EXPECT_EQ(shell("ulimit -f 4 && " SOTTO_CONVERT " . -o m.sotto 2>err"), 1);
  EXPECT_EQ(err_, "sotto-convert: m.sotto: cannot write: File too large\n");
  for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) {
    EXPECT_FALSE(contains(entry.path().string(), "m.sotto")) << entry.path();
  }
}

TEST_F(ProgramTest, ADryRunPrintsTheSizesOfTheRealFile) {
  for (const std::string options : {"", " --weights int4", " --pack native"}) {
    ASSERT_EQ(run(". --dry-run --json" + options), 0) << err_;
    const auto dry = nlohmann::json::parse(out_);
    ASSERT_EQ(run(". -o m.sotto --json" + options), 0) << err_;
    auto real = nlohmann::json::parse(out_);
    EXPECT_EQ(dry["output"], "dry run");
    real["output"] = "dry run";
    EXPECT_EQ(dry, real) << options;
    EXPECT_EQ(dry["file_size"], std::filesystem::file_size(directory_ / "m.sotto"));
    std::filesystem::remove(directory_ / "m.sotto");
  }
  ASSERT_EQ(run(". --dry-run --quiet"), 0);
  EXPECT_EQ(out_ + err_, "");
  expect_failure(". --dry-run -o m.sotto", 2, "cannot be combined with --output");
}

TEST_F(ProgramTest, ExportsAndVerifies) {
  ASSERT_EQ(run(". -o m.sotto"), 0) << err_;
  ASSERT_EQ(run(". --verify m.sotto"), 0) << err_;
  EXPECT_PRED2(contains, out_, "same most likely token at");
  EXPECT_PRED2(contains, out_, "the file holds the checkpoint's weights");

  ASSERT_EQ(run("m.sotto --export safetensors -o hf"), 0) << err_;
  ASSERT_EQ(run("m.sotto --export gguf -o m.gguf --name other"), 0) << err_;
  for (const char* exported : {"hf", "m.gguf"}) {
    EXPECT_EQ(run(exported + std::string(" --verify m.sotto")), 0) << out_ << err_;
    EXPECT_PRED2(contains, out_, "error of the logits 0.00%, same most likely token at 100%");
  }
  expect_failure("m.sotto --export safetensors -o hf", 1, "hf: exists and is not an empty directory; use --force");
  EXPECT_EQ(run("m.sotto --export safetensors -o hf --force"), 0) << err_;
  expect_failure("m.sotto -o n.sotto", 1, "m.sotto: is a .sotto file already; --export reads it");
  expect_failure("m.sotto --export onnx -o m.onnx", 2, "onnx");
  expect_failure("m.sotto --export gguf", 2, "--output");
  expect_failure(". --verify m.sotto --weights int4", 2, "cannot be combined with --weights");

  TinyCheckpoint other = make_tiny_checkpoint();
  for (char& byte : other.tensors.at("transformer.wte.weight").bytes) byte = static_cast<char>(byte ^ 0x80);
  other.save(directory_.path());
  EXPECT_EQ(run(". --verify m.sotto"), 1);
  EXPECT_PRED2(contains, out_, "the file does not hold the checkpoint's weights");
  other.config["activation_function"] = "gelu";
  other.save(directory_.path());
  EXPECT_EQ(run(". --verify m.sotto"), 1);
  EXPECT_PRED2(contains, out_, "the activation is gelu_new in the file, gelu in the checkpoint");
}

TEST_F(ProgramTest, MakesSyntheticModels) {
  const std::string shape = "--synthetic custom --layers 1 --embedding 8 --heads 2 --positions 4 --vocabulary-size 5";
  ASSERT_EQ(run(shape + " --json -o a.sotto"), 0) << err_;
  EXPECT_EQ(nlohmann::json::parse(out_)["shape"]["feed_forward_size"], 32);
  ASSERT_EQ(run(shape + " --seed 1 -o b.sotto"), 0) << err_;
  EXPECT_NE(read_file(directory_ / "a.sotto"), read_file(directory_ / "b.sotto"));
  expect_failure(shape + " --heads 3 -o c.sotto", 2, "--heads");
  expect_failure("--synthetic gpt2 --layers 3 -o c.sotto", 2, "requires --synthetic custom");
  expect_failure("--synthetic custom --layers 3 -o c.sotto", 2, "needs --vocabulary-size");
  expect_failure("--synthetic gpt3 -o c.sotto", 2, "gpt3");
  expect_failure(". --synthetic gpt2 -o c.sotto", 2, "cannot be combined with");
}

TEST_F(ProgramTest, ExplainsWrongUsageAndInput) {
  expect_failure("", 2, "CHECKPOINT or --synthetic is required");
  expect_failure(".", 2, "--output, --dry-run, --simulate, --evaluate, --compare or --verify is required");
  expect_failure(". -o m.sotto --pack mmx", 2, "mmx");
  expect_failure(". -o m.sotto --nonsense", 2, "--nonsense");
  expect_failure(". -o ''", 2, "--output: the name of the file is empty");
  expect_failure(". -o m.sotto --quiet --json", 2, "cannot be combined with");
  for (const char* option : {"-o m.sotto", "--pack none", "--name x", "--force", "--quiet"}) {
    expect_failure(". --evaluate text " + std::string(option), 2, "cannot be combined with");
  }
  expect_failure("absent -o m.sotto", 1, "absent: no such file or directory");
  expect_failure(". -o absent/m.sotto", 1, "sotto-convert: absent/m.sotto: cannot create");
  expect_failure(". --vocab . -o m.sotto", 1, "contains no tokenizer");
  EXPECT_FALSE(std::filesystem::exists(directory_ / "m.sotto"));
  EXPECT_EQ(run("--help"), 0);
  EXPECT_PRED2(contains, out_, "Examples:");
}

TEST_F(ProgramTest, SaysHowToConvertOtherFormats) {
  write_bytes(directory_ / "gpt2.onnx", "ONNX");
  expect_failure("gpt2.onnx -o m.sotto", 1, "gpt2.onnx is an ONNX file: convert the checkpoint that it was made from");
  std::filesystem::rename(directory_ / "model.safetensors", directory_ / "flax_model.msgpack");
  expect_failure(". -o m.sotto", 1, "save_pretrained(NEW_DIR, safe_serialization=True)");
  write_bytes(directory_ / "checkpoint_0.mdl", "\x89HDF\r\n\x1a\n");
  expect_failure("checkpoint_0.mdl -o m.sotto", 1,
                 "checkpoint_0.mdl is a checkpoint of Cerebras ModelZoo: convert it with ModelZoo's");
  std::filesystem::create_directory(directory_ / "iter_0000007");
  write_bytes(directory_ / "iter_0000007/__0_0.distcp", "PK\3\4");
  write_bytes(directory_ / "iter_0000007/common.pt", "PK\3\4");
  expect_failure(
      "iter_0000007 -o m.sotto", 1,
      "__0_0.distcp is a distributed checkpoint: convert it in Megatron-LM with --ckpt-convert-format torch");
}

TEST_F(ProgramTest, AFileNamesTheCheckpointOfItsDirectory) {
  save_tokenizer();
  ASSERT_EQ(run(". -o a.sotto"), 0) << err_;
  ASSERT_EQ(run("model.safetensors -o b.sotto"), 0) << err_;
  EXPECT_EQ(read_file(directory_ / "a.sotto"), read_file(directory_ / "b.sotto"));
  std::filesystem::remove(directory_ / "config.json");
  expect_failure("model.safetensors -o m.sotto", 1, "config.json is missing next to it");
}

TEST_F(ProgramTest, AdaptersAreNamedWithTheirScale) {
  expect_failure(". -o m.sotto --lora absent", 1, "absent/adapter_config.json: cannot open");
  expect_failure(". -o m.sotto --lora absent:0.5", 1, "absent/adapter_config.json: cannot open");
  expect_failure(". -o m.sotto --lora absent:0.5x", 1, "absent:0.5x/adapter_config.json: cannot open");
  expect_failure(". -o m.sotto --lora absent:inf", 2, "--lora: the scale of \"absent\" is inf; it must be finite");
  expect_failure("--synthetic gpt2 --lora absent -o c.sotto", 2, "cannot be combined with");
}

TEST_F(ProgramTest, TheActivationCanBeGiven) {
  ASSERT_EQ(run(". -o m.sotto --json --activation gelu"), 0) << err_;
  EXPECT_EQ(nlohmann::json::parse(out_)["activation"], "gelu");
  expect_failure(". -o m.sotto --activation glu", 2, "\"glu\" is not one of gelu_new, gelu_pytorch_tanh");
  expect_failure("--synthetic gpt2 --activation gelu -o c.sotto", 2, "cannot be combined with");
}

TEST_F(ProgramTest, RejectsPipesWithoutWaiting) {
  for (const char* name : {"model.safetensors", "config.json", "tokenizer.json"}) {
    make_tiny_checkpoint().save(directory_.path());
    std::filesystem::remove(directory_ / name);
    ASSERT_EQ(mkfifo((directory_ / name).c_str(), 0600), 0);
    expect_failure(". -o m.sotto", 1, std::string(name) + ": not a regular file");
    std::filesystem::remove(directory_ / name);
  }
}

TEST_F(ProgramTest, ASignalEndsItWhileItWaits) {
  const std::string pipe = directory_ / "full";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const int reader = open(pipe.c_str(), O_RDWR | O_NONBLOCK);
  while (write(reader, "", 1) == 1) {
  }
  EXPECT_EQ(shell("{ " SOTTO_CONVERT " . -o m.sotto >full 2>err & "
                  "until [ -e m.sotto ]; do sleep 0.1; done; kill $!; wait $!; }"),
            1);
  close(reader);
  EXPECT_PRED2(contains, err_, "standard output: ");
}

TEST_F(ProgramTest, ReportsOutputThatCannotBeWritten) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "this system has no /dev/full";
  save_tokenizer();
  for (const char* arguments : {"-o m.sotto", "-o m.sotto --json", "--evaluate text"}) {
    EXPECT_EQ(shell(SOTTO_CONVERT " . " + std::string(arguments) + " >/dev/full 2>err"), 1);
    EXPECT_PRED2(contains, err_, "standard output: ") << arguments;
  }
}

TEST_F(ProgramTest, RejectsEvaluationsWithoutPredictions) {
  save_tokenizer();
  ASSERT_EQ(run(". --evaluate text --json"), 0) << err_;
  EXPECT_EQ(nlohmann::json::parse(out_)["window_tokens"], 6);
  TinyCheckpoint tiny = make_tiny_checkpoint();
  tiny.config["n_positions"] = 1;
  RawTensor& positions = tiny.tensors.at("transformer.wpe.weight");
  positions.shape[0] = 1;
  positions.bytes.resize(positions.bytes.size() / 6);
  tiny.save(directory_.path());
  expect_failure(". --evaluate text", 1, "must have at least 2 positions");
}

TEST_F(ProgramTest, ComparesWidthsAndCalibrations) {
  save_tokenizer();
  ASSERT_EQ(run(". --compare text --json --windows 1"), 0) << err_;
  const auto json = nlohmann::json::parse(out_);
  EXPECT_EQ(json["windows"], 1);
  for (const std::string calibration : {"none", "outliers", "model"}) {
    ASSERT_EQ(run(". -o m.sotto --calibrate " + calibration), 0) << err_;
    const auto& figures = json.at("int8, " + calibration);
    EXPECT_EQ(figures["bytes"], std::filesystem::file_size(directory_ / "m.sotto"));
    EXPECT_GT(figures["lowest_snr_db"], 30);
    EXPECT_LT(figures["mean_kl"], 0.01);
    EXPECT_TRUE(json.contains("int4, head int4, " + calibration));
  }
  ASSERT_EQ(run(". --compare text --calibrate text"), 0) << err_;
  EXPECT_PRED2(contains, out_, "\nint4, text  ");
  expect_failure(". --compare text --weights int4", 2, "cannot be combined with --weights");
}

TEST_F(ProgramTest, DrawsTheReport) {
  ASSERT_EQ(run(". --dry-run --report r.svg --json"), 0) << err_;
  const std::string svg = read_file(directory_ / "r.svg");
  EXPECT_PRED2(contains, svg, "<title>layers.1.feed_forward_down: ");
  EXPECT_PRED2(contains, svg, "<title>token_embedding: ");
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  expect_failure(". --evaluate text --report r.svg", 2, "cannot be combined with");
}

TEST_F(ProgramTest, ReplacesOtherFilesOnlyOnRequest) {
  expect_failure(". -o model.safetensors", 1, "exists and is not a .sotto file");
  expect_failure(". -o .", 1, "is not a regular file");
  ASSERT_EQ(run(". -o m.sotto"), 0) << err_;
  ASSERT_EQ(run(". -o m.sotto --name other"), 0) << err_;
  EXPECT_PRED2(contains, read_file(directory_ / "m.sotto"), "other");
  write_bytes(directory_ / "m.sotto", "something else");
  expect_failure(". -o m.sotto", 1, "use --force to replace it");
  EXPECT_EQ(run(". -o m.sotto --force"), 0) << err_;
}

TEST_F(ProgramTest, PrintsNotesAboutIgnoredInput) {
  TinyCheckpoint tiny = make_tiny_checkpoint();
  tiny.config["eos_token_id"] = 50256;
  tiny.save(directory_.path());
  ASSERT_EQ(run(". -o m.sotto"), 0);
  EXPECT_PRED2(contains, err_, "note: the end-of-text token 50256 is outside the vocabulary");
  save_tokenizer();
  write_bytes(directory_ / "special_tokens_map.json", R"({"pad_token": "a"})");
  ASSERT_EQ(run(". -o m.sotto"), 0);
  EXPECT_PRED2(contains, err_, "note: token \"a\" of one byte stays text");
}

}  // namespace
}  // namespace sotto
