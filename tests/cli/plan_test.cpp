// Tests `sotto plan` and `sotto list`: compares their sizes with those of the library and with the memory of processes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/capi/open_session.h"
#include "tests/cli/generate_support.h"
#include "tests/memory/support.h"

namespace sotto::test {
namespace {

using nlohmann::json;

constexpr uint64_t kMebi = 1 << 20;

// Writes a model in pieces: Linux keeps a file that is written at once in large pages. A process that reads a part of a
// page has the whole page.
std::string write_model(const TemporaryFolder& folder, const std::string& name, const std::vector<uint8_t>& bytes) {
  constexpr size_t kPieceSize = 4096;
  std::ofstream file(folder.file(name), std::ios::binary);
  for (size_t done = 0; done < bytes.size(); done += kPieceSize) {
    const size_t size = std::min(kPieceSize, bytes.size() - done);
    file.write(reinterpret_cast<const char*>(bytes.data() + done), static_cast<std::streamsize>(size)).flush();
  }
  EXPECT_TRUE(file);
  return folder.file(name);
}

Words shape_words(const ModelShape& shape) {
  return {"--shape",           "custom",
          "--vocabulary-size", std::to_string(shape.vocabulary_size),
          "--positions",       std::to_string(shape.position_count),
          "--embedding",       std::to_string(shape.embedding_size),
          "--heads",           std::to_string(shape.head_count),
          "--layers",          std::to_string(shape.layer_count),
          "--feed-forward",    std::to_string(shape.feed_forward_size)};
}

json plan(Words words, const Words& more) {
  words.insert(words.begin(), {"plan", "--json"});
  words.insert(words.end(), more.begin(), more.end());
  return json_of(run_sotto(words));
}

uint64_t bytes_of(const json& plan, const std::string& part) {
  uint64_t bytes = 0;
  for (const json& row : plan["parts"]) {
    if (row["part"] == part) bytes += row["bytes"].get<uint64_t>();
  }
  return bytes;
}

// The kinds of files: bits of the layers and of the head, and whether they are packed for this CPU.
struct Kind {
  std::vector<uint8_t> (*make)(const ModelShape& shape);
  Words words;  // the same for a shape
};

const Kind kKinds[] = {
    {[](const ModelShape& shape) { return make_model_file(shape, false); }, {}},
    {[](const ModelShape& shape) { return make_model_file(shape, false, "native"); }, {"--packed"}},
    {[](const ModelShape& shape) { return make_int4_model_file(shape, false, true); }, {"--bits", "4"}},
    {[](const ModelShape& shape) { return make_int4_model_file(shape, false); }, {"--bits", "4", "--head-bits", "4"}}};

const ModelShape kShapes[] = {{300, 64, 48, 3, 100, 2}, {1000, 100, 96, 6, 384, 5}, {517, 40, 64, 2, 33, 3}};

TEST(Plan, MemoryOfAFileEqualsTheLibrarys) {
  const TemporaryFolder folder;
  for (const ModelShape& shape : kShapes) {
    for (const Kind& kind : kKinds) {
      const std::vector<uint8_t> bytes = kind.make(shape);
      const std::string path = write_model(folder, "model.sotto", bytes);
      LoadedModel model(bytes);
      AlignedBytes file(bytes);
      size_t model_size = 0;
      ASSERT_EQ(sotto_model_memory_size(file.data(), file.size(), nullptr, &model_size, nullptr), SOTTO_OK);
      sotto_session_params params;
      sotto_session_params_init(&params, sizeof params);
      const auto expect_equal = [&](const Words& words) {
        SCOPED_TRACE(joined(words));
        size_t session_size = 0;
        ASSERT_EQ(sotto_session_memory_size(model.get(), &params, &session_size, nullptr), SOTTO_OK);
        EXPECT_EQ(plan({path}, words)["memory_bytes"], model_size + session_size);
      };
      expect_equal({});
      params.context_tokens = 33;
      params.batch_tokens = 9;
      params.overflow = SOTTO_OVERFLOW_RING;
      expect_equal({"-c", "33", "-b", "9", "--overflow", "ring"});
      params.sequence_count = 5;
      params.sequence_tokens = 17;
      expect_equal({"-c", "33", "-b", "9", "--overflow", "ring", "--beams", "5", "-n", "17"});
      params.features = SOTTO_FEATURE_HIDDEN_HISTORY;
      params.draft_tokens = 7;
      expect_equal({"-c", "33", "-b", "9", "--overflow", "ring", "--beams", "5", "-n", "17", "--contrastive",
                    "--draft-tokens", "7"});
    }
  }
}

TEST(Plan, OfAShapeEqualsThatOfItsFile) {
  const TemporaryFolder folder;
  for (const ModelShape& shape : kShapes) {
    for (const Kind& kind : kKinds) {
      const std::string path = write_model(folder, "model.sotto", kind.make(shape));
      Words words = shape_words(shape);
      words.insert(words.end(), kind.words.begin(), kind.words.end());
      json of_shape = plan(words, {"-c", "20"});
      json of_file = plan({path}, {"-c", "20"});
      of_shape["model"].erase("name");
      of_file["model"].erase("name");
      EXPECT_EQ(of_shape, of_file) << joined(words);
      // The weights of 4 bits are those that the library counts.
      const json info = json_of(run_sotto({"inspect", "--json", path}));
      if (info["packed_in_place"] == true && kind.words.size() == 4) {
        EXPECT_EQ(bytes_of(of_shape, "layers") + bytes_of(of_shape, "head"), info["weight_bytes"]);
      }
    }
  }
}

TEST(Plan, KnowsPublishedShapesAndCheckpoints) {
  const TemporaryFolder folder;
  json of_shape = plan({"--shape", "gpt2"}, {});
  EXPECT_EQ(of_shape["model"]["vocabulary_size"], 50257);
  // The README of the project has these sizes.
  EXPECT_NEAR(bytes_of(of_shape, "layers") + bytes_of(of_shape, "head"), 119.9 * kMebi, 0.05 * kMebi);
  EXPECT_NEAR(bytes_of(of_shape, "kv_ring"), 19.1 * kMebi, 0.05 * kMebi);
  write_file(folder.file("config.json"),
             R"({"model_type": "gpt2", "vocab_size": 50257, "n_positions": 1024, "n_ctx": 1024, "n_embd": 768,
                 "n_head": 12, "n_layer": 12, "n_inner": null})");
  json of_checkpoint = plan({folder.file("")}, {});
  EXPECT_EQ(of_checkpoint["parts"], of_shape["parts"]);
  write_file(folder.file("config.json"), R"({"model_type": "llama"})");
  expect_refused(run_sotto({"plan", folder.file("")}), 1, "model_type is \"llama\"");
  write_file(folder.file("config.json"), R"({"vocab_size": 100})");
  expect_refused(run_sotto({"plan", folder.file("")}), 1, "config.json: has no n_positions");
}

TEST(Plan, FindsTheLargestContextWithinABudget) {
  const Words shape = shape_words({2000, 700, 96, 6, 384, 5});
  for (const Words& more : std::vector<Words>{{}, {"--beams", "3"}, {"--overflow", "ring"}}) {
    const auto total = [&](uint64_t context) {
      Words words = {"-c", std::to_string(context)};
      words.insert(words.end(), more.begin(), more.end());
      return plan(shape, words)["total_bytes"].get<uint64_t>();
    };
    for (const uint64_t context : {16, 17, 128, 699}) {
      for (const uint64_t spare : {0, 1}) {
        Words words = {"--bits", "8", "--budget", std::to_string(total(context + spare) - spare)};
        words.insert(words.end(), more.begin(), more.end());
        const json best = plan(shape, words)["best"];
        EXPECT_EQ(best["context_tokens"], context) << joined(words);
        EXPECT_EQ(best["total_bytes"], total(context)) << joined(words);
      }
    }
  }
}

TEST(Plan, SaysThatNothingFits) {
  const Result result = run_sotto({"plan", "--shape", "gpt2", "--budget", "16MiB"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.out.find("nothing fits: 4 bits, 4 in the head with 16 tokens takes "), std::string::npos);
  const Result as_json = run_sotto({"plan", "--shape", "gpt2", "--budget", "16MiB", "--json"});
  EXPECT_EQ(as_json.exit_code, 1);
  EXPECT_EQ(json::parse(as_json.out)["best"], nullptr);
  // Given bits and a given context are not changed.
  EXPECT_EQ(run_sotto({"plan", "--shape", "gpt2", "--budget", "110MiB", "--bits", "8"}).exit_code, 1);
  EXPECT_EQ(run_sotto({"plan", "--shape", "gpt2", "--budget", "110MiB"}).exit_code, 0);
  EXPECT_EQ(run_sotto({"plan", "--shape", "gpt2", "--budget", "130MiB", "--bits", "8", "-c", "1024"}).exit_code, 1);
}

TEST(Plan, CountsAGrammar) {
  const json plain = plan({SOTTO_DEMO_MODEL}, {"--beams", "4"});
  const json with_grammar = plan({SOTTO_DEMO_MODEL}, {"--beams", "4", "--any-json"});
  EXPECT_EQ(with_grammar["memory_bytes"].get<uint64_t>() - plain["memory_bytes"].get<uint64_t>(),
            bytes_of(with_grammar, "matcher") + bytes_of(with_grammar, "grammar") +
                bytes_of(with_grammar, "vocabulary") -
                (with_grammar["file_bytes"].get<uint64_t>() - plain["file_bytes"].get<uint64_t>()));
  EXPECT_GT(bytes_of(with_grammar, "matcher"), 10000u);
  EXPECT_LT(bytes_of(plan({SOTTO_DEMO_MODEL}, {"--any-json"}), "matcher"), bytes_of(with_grammar, "matcher"));
}

TEST(Plan, CountsAGrammarForAShape) {
  const json info = json_of(run_sotto({"inspect", "--json", SOTTO_DEMO_MODEL}));
  const Words shape = shape_words({info["vocabulary_size"].get<uint32_t>(), 512, 256, 4, 1024, 6});
  for (const Words& more : std::vector<Words>{{"--any-json"}, {"--regex", "[a-z]+@[a-z]+", "--beams", "4"}}) {
    SCOPED_TRACE(joined(more));
    const json of_shape = plan(shape, more);
    const json of_file = plan({SOTTO_DEMO_MODEL}, more);
    EXPECT_EQ(bytes_of(of_shape, "grammar"), bytes_of(of_file, "grammar"));
    // The tokens of the demo model are shorter than GPT-2's.
    for (const auto& [part, tolerance] : {std::pair("matcher", 0.03), std::pair("vocabulary", 0.1)}) {
      const auto bytes = static_cast<double>(bytes_of(of_file, part));
      EXPECT_NEAR(static_cast<double>(bytes_of(of_shape, part)), bytes, tolerance * bytes) << part;
    }
  }
  // The prepared vocabulary of GPT-2 takes 1,133,568 bytes.
  EXPECT_NEAR(bytes_of(plan({"--shape", "gpt2"}, {"--any-json"}), "vocabulary"), 1133568, 1000);
  // With a budget, each search has its own matcher.
  const json choices = plan({"--shape", "gpt2"}, {"--any-json", "--budget", "200MiB", "-c", "64"})["choices"];
  for (const json& choice : choices) {
    const Words words = {"--shape",
                         "gpt2",
                         "--any-json",
                         "-c",
                         "64",
                         "--bits",
                         to_string(choice["layer_weight_bits"]),
                         "--head-bits",
                         to_string(choice["head_weight_bits"]),
                         "--beams",
                         to_string(choice["sequence_count"])};
    EXPECT_EQ(choice["total_bytes"], plan(words, {})["total_bytes"]) << joined(words);
  }
}

TEST(Plan, NamesWrongValues) {
  expect_refused(run_sotto({"plan"}), 2, "MODEL or --shape is required");
  expect_refused(run_sotto({"plan", "--shape", "custom", "--embedding", "64"}), 2, "needs --vocabulary-size");
  expect_refused(run_sotto({"plan", "--shape", "gpt2", "--embedding", "64"}), 2, "--embedding: needs --shape custom");
  expect_refused(run_sotto({"plan", "--shape", "gpt2", "-c", "2000"}), 1, "--ctx is 2000; it must be from 16 to 1024");
  expect_refused(run_sotto({"plan", "--shape", "gpt2", "--beams", "65"}), 1, "it must be from 0 to 64");
  expect_refused(run_sotto({"plan", "--shape", "gpt2", "--budget", "much"}), 2, "\"much\" is not a size");
  expect_refused(run_sotto({"plan", "--shape", "gpt2", "--budget", "0"}), 2, "--budget: is 0");
  expect_refused(run_sotto({"plan", SOTTO_DEMO_MODEL, "--bits", "4"}), 2, "has its own weights");
  Words words = shape_words({300, 64, 48, 5, 100, 2});
  words.insert(words.begin(), "plan");
  expect_refused(run_sotto(words), 1, "the number of heads is 5; it must divide the embedding, 48");
}

TEST(List, ShowsModelsAndNamesBrokenFiles) {
  const TemporaryFolder folder;
  const std::vector<uint8_t> int8 = make_model_file(kShapes[1], true);
  const std::vector<uint8_t> int4 = make_int4_model_file(kShapes[1], true, true);
  write_model(folder, "b.sotto", int8);
  write_model(folder, "a.sotto", int4);
  write_model(folder, "cut.sotto", {int8.begin(), int8.begin() + static_cast<ptrdiff_t>(int8.size() / 2)});
  write_file(folder.file("notes.txt"), "no model");
  const Words list = {"list", folder.file("")};
  const json object = json_of(run_sotto({"list", "--json", folder.file("")}));
  ASSERT_EQ(object["models"].size(), 3u);
  EXPECT_EQ(object["models"][0]["file"], "a.sotto");
  EXPECT_EQ(object["models"][0]["layer_weight_bits"], 4);
  EXPECT_EQ(object["models"][0]["head_weight_bits"], 8);
  EXPECT_EQ(object["models"][1]["file_bytes"], int8.size());
  EXPECT_EQ(object["models"][1]["vocabulary_size"], 1000);
  EXPECT_EQ(object["models"][1]["total_bytes"], plan({folder.file("b.sotto")}, {})["total_bytes"]);
  EXPECT_EQ(object["models"][2]["file"], "cut.sotto");
  EXPECT_NE(object["models"][2]["error"].get<std::string>().find("truncated"), std::string::npos);
  EXPECT_EQ(object["smallest"], "a.sotto");
  const Result text = run_sotto(list);
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_NE(text.out.find("3 files, "), std::string::npos) << text.out;
  EXPECT_NE(text.out.find(", 1 unusable\n"), std::string::npos) << text.out;
  EXPECT_EQ(text.out.find("notes"), std::string::npos) << text.out;
}

TEST(List, FindsTheSmallestThatMeetsANeed) {
  const TemporaryFolder folder;
  write_model(folder, "short.sotto", make_model_file({300, 64, 48, 3, 100, 2}, false));
  write_model(folder, "long.sotto", make_model_file({300, 200, 48, 3, 100, 2}, false));
  const auto smallest = [&](const Words& more) {
    Words words = {"list", folder.file(""), "--smallest"};
    words.insert(words.end(), more.begin(), more.end());
    return run_sotto(words);
  };
  EXPECT_EQ(smallest({}).out, folder.file("short.sotto") + '\n');
  EXPECT_EQ(smallest({"--ctx", "100"}).out, folder.file("long.sotto") + '\n');
  EXPECT_EQ(smallest({"--budget", "100MiB"}).out, folder.file("short.sotto") + '\n');
  expect_refused(smallest({"--budget", "10KiB"}), 1, "no model fits");
  expect_refused(smallest({"--ctx", "201"}), 1, "no model fits");
  expect_refused(run_sotto({"list", folder.file("absent")}), 1, "absent: No such file");
}

TEST(List, ReadsNoWeights) {
  const TemporaryFolder folder;
  std::vector<uint8_t> bytes = make_model_file(kShapes[1], false);
  std::fill(bytes.end() - 5000, bytes.end(), uint8_t{0x55});
  const std::string path = write_model(folder, "changed.sotto", bytes);
  EXPECT_FALSE(json_of(run_sotto({"list", "--json", folder.file("")}))["models"][0].contains("error"));
  EXPECT_NE(run_sotto({"inspect", "--verify", path}).exit_code, 0);
}

#ifdef SOTTO_MEASURES_MEMORY
// Compares the growth of the peak of a process with the plan, from a tiny model to larger ones, with full contexts.
TEST(Plan, IsWithinTwoPercentOfTheMeasuredPeak) {
  const TemporaryFolder folder;
  const auto peak = [&](const std::string& path, uint32_t context, const Words& more) {
    // A shell starts the program as a separate process, because a program inherits the peak of the process that it
    // replaces.
    std::string command = shell_word(SOTTO_CLI) + " generate -m " + shell_word(path) + " --json --seed 0 -n 8 -c " +
                          std::to_string(context) + ' ' + joined(more) + "--ignore-eos --ids";
    for (uint32_t i = 0; i < context - 8; ++i) command += ' ' + std::to_string(i % 200);
    const std::string out = folder.file("out");
    EXPECT_EQ(std::system((command + " >" + shell_word(out) + " && true").c_str()), 0);
    return json::parse(read_file(out))["memory"]["peak_resident_bytes"].get<double>();
  };
  const std::string tiny = write_model(folder, "tiny.sotto", make_model_file(kShapes[0], false));
  const double base = peak(tiny, 64, {}) - plan({tiny}, {"-c", "64"})["peak_bytes"].get<double>();
  const ModelShape shape = {8192, 512, 512, 8, 2048, 6};
  for (const Kind& kind : {kKinds[0], kKinds[2]}) {
    const std::string path = write_model(folder, "model.sotto", kind.make(shape));
    for (const Words& more : std::vector<Words>{{}, {"--beams", "4"}}) {
      Words words = {"-c", "512"};
      words.insert(words.end(), more.begin(), more.end());
      if (!more.empty()) words.insert(words.end(), {"-n", "8"});
      const double planned = plan({path}, words)["peak_bytes"];
      const double measured = peak(path, 512, more) - base;
      EXPECT_NEAR(measured / planned, 1.0, 0.02) << joined(kind.words) << joined(more) << planned;
    }
  }
}
#endif

}  // namespace
}  // namespace sotto::test
