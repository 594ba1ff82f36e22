// Runs sotto-bench on a tiny model and checks its output and its errors. No test depends on the speed of the machine.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

namespace sotto::bench {
namespace {

struct Result {
  int exit_code;
  std::string out;
  std::string err;
};

class Folder {
 public:
  Folder() : path_(testing::TempDir() + "sotto-bench-test-XXXXXX") {
    if (mkdtemp(path_.data()) == nullptr) throw std::runtime_error("no temporary folder");
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string file(const std::string& name) const { return path_ + '/' + name; }

 private:
  std::string path_;
};

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// `arguments` are in the notation of a shell.
Result run_bench(const std::string& arguments) {
  const Folder folder;
  const std::string command =
      std::string("'" SOTTO_BENCH "' ") + arguments + " >'" + folder.file("out") + "' 2>'" + folder.file("err") + "'";
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, contents(folder.file("out")), contents(folder.file("err"))};
}

nlohmann::json json_of(const std::string& arguments) {
  const Result result = run_bench(arguments + " --json");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  return nlohmann::json::parse(result.out);
}

void expect_sound(const nlohmann::json& summary, size_t runs) {
  EXPECT_EQ(summary.at("samples").size(), runs) << summary;
  EXPECT_GT(summary.at("min").get<double>(), 0) << summary;
  EXPECT_LE(summary.at("min"), summary.at("median")) << summary;
  EXPECT_LE(summary.at("median"), summary.at("max")) << summary;
}

void expect_refused(const std::string& arguments, int exit_code, const std::string& part) {
  const Result result = run_bench(arguments);
  EXPECT_EQ(result.exit_code, exit_code) << arguments << '\n' << result.err;
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err.rfind("sotto-bench: ", 0), 0u) << result.err;
  EXPECT_NE(result.err.find(part), std::string::npos) << result.err << "lacks: " << part;
}

bool has_tiles(const nlohmann::json& report) { return report.at("settings").at("isa") == "avx512amx"; }

TEST(Program, MeasuresEverythingOnce) {
  const auto json = json_of("-m synthetic-tiny --runs 1 --threads 2");
  EXPECT_EQ(json.at("program"), "sotto-bench");
  for (const char* key :
       {"cpu", "architecture", "system", "cores", "page_size", "transparent_huge_pages", "pages", "load_average"}) {
    EXPECT_TRUE(json.at("machine").contains(key)) << key;
  }
  EXPECT_EQ(json.at("model").at("name"), "synthetic-tiny");
  EXPECT_EQ(json.at("model").at("layer_count"), 2);
  EXPECT_FALSE(json.at("model").at("packed_in_place"));  // copied to huge pages
  EXPECT_GT(json.at("model").at("weight_bytes"), 0);
  EXPECT_GT(json.at("model").at("kv_bytes"), 0);
  EXPECT_EQ(json.at("settings").at("runs"), 1);
  // 512 does not fit 128 positions.
  EXPECT_EQ(json.at("settings").at("contexts"), nlohmann::json::array({0}));
  EXPECT_EQ(json.at("settings").at("prompt_lengths"), nlohmann::json::array({32, 128}));

  std::map<std::string, size_t> counts;
  for (const auto& figure : json.at("figures")) {
    ++counts[figure.at("name").get<std::string>()];
    expect_sound(figure, 1);
    EXPECT_FALSE(figure.at("unit").get<std::string>().empty());
    EXPECT_TRUE(figure.at("better") == "higher" || figure.at("better") == "lower");
    ASSERT_TRUE(figure.contains("ratio"));
    EXPECT_FALSE(figure.contains("peer"));
    if (figure.at("limit").is_null()) continue;
    expect_sound(figure.at("limit"), 1);
    EXPECT_GT(figure.at("ratio").get<double>(), 0);
  }
  counts.erase("library_size");  // only next to a shared library
  EXPECT_EQ(counts, (std::map<std::string, size_t>{{"decode", 2},
                                                   {"prefill", 4},
                                                   {"decode_contended", 1},
                                                   {"first_token", 1},
                                                   {"process_first_token", 3},
                                                   {"model_ready", 3},
                                                   {"process_start", 1},
                                                   {"session_ready", 1},
                                                   {"process_peak_memory", 3},
                                                   {"batch", 4},
                                                   {"search", 2},
                                                   {"sample", 94},
                                                   {"tokenize", 1},
                                                   {"detokenize", 1}}));
  std::set<std::string> limits;
  for (const auto& limit : json.at("limits")) {
    limits.insert(limit.at("name").get<std::string>());
    expect_sound(limit, 1);
  }
  std::set<std::string> expected = {"memory_read/1t", "memory_read/2t", "int8_dot/1t", "int8_dot/2t"};
  if (has_tiles(json)) expected.insert({"int8_tiles/1t", "int8_tiles/2t"});
  EXPECT_EQ(limits, expected);
}

TEST(Program, HasALimitForWhatComputesOrReads) {
  const auto json = json_of("-m synthetic-tiny --runs 1 --contexts 100 --prompt-lengths 3 --pages small");
  EXPECT_EQ(json.at("machine").at("pages"), "small");
  EXPECT_TRUE(json.at("model").at("packed_in_place"));
  for (const auto& figure : json.at("figures")) {
    const std::string name = figure.at("name");
    if (name == "decode") {
      EXPECT_EQ(figure.at("parameters").at("context"), 100);
      EXPECT_EQ(figure.at("limit").at("name"), "memory_read");
    } else if (name == "prefill" || name == "first_token" || name == "process_first_token") {
      EXPECT_EQ(figure.at("limit").at("name"), has_tiles(json) ? "int8_tiles" : "int8_dot");
    } else if (name == "process_peak_memory") {
      EXPECT_EQ(figure.at("limit").at("name"), "weights_and_kv");
      EXPECT_LT(figure.at("ratio"), 1);  // a process has more memory than weights
    } else {
      EXPECT_TRUE(figure.at("limit").is_null()) << name;
    }
  }
}

TEST(Program, MeasuresKernels) {
  const auto json = json_of("-m synthetic-tiny --runs 1 --micro");
  std::set<std::string> isas, kernels;
  for (const auto& figure : json.at("figures")) {
    EXPECT_EQ(figure.at("name"), "micro");
    expect_sound(figure, 1);
    isas.insert(figure.at("parameters").at("isa").get<std::string>());
    const std::string kernel = figure.at("parameters").at("kernel");
    kernels.insert(kernel);
    EXPECT_EQ(figure.at("limit").is_null(), kernel.rfind("linear ", 0) != 0) << kernel;
  }
  EXPECT_TRUE(isas.count("reference"));
  EXPECT_TRUE(isas.count(json.at("settings").at("isa").get<std::string>()));
  for (const char* kernel :
       {"layer_norm", "gelu_tanh", "gelu_erf", "add", "embed", "quantize_row, embedding", "quantize_row, feed_forward",
        "quantize_symmetric, head", "max, vocabulary", "argmax, vocabulary", "exp_shifted, vocabulary",
        "exp_weights, vocabulary", "keep_from, vocabulary", "sum_and_collect, vocabulary", "attention, 1 slots",
        "attention, 64 slots", "linear qkv, batch 1", "linear down, batch 128", "linear head, batch 10"}) {
    EXPECT_TRUE(kernels.count(kernel)) << kernel;
  }
}

TEST(Program, MeasuresGrammars) {
  const Folder folder;
  const std::string directory = folder.file("grammars");
  std::filesystem::create_directory(directory);
  std::ofstream(directory + "/one.gbnf") << "root ::= \"a\" root | [b-d]";
  std::ofstream(directory + "/two.gbnf") << "not a grammar";
  std::ofstream(directory + "/three.json")
      << R"({"schema": {"type": "integer"}, "tests": [{"valid": true, "data": 12}]})";
  const auto json = json_of("-m synthetic-tiny --runs 1 --grammar '" + directory + "'");
  std::set<std::string> figures, grammars;
  for (const auto& figure : json.at("figures")) {
    figures.insert(figure.at("name").get<std::string>());
    grammars.insert(figure.at("parameters").at("grammar").get<std::string>());
    expect_sound(figure, 1);
    EXPECT_TRUE(figure.at("limit").is_null());
  }
  EXPECT_EQ(figures, (std::set<std::string>{"mask", "mask_copy", "mask_warm", "mask_search", "accept", "compile",
                                            "grammar_memory", "matcher_memory"}));
  EXPECT_EQ(grammars, (std::set<std::string>{"json.gbnf", "any JSON", "arithmetic", "person", "tree", "tools",
                                             "log line", "GBNF files", "schema files"}));
  EXPECT_TRUE(json.at("settings").at("grammar"));
}

TEST(Program, PrintsATable) {
  const Result result = run_bench("-m synthetic-tiny --runs 1 --isa reference");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(result.out.rfind("synthetic-tiny, reference, 1 thread(s), 1 runs, sotto ", 0), 0u) << result.out;
  for (const char* part : {"of limit", "decode, context 0, threads 1", "prefill, prompt tokens 32",
                           "limit memory_read/1t", "sample, greedy"}) {
    EXPECT_NE(result.out.find(part), std::string::npos) << part << " is not in\n" << result.out;
  }
}

TEST(Program, ReportsSpeedAndLimitsOnly) {
  const auto json = json_of("-m synthetic-tiny --runs 1 --report");
  std::map<std::string, size_t> counts;
  for (const auto& figure : json.at("figures")) ++counts[figure.at("name").get<std::string>()];
  EXPECT_EQ(counts, (std::map<std::string, size_t>{{"decode", 1}, {"prefill", 2}}));
  EXPECT_EQ(json.at("limits").size(), has_tiles(json) ? 3u : 2u);
  EXPECT_TRUE(json.at("settings").at("report"));
  expect_refused("-m synthetic-tiny --report --micro", 2, "--report: cannot be combined with --micro");
}

TEST(Program, KeepsASyntheticModelForLaterRuns) {
  const Folder folder;
  const std::string kept = folder.file("kept.sotto");
  json_of("-m synthetic-tiny --runs 1 --keep '" + kept + "'");
  const auto json = json_of("--runs 1 -m '" + kept + "'");
  EXPECT_EQ(json.at("model").at("name"), kept);
  EXPECT_EQ(json.at("model").at("vocabulary_size"), 512);
}

TEST(Program, RejectsWrongUsage) {
  expect_refused("", 2, "--model is required");
  expect_refused("-m synthetic-gpt5", 2, "gpt2-124M");
  expect_refused("-m synthetic-tiny --runs 0", 2, "--runs");
  expect_refused("-m synthetic-tiny --threads x", 2, "--threads");
  expect_refused("-m synthetic-tiny --pages medium", 2, "--pages");
  expect_refused("-m synthetic-tiny --isa avx3", 2, "avx3");
  expect_refused("-m model.sotto --keep x", 2, "--keep");
  expect_refused("-m synthetic-tiny --prompt-lengths 0", 2, "--prompt-lengths");
  expect_refused("-m synthetic-tiny --grammar --micro", 2, "--micro");
  expect_refused("--peers no/such/folder", 2, "--peers");
  expect_refused("-m synthetic-tiny --micro --peers .", 2, "--peers");
}

TEST(Program, RejectsWhatCannotBeMeasured) {
  const Folder folder;
  expect_refused("-m '" + folder.file("none.sotto") + "'", 1, "none.sotto");
  std::ofstream(folder.file("bad.sotto")) << "not a model";
  expect_refused("-m '" + folder.file("bad.sotto") + "'", 1, "bad.sotto");
  expect_refused("-m synthetic-tiny --contexts 120", 1, "120");
  expect_refused("-m synthetic-tiny --prompt-lengths 129", 1, "129");
  expect_refused("-m synthetic-tiny --grammar '" + folder.file("none") + "'", 1, "none");
  expect_refused("-m synthetic-tiny --grammar '" + folder.file(".") + "'", 1, "neither");
  expect_refused("-m synthetic-tiny --keep '" + folder.file("no/such/folder") + "'", 1, "folder");
}

// Creates a directory whose peers answer every request with `answer`.
void make_peers(const Folder& folder, const std::string& answer) {
  std::filesystem::create_directories(folder.file("venv/bin"));
  const std::string python = folder.file("venv/bin/python3");
  std::ofstream(python) << "#!/bin/sh\nwhile read -r request; do echo '" << answer << "'; done\n";
  std::filesystem::permissions(python, std::filesystem::perms::owner_all);
}

TEST(Program, MeasuresPeersInTheSameRounds) {
  const Folder folder;
  make_peers(folder, R"({"value": 5, "first_token_ms": 1000000, "peak_mib": 1000000})");
  const auto json = json_of("-m synthetic-tiny --runs 1 --prompt-lengths 32 --peers '" + folder.file("") + "'");
  std::map<std::string, size_t> counts;
  for (const auto& figure : json.at("figures")) {
    if (!figure.contains("peer")) continue;
    ++counts[figure.at("peer").at("name").get<std::string>()];
    expect_sound(figure.at("peer"), 1);
    EXPECT_GT(figure.at("ratio").get<double>(), 1) << figure;  // every machine is faster than these
  }
  EXPECT_EQ(counts, (std::map<std::string, size_t>{{"llama.cpp Q8_0", 4},
                                                   {"llama.cpp Q4_0", 4},
                                                   {"llama.cpp Q4_K_M", 4},
                                                   {"CTranslate2 int8", 4},
                                                   {"ONNX Runtime int8", 4}}));
  EXPECT_TRUE(json.at("settings").at("peers"));
}

TEST(Program, NamesThePeerThatFails) {
  const Folder folder;
  const std::string peers = " -m synthetic-tiny --runs 1 --peers '" + folder.file("") + "'";
  expect_refused(peers, 1, "setup.sh");
  make_peers(folder, "");
  expect_refused(peers, 1, "q8_0 gave no answer");
}

TEST(Program, MeasuresSpeculation) {
  const auto json = json_of("-m synthetic-tiny --runs 1 --speculation synthetic-tiny");
  std::set<std::string> drafts;
  for (const auto& figure : json.at("figures")) {
    drafts.insert(figure.at("parameters").at("drafts").get<std::string>());
    const bool is_share = figure.at("name") == "accepted";
    EXPECT_TRUE(is_share || figure.at("name") == "speculation");
    if (is_share) {
      EXPECT_LE(figure.at("median"), 100) << figure;
    } else {
      expect_sound(figure, 1);
    }
  }
  EXPECT_EQ(drafts, (std::set<std::string>{"lookup", "lookahead", "early exit", "session"}));
  EXPECT_TRUE(json.at("settings").at("speculation"));
}

TEST(Program, MeasuresTwoModelsInterleaved) {
  const auto json = json_of("-m synthetic-tiny-int4 --runs 1 --contexts 0 --prompt-lengths 5 --against synthetic-tiny");
  EXPECT_EQ(json.at("model").at("layer_weight_bits"), 4);
  std::set<std::string> names;
  for (const auto& figure : json.at("figures")) {
    names.insert(figure.at("name").get<std::string>());
    EXPECT_GT(figure.at("median"), 0) << figure;
  }
  EXPECT_EQ(names, (std::set<std::string>{"decode_against", "prefill_against"}));
}

TEST(Program, MeasuresWithoutTheCache) {
  const auto json = json_of("-m synthetic-tiny --runs 1 --no-cache --contexts 0,100");
  std::map<std::string, size_t> counts;
  for (const auto& figure : json.at("figures")) {
    ++counts[figure.at("name").get<std::string>()];
    expect_sound(figure, 1);
  }
  EXPECT_EQ(counts, (std::map<std::string, size_t>{{"with_cache", 2}, {"without_cache", 2}, {"cache_speedup", 2}}));
  EXPECT_TRUE(json.at("settings").at("no_cache"));
  // 128 does not fit 128 positions.
  EXPECT_EQ(json_of("-m synthetic-tiny --runs 1 --no-cache").at("settings").at("contexts"),
            nlohmann::json::array({16, 32, 64}));
  expect_refused("-m synthetic-tiny --no-cache --micro", 2, "--no-cache: cannot be combined with --micro");
}

TEST(Program, HasAManualPageAndCompletions) {
  const Result page = run_bench("--man");
  EXPECT_EQ(page.exit_code, 0);
  EXPECT_EQ(page.out.rfind(".TH SOTTO\\-BENCH 1 ", 0), 0u) << page.out;
  EXPECT_NE(page.out.find(".B \\-\\-no\\-cache\n"), std::string::npos);
  EXPECT_NE(run_bench("--completion bash").out.find("complete -o filenames -F _sotto_bench sotto-bench\n"),
            std::string::npos);
}

TEST(Program, PrintsHelp) {
  const Result result = run_bench("--help");
  EXPECT_EQ(result.exit_code, 0);
  for (const char* option :
       {"--model", "--json", "--threads", "--runs", "--prompt-lengths", "--contexts", "--pages", "--isa", "--micro",
        "--grammar", "--speculation", "--peers", "--against", "--keep", "--no-cache", "--report"}) {
    EXPECT_NE(result.out.find(option), std::string::npos) << option;
  }
}

}  // namespace
}  // namespace sotto::bench
