// Tests the features of a build as sotto_build_text() reports them. Basic features produce the same bits in every
// build. Missing features are rejected with SOTTO_UNSUPPORTED and the name of the build option.
#include <gtest/gtest.h>

#include <memory>
#include <sstream>

#include "capi/include/sotto.h"
#include "platforms/cpp/tests/golden_file.h"

namespace {

struct Release {
  void operator()(void* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<void, Release>;
Memory allocate(size_t size) {
  constexpr size_t kAlignment = SOTTO_MEMORY_ALIGNMENT;
  return Memory(std::aligned_alloc(kAlignment, (size + kAlignment - 1) / kAlignment * kAlignment));
}

sotto_error new_error() { return {sizeof(sotto_error), SOTTO_OK, 0, ""}; }

bool has(const std::string& feature) {
  std::istringstream words(sotto_build_text());
  for (std::string word; words >> word;) {
    if (word == feature) return true;
  }
  return false;
}

Memory read_file(const std::string& path, size_t* size) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  Memory memory = allocate(bytes.size());
  bytes.copy(static_cast<char*>(memory.get()), bytes.size());
  *size = bytes.size();
  return memory;
}

class Features : public testing::Test {
 protected:
  void SetUp() override {
    size_t file_size, size;
    file_ = read_file(golden::environment("SOTTO_DEMO_MODEL"), &file_size);
    sotto_error error = new_error();
    ASSERT_EQ(sotto_model_memory_size(file_.get(), file_size, nullptr, &size, &error), SOTTO_OK);
    model_memory_ = allocate(size);
    ASSERT_EQ(sotto_model_init(file_.get(), file_size, nullptr, model_memory_.get(), size, &model_, &error), SOTTO_OK);
    sotto_session_params params;
    sotto_session_params_init(&params, sizeof params);
    params.context_tokens = 256;
    params.sequence_count = 2;
    params.draft_tokens = 4;
    ASSERT_EQ(sotto_session_memory_size(model_, &params, &size, &error), SOTTO_OK);
    session_memory_ = allocate(size);
    ASSERT_EQ(sotto_session_init(model_, &params, session_memory_.get(), size, &session_, &error), SOTTO_OK);
  }
  void TearDown() override {
    sotto_session_deinit(session_);
    sotto_model_deinit(model_);
  }

  // Runs one case of the golden file.
  void stream(const golden::Case& expected) {
    sotto_sampler_params params;
    sotto_sampler_params_init(&params, sizeof params);
    params.temperature = golden::real(expected, "temperature");
    params.top_k = static_cast<uint32_t>(golden::number(expected, "top_k"));
    params.top_p = golden::real(expected, "top_p");
    params.repetition_penalty = golden::real(expected, "repetition_penalty");
    params.seed = static_cast<uint64_t>(golden::number(expected, "seed"));
    sotto_session_reset(session_);
    sotto_error error = new_error();
    ASSERT_EQ(sotto_session_set_sampler(session_, &params, &error), SOTTO_OK) << error.message;
    const std::vector<int32_t> prompt = golden::tokens(expected, "prompt_tokens");
    std::vector<int32_t> tokens;
    const auto collect = [](void* to, const sotto_piece* piece) -> int32_t {
      if (piece->token >= 0) static_cast<std::vector<int32_t>*>(to)->push_back(piece->token);
      return 0;
    };
    const auto limit = static_cast<size_t>(golden::number(expected, "max_tokens"));
    sotto_session_generate(session_, prompt.data(), prompt.size(), limit, collect, &tokens);
    EXPECT_EQ(tokens, golden::tokens(expected, "tokens"));
  }

  Memory file_, model_memory_, session_memory_;
  sotto_model* model_ = nullptr;
  sotto_session* session_ = nullptr;
};

// Expects a rejection that names the option if the feature is missing, and success otherwise.
void expect_refused_without(const std::string& feature, const std::string& option, sotto_status status,
                            const sotto_error& error, sotto_status refusal = SOTTO_UNSUPPORTED) {
  if (has(feature)) {
    EXPECT_NE(status, refusal) << error.message;
  } else {
    EXPECT_EQ(status, refusal);
    EXPECT_NE(std::string(error.message).find(option), std::string::npos) << error.message;
  }
}

TEST_F(Features, BasicSamplingHasTheSameBitsInEveryBuild) {
  const auto cases = golden::read();
  stream(cases.at("greedy"));
  stream(cases.at("sampled"));
}

TEST_F(Features, SaysWhatItHas) { EXPECT_NE(has("full-samplers"), has("basic-samplers")) << sotto_build_text(); }

TEST_F(Features, GrammarsAreRejectedWithoutTheFeature) {
  const std::string option = "SOTTO_WITH_GRAMMAR=OFF";
  sotto_grammar_params params;
  sotto_grammar_params_init(&params, sizeof params);
  EXPECT_EQ(params.struct_size, sizeof params);
  size_t size = 1 << 20;
  const Memory memory = allocate(size);
  sotto_grammar* grammar = nullptr;
  sotto_error error = new_error();
  const std::string source = "root ::= \"yes\"";
  expect_refused_without(
      "grammar", option,
      sotto_grammar_compile(source.data(), source.size(), nullptr, memory.get(), size, &grammar, &size, &error), error);
  sotto_vocabulary_params vocabulary;
  sotto_vocabulary_params_init(&vocabulary, sizeof vocabulary);
  vocabulary.model = model_;
  error = new_error();
  expect_refused_without("grammar", option, sotto_vocabulary_memory_size(&vocabulary, &size, &error), error);
  error = new_error();
  EXPECT_EQ(sotto_session_set_matcher(session_, nullptr, &error), SOTTO_OK);
}

TEST_F(Features, SearchesAreRejectedWithoutTheFeature) {
  const int32_t prompt[] = {886, 309};
  ASSERT_EQ(sotto_session_prefill(session_, prompt, 2), SOTTO_OK);
  sotto_search_params params;
  sotto_search_params_init(&params, sizeof params);
  params.max_tokens = 2;
  const sotto_sequence* sequences;
  size_t count;
  sotto_error error = new_error();
  expect_refused_without("search", "SOTTO_WITH_SEARCH=OFF",
                         sotto_session_search(session_, &params, &sequences, &count, &error), error);
}

TEST_F(Features, SpeculationIsRejectedWithoutTheFeature) {
  sotto_error error = new_error();
  EXPECT_EQ(sotto_session_set_speculation(session_, nullptr, &error), SOTTO_OK);
  sotto_speculation_params params;
  sotto_speculation_params_init(&params, sizeof params);
  expect_refused_without("speculation", "SOTTO_WITH_SPECULATION=OFF",
                         sotto_session_set_speculation(session_, &params, &error), error);
}

TEST_F(Features, WatermarksAreRejectedWithoutTheFeature) {
  const std::string option = "SOTTO_WITH_WATERMARK=OFF";
  sotto_sampler_params params;
  sotto_sampler_params_init(&params, sizeof params);
  sotto_watermark_params watermark;
  sotto_watermark_params_init(&watermark, sizeof watermark);
  watermark.scheme = SOTTO_WATERMARK_LEFT_HASH;
  params.watermark = &watermark;
  sotto_error error = new_error();
  expect_refused_without("watermark", option, sotto_session_set_sampler(session_, &params, &error), error);
  const int32_t tokens[] = {886, 309, 258, 1001};
  sotto_watermark_result result = {};
  result.struct_size = sizeof result;
  error = new_error();
  expect_refused_without("watermark", option, sotto_watermark_detect(&watermark, 4096, tokens, 4, &result, &error),
                         error);
}

TEST_F(Features, SamplersAreRejectedWithoutTheFeature) {
  const std::string option = "SOTTO_WITH_SAMPLERS=basic";
  const auto expect = [&](auto change) {
    sotto_sampler_params params;
    sotto_sampler_params_init(&params, sizeof params);
    change(&params);
    sotto_error error = new_error();
    expect_refused_without("full-samplers", option, sotto_session_set_sampler(session_, &params, &error), error);
  };
  expect([](sotto_sampler_params* p) { p->typical_p = 0.5f; });
  expect([](sotto_sampler_params* p) { p->top_h = 0.5f; });
  expect([](sotto_sampler_params* p) { p->tail_free = 0.5f; });
  expect([](sotto_sampler_params* p) { p->eta = 0.01f; });
  expect([](sotto_sampler_params* p) { p->dry_multiplier = 1; });
  expect([](sotto_sampler_params* p) { p->selection = SOTTO_SELECT_MIROSTAT_V2; });
  expect([](sotto_sampler_params* p) { p->selection = SOTTO_SELECT_GUMBEL; });
}

TEST_F(Features, Int4ModelsAreRejectedWithoutTheFeature) {
  size_t file_size, size;
  const Memory file = read_file(golden::environment("SOTTO_INT4_MODEL"), &file_size);
  sotto_error error = new_error();
  expect_refused_without("int4", "SOTTO_WITH_INT4=OFF",
                         sotto_model_memory_size(file.get(), file_size, nullptr, &size, &error), error,
                         SOTTO_MODEL_UNSUPPORTED);
}

}  // namespace
