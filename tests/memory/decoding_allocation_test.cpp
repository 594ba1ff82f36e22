// Tests that nothing allocates after init: every stage, selection, watermark, search and other feature of a session
// runs under the counter.

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/memory/allocation_counter.h"
#include "tests/memory/search_modes.h"
#include "tests/memory/support.h"
#include "tests/support/sampler_settings.h"

namespace sotto {
namespace {

constexpr ModelShape kShape = {400, 64, 96, 3, 200, 6};
constexpr sotto_token kPrompt[] = {5, 6, 7, 5, 6, 9, 10, 11, 12, 5, 6};
constexpr size_t kPromptCount = std::size(kPrompt);

class DecodingAllocation : public testing::TestWithParam<uint32_t> {
 protected:
  DecodingAllocation() : model_(make_model_file(kShape, true)) {
    session_ = open(&memory_);
    other_ = open(&other_memory_);
    (void)sotto_session_prefill(session_, kPrompt, kPromptCount);
    (void)sotto_session_prefill(other_, kPrompt + 3, 4);
  }
  ~DecodingAllocation() override {
    sotto_session_deinit(session_);
    sotto_session_deinit(other_);
  }

  sotto_session* open(std::unique_ptr<AlignedBytes>* memory) {
    sotto_session_params params;
    sotto_session_params_init(&params, sizeof params);
    params.batch_tokens = 8;
    params.thread_count = GetParam();
    params.sequence_count = 4;
    params.sequence_tokens = 6;
    params.features = SOTTO_FEATURE_HIDDEN_HISTORY | SOTTO_FEATURE_DOLA | SOTTO_FEATURE_GUIDE;
    params.draft_tokens = 5;
    size_t size = 0;
    EXPECT_EQ(sotto_session_memory_size(model_.get(), &params, &size, nullptr), SOTTO_OK);
    *memory = std::make_unique<AlignedBytes>(size);
    sotto_session* session = nullptr;
    EXPECT_EQ(sotto_session_init(model_.get(), &params, (*memory)->data(), size, &session, nullptr), SOTTO_OK);
    return session;
  }

  // Sets a sampler, generates, and rolls the tokens back.
  void run(const std::string& name, const std::function<void(sotto_sampler_params&)>& adjust) {
    sotto_sampler_params params;
    sotto_sampler_params_init(&params, sizeof params);
    params.log_probabilities = 1;
    params.alternative_count = 5;
    adjust(params);
    expect_no_allocation(name, [&] { return sotto_session_set_sampler(session_, &params, nullptr); });
    expect_no_allocation(name, [&] { return sotto_session_generate(session_, nullptr, 0, 5, nullptr, nullptr); });
    expect_no_allocation(name, [&] { return sotto_session_rewind(session_, kPromptCount); });
  }

  LoadedModel model_;
  std::unique_ptr<AlignedBytes> memory_;
  std::unique_ptr<AlignedBytes> other_memory_;
  sotto_session* session_ = nullptr;
  sotto_session* other_ = nullptr;
};

TEST_P(DecodingAllocation, StagesSelectionsAndWatermarksDoNotAllocate) {
  for (const sotto_order order : {SOTTO_ORDER_DEFAULT, SOTTO_ORDER_TRANSFORMERS, SOTTO_ORDER_VLLM}) {
    for (const auto& setting : sampler_settings<sotto_sampler_params>()) {
      run(setting.name, [&](auto& p) {
        p.top_k = 0;
        p.top_p = 1;
        p.min_p = 0;
        p.order = order;
        setting.adjust(p);
      });
    }
  }
}

TEST_P(DecodingAllocation, ListsDoNotAllocate) {
  const sotto_token tokens[] = {1, 2, 3};
  const sotto_token_bias biases[] = {{4, 1.0f}, {5, -1.0f}};
  const sotto_sequence_bias sequences[] = {{tokens, 3, 2.0f, 0}};
  const sotto_token_list words[] = {{tokens, 2}, {tokens + 2, 1}};
  run("all lists", [&](auto& p) {
    p.logit_bias = biases;
    p.logit_bias_count = 2;
    p.sequence_bias = sequences;
    p.sequence_bias_count = 1;
    p.bad_words = words;
    p.bad_word_count = 2;
    p.suppressed_tokens = tokens;
    p.suppressed_token_count = 3;
    p.begin_suppressed_tokens = tokens;
    p.begin_suppressed_token_count = 3;
    p.forced_prefix = tokens + 1;
    p.forced_prefix_count = 2;
    p.forced_last_token = 7;
    p.min_new_tokens = 3;
    p.end_decay_factor = 1.1f;
  });
  run("allowed", [&](auto& p) {
    p.allowed_tokens = tokens;
    p.allowed_token_count = 3;
    p.ignore_end = 1;
  });
  run("callback",
      [](auto& p) { p.logits_callback = [](void*, float* logits, size_t count) { logits[count - 1] += 1; }; });
}

TEST_P(DecodingAllocation, StatisticsDoNotAllocate) {
  run("statistics", [](auto& p) { p.statistics = 1; });
  run("statistics of mirostat", [](auto& p) {
    p.statistics = 1;
    p.selection = SOTTO_SELECT_MIROSTAT_V2;
  });
}

TEST_P(DecodingAllocation, DetectionDoesNotAllocate) {
  for (const sotto_watermark_scheme scheme :
       {SOTTO_WATERMARK_LEFT_HASH, SOTTO_WATERMARK_SELF_HASH, SOTTO_WATERMARK_TOURNAMENT, SOTTO_WATERMARK_GUMBEL}) {
    sotto_watermark_params watermark;
    sotto_watermark_params_init(&watermark, sizeof watermark);
    watermark.scheme = scheme;
    sotto_watermark_result result = {};
    result.struct_size = sizeof result;
    expect_no_allocation("detect " + std::to_string(scheme), [&] {
      return sotto_watermark_detect(&watermark, kShape.vocabulary_size, kPrompt, kPromptCount, &result, nullptr);
    });
  }
}

TEST_P(DecodingAllocation, ConversationsDoNotAllocate) {
  const std::string format = sotto_chat_format_text(SOTTO_CHAT_PLAIN);
  sotto_chat_params params;
  sotto_chat_params_init(&params, sizeof params);
  params.reply_tokens = 8;
  size_t size = 0;
  ASSERT_EQ(sotto_chat_memory_size(session_, &params, &size, nullptr), SOTTO_OK);
  AlignedBytes memory(size);
  std::vector<uint8_t> saved(4096);
  sotto_chat* chat = nullptr;
  expect_no_allocation("init", [&] {
    return sotto_chat_init(session_, &params, format.data(), format.size(), memory.data(), size, &chat, nullptr);
  });
  for (int turn = 0; turn < 12; ++turn) {
    expect_no_allocation("add", [&] { return sotto_chat_add(chat, SOTTO_ROLE_USER, "hello", 5, nullptr); });
    expect_no_allocation("reply", [&] { return sotto_chat_reply(chat, 3, nullptr, nullptr, nullptr); });
    expect_no_allocation("save", [&] { return sotto_chat_save(chat, saved.data(), saved.size(), &size); });
    expect_no_allocation("undo", [&] { return sotto_chat_undo(chat, turn % 2, nullptr); });
    expect_no_allocation("restore", [&] { return sotto_chat_restore(chat, saved.data(), size, nullptr); });
  }
}

TEST_P(DecodingAllocation, StopsHealingAndGuidesDoNotAllocate) {
  const sotto_text strings[] = {{"qu", 2}, {"e", 1}};
  sotto_stop_params stops;
  sotto_stop_params_init(&stops, sizeof stops);
  stops.max_tokens = 4;
  stops.max_time_ns = 1000000000;
  stops.repetition_limit = 0.9f;
  stops.stop_strings = strings;
  stops.stop_string_count = 1;
  stops.banned_strings = strings + 1;
  stops.banned_string_count = 1;
  expect_no_allocation("set_stops", [&] { return sotto_session_set_stops(session_, &stops, nullptr); });
  expect_no_allocation("prefill", [&] { return sotto_session_prefill(session_, kPrompt, 2); });
  expect_no_allocation("heal", [&] { return sotto_session_heal(session_); });
  expect_no_allocation("set_guide", [&] { return sotto_session_set_guide(session_, other_, nullptr, nullptr); });
  expect_no_allocation("generate", [&] { return sotto_session_generate(session_, nullptr, 0, 6, nullptr, nullptr); });
  expect_no_allocation("rewind", [&] { return sotto_session_rewind(session_, kPromptCount); });
}

TEST_P(DecodingAllocation, ScoresAndStatesDoNotAllocate) {
  float values[256];
  float embedding[96];
  const float* hidden = nullptr;
  size_t count = 0;
  sotto_score score = {};
  score.struct_size = sizeof score;
  expect_no_allocation("score", [&] { return sotto_session_score(session_, kPrompt, 11, values, &score); });
  expect_no_allocation("hidden", [&] { return sotto_session_hidden(session_, &hidden, &count); });
  expect_no_allocation("embed", [&] { return sotto_session_embed(session_, kPrompt, 3, SOTTO_POOL_MEAN, embedding); });
  size_t size = 0;
  ASSERT_EQ(sotto_session_saved_size(session_, &size), SOTTO_OK);
  std::vector<uint8_t> saved(size);
  expect_no_allocation("save", [&] { return sotto_session_save(session_, saved.data(), size, &size); });
  expect_no_allocation("restore", [&] { return sotto_session_restore(other_, saved.data(), size, nullptr); });
  expect_no_allocation("fork", [&] { return sotto_session_fork(session_, other_, nullptr); });
}

TEST_P(DecodingAllocation, SearchesDoNotAllocate) {
  const sotto_token phrase_tokens[] = {20, 21};
  const sotto_token_list phrases[] = {{phrase_tokens, 2}};
  const auto search = [&](const std::string& name, auto adjust) {
    expect_search_does_not_allocate(session_, name, adjust);
  };
  search("beam", [](auto&) {});
  search("groups", [](auto& p) {
    p.group_count = 2;
    p.diversity_penalty = 0.5f;
  });
  search("phrases", [&](auto& p) {
    p.phrases = phrases;
    p.phrase_count = 1;
  });
  search("beam sampling", [](auto& p) { p.mode = SOTTO_SEARCH_BEAM_SAMPLE; });
  search("contrastive", [](auto& p) { p.mode = SOTTO_SEARCH_CONTRASTIVE; });
  for (const sotto_rerank rerank :
       {SOTTO_RERANK_ORDER, SOTTO_RERANK_BEST, SOTTO_RERANK_EXACT, SOTTO_RERANK_NGRAM, SOTTO_RERANK_CALLBACK}) {
    search("samples " + std::to_string(rerank), [&](auto& p) {
      p.mode = SOTTO_SEARCH_SAMPLE;
      p.rerank = rerank;
      p.similarity = [](void*, const sotto_token*, size_t a, const sotto_token*, size_t b) {
        return a == b ? 1.0 : 0.0;
      };
    });
  }
}

size_t draft_anything(void*, const sotto_token* tokens, size_t token_count, const float*, size_t, sotto_token* drafts,
                      size_t capacity) {
  for (size_t i = 0; i < capacity; ++i) drafts[i] = tokens[i % token_count];
  return capacity;
}

TEST_P(DecodingAllocation, SpeculationDoesNotAllocate) {
  for (uint32_t sources = 1; sources <= 32; sources *= 2) {
    sotto_speculation_params params;
    sotto_speculation_params_init(&params, sizeof params);
    params.sources = sources == 32 ? 31 : sources;
    params.draft_session = other_;
    params.draft = draft_anything;
    expect_no_allocation("set_speculation", [&] { return sotto_session_set_speculation(session_, &params, nullptr); });
    run("sources " + std::to_string(sources), [](auto& p) {
      p.allowed_tokens = kPrompt;
      p.allowed_token_count = kPromptCount;
    });
    sotto_speculation_info info = {};
    info.struct_size = sizeof info;
    expect_no_allocation("info", [&] { return sotto_session_get_speculation_info(session_, &info); });
    EXPECT_GT(info.proposed_count, 0u) << sources;
  }
  expect_no_allocation("no speculation", [&] { return sotto_session_set_speculation(session_, nullptr, nullptr); });
}

TEST_P(DecodingAllocation, StandaloneSamplersDoNotAllocate) {
  size_t size = 0;
  ASSERT_EQ(sotto_sampler_memory_size(1000, 1024, &size, nullptr), SOTTO_OK);
  AlignedBytes memory(size);
  sotto_sampler* sampler = nullptr;
  ASSERT_EQ(sotto_sampler_init(nullptr, 1000, 1024, memory.data(), size, &sampler, nullptr), SOTTO_OK);
  std::vector<float> logits(1000);
  for (size_t i = 0; i < logits.size(); ++i) logits[i] = static_cast<float>(i % 37) * 0.1f;
  sotto_sampler_input input = {};
  input.struct_size = sizeof input;
  input.logits = logits.data();
  input.history = kPrompt;
  input.history_count = kPromptCount;
  sotto_token token = -1;
  expect_no_allocation("sample", [&] { return sotto_sampler_sample(sampler, &input, &token, nullptr); });
  std::vector<sotto_token> tokens(1000);
  std::vector<float> probabilities(1000);
  size_t count = 0;
  expect_no_allocation("apply", [&] {
    return sotto_sampler_apply(sampler, &input, tokens.data(), probabilities.data(), 1000, &count, nullptr);
  });
}

INSTANTIATE_TEST_SUITE_P(Threads, DecodingAllocation, testing::Values(1u, 2u));

}  // namespace
}  // namespace sotto
