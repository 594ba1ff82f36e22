// Tests that no function for grammars allocates, not even the _init functions: compilation, masks, texts, and sessions
// under a grammar in every mode of sampling and search.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/memory/allocation_counter.h"
#include "tests/memory/search_modes.h"
#include "tests/memory/support.h"

namespace sotto {
namespace {

constexpr ModelShape kShape = {400, 64, 96, 3, 200, 6};
constexpr sotto_token kPrompt[] = {5, 6, 7, 5, 6, 9, 10, 11, 12, 5, 6};
constexpr size_t kPromptCount = std::size(kPrompt);
constexpr uint32_t kSequences = 4;

const char kGbnf[] = "root ::= \"(\" root* \")\" | [a-z]{2,5} | <[399]> [^a]";
const char kSchema[] = R"({"type":"object","properties":{"a":{"type":"integer"},
    "b":{"type":"array","items":{"pattern":"^[a-c]+$"}}},"required":["a"]})";

struct Case {
  uint32_t threads;
  sotto_grammar_language language;
};

class GrammarAllocation : public testing::TestWithParam<Case> {
 protected:
  GrammarAllocation() : model_(make_model_file(kShape, true)) {
    sotto_vocabulary_params words;
    sotto_vocabulary_params_init(&words, sizeof words);
    words.model = model_.get();
    size_t size = 0;
    expect_no_allocation("vocabulary size", [&] { return sotto_vocabulary_memory_size(&words, &size, nullptr); });
    void* memory = block(size);
    expect_no_allocation("vocabulary",
                         [&] { return sotto_vocabulary_init(&words, memory, size, &vocabulary_, nullptr); });
    const bool is_gbnf = GetParam().language == SOTTO_GRAMMAR_GBNF;
    const std::string source = is_gbnf ? kGbnf : kSchema;
    sotto_grammar_params params;
    sotto_grammar_params_init(&params, sizeof params);
    params.language = GetParam().language;
    params.vocabulary = vocabulary_;
    size = sotto_grammar_typical_memory(source.size());
    memory = block(size);
    expect_no_allocation("compile", [&] {
      return sotto_grammar_compile(source.data(), source.size(), &params, memory, size, &grammar_, &size, nullptr);
    });
    sotto_matcher_params limits;
    sotto_matcher_params_init(&limits, sizeof limits);
    limits.sequence_count = 2 * kSequences + 1;
    expect_no_allocation("matcher size",
                         [&] { return sotto_matcher_memory_size(grammar_, vocabulary_, &limits, &size, nullptr); });
    memory = block(size);
    expect_no_allocation("matcher", [&] {
      return sotto_matcher_init(grammar_, vocabulary_, &limits, memory, size, &matcher_, nullptr);
    });
    open_session();
  }
  ~GrammarAllocation() override { sotto_session_deinit(session_); }

  void* block(size_t size) {
    blocks_.push_back(std::make_unique<AlignedBytes>(size));
    return blocks_.back()->data();
  }

  void open_session() {
    sotto_session_params params;
    sotto_session_params_init(&params, sizeof params);
    params.batch_tokens = 8;
    params.thread_count = GetParam().threads;
    params.sequence_count = kSequences;
    params.sequence_tokens = 6;
    params.features = SOTTO_FEATURE_HIDDEN_HISTORY | SOTTO_FEATURE_DOLA | SOTTO_FEATURE_GUIDE;
    size_t size = 0;
    ASSERT_EQ(sotto_session_memory_size(model_.get(), &params, &size, nullptr), SOTTO_OK);
    ASSERT_EQ(sotto_session_init(model_.get(), &params, block(size), size, &session_, nullptr), SOTTO_OK);
    ASSERT_EQ(sotto_session_prefill(session_, kPrompt, kPromptCount), SOTTO_OK);
    expect_no_allocation("set", [&] { return sotto_session_set_matcher(session_, matcher_, nullptr); });
  }

  // Sets a sampler, generates under the grammar, and rolls the tokens back.
  void run(const std::string& name, const std::function<void(sotto_sampler_params&)>& adjust) {
    sotto_sampler_params params;
    sotto_sampler_params_init(&params, sizeof params);
    params.temperature = 1.5f;
    params.seed = ++runs_;
    adjust(params);
    expect_no_allocation(name, [&] { return sotto_session_set_sampler(session_, &params, nullptr); });
    expect_no_allocation(name, [&] { return sotto_session_generate(session_, nullptr, 0, 24, nullptr, nullptr); });
    expect_no_allocation(name, [&] { return sotto_session_rewind(session_, kPromptCount); });
  }

  LoadedModel model_;
  std::vector<std::unique_ptr<AlignedBytes>> blocks_;
  sotto_vocabulary* vocabulary_ = nullptr;
  sotto_grammar* grammar_ = nullptr;
  sotto_matcher* matcher_ = nullptr;
  sotto_session* session_ = nullptr;
  uint64_t runs_ = 0;
};

TEST_P(GrammarAllocation, MatchersDoNotAllocate) {
  std::vector<uint64_t> words((kShape.vocabulary_size + 63) / 64);
  char text[64];
  size_t size = 0;
  uint32_t begins = 0, matches = 0;
  for (uint32_t sequence = 0; sequence < 3; ++sequence) {
    for (int step = 0; step < 20; ++step) {
      expect_no_allocation("mask", [&] { return sotto_matcher_mask(matcher_, sequence, words.data(), words.size()); });
      const uint64_t* view = nullptr;
      expect_no_allocation("view", [&] { return sotto_matcher_borrow_mask(matcher_, sequence, &view); });
      sotto_token token = 0;
      for (size_t i = 0; i < kShape.vocabulary_size; ++i) {
        const size_t t = (i * 7 + static_cast<size_t>(step) * 31) % kShape.vocabulary_size;
        if ((words[t / 64] >> t % 64 & 1) != 0) token = static_cast<sotto_token>(t);
      }
      expect_no_allocation("accept", [&] { return sotto_matcher_accept_token(matcher_, sequence, token); });
      sotto_matcher_info info = {};
      info.struct_size = sizeof info;
      expect_no_allocation("info", [&] { return sotto_matcher_get_info(matcher_, sequence, &info); });
      expect_no_allocation("test", [&] { return sotto_matcher_test(matcher_, sequence, "((", 2, &begins, &matches); });
      expect_no_allocation("forced",
                           [&] { return sotto_matcher_forced_text(matcher_, sequence, text, sizeof text, &size); });
      if (info.must_end == 1) break;
    }
  }
  expect_no_allocation("rewind", [&] { return sotto_matcher_rewind(matcher_, 1); });
  expect_no_allocation("fork", [&] { return sotto_matcher_fork(matcher_, 0, 2); });
  expect_no_allocation("reset", [&] { return sotto_matcher_reset(matcher_, 0); });
}

TEST_P(GrammarAllocation, SamplingUnderAGrammarDoesNotAllocate) {
  for (const sotto_selection selection : {SOTTO_SELECT_MULTINOMIAL, SOTTO_SELECT_GREEDY, SOTTO_SELECT_GUMBEL,
                                          SOTTO_SELECT_MIROSTAT, SOTTO_SELECT_MIROSTAT_V2, SOTTO_SELECT_ADAPTIVE_P}) {
    run("selection " + std::to_string(selection), [&](auto& p) {
      p.selection = selection;
      p.adaptive_target = 0.3f;
    });
  }
  run("stages", [](auto& p) {
    p.top_k = 9;
    p.top_p = 0.9f;
    p.min_p = 0.01f;
    p.typical_p = 0.9f;
    p.tail_free = 0.9f;
    p.xtc_probability = 0.5f;
    p.dry_multiplier = 1;
    p.repetition_penalty = 1.2f;
    p.no_repeat_ngram = 3;
  });
  run("dola", [](auto& p) { p.dola = SOTTO_DOLA_HIGH; });
  const sotto_text banned[] = {{"ab", 2}, {"1", 1}};
  sotto_stop_params stops;
  sotto_stop_params_init(&stops, sizeof stops);
  stops.banned_strings = banned;
  stops.banned_string_count = 2;
  expect_no_allocation("stops", [&] { return sotto_session_set_stops(session_, &stops, nullptr); });
  run("bans", [](auto&) {});
  expect_no_allocation("heal", [&] { return sotto_session_prefill(session_, kPrompt, 3); });
  expect_no_allocation("heal", [&] { return sotto_session_heal(session_); });
  expect_no_allocation("heal", [&] { return sotto_session_generate(session_, nullptr, 0, 12, nullptr, nullptr); });
  begin_counting();
  sotto_session_reset(session_);
  EXPECT_EQ(end_counting(), 0u);
  expect_no_allocation("unset", [&] { return sotto_session_set_matcher(session_, nullptr, nullptr); });
}

TEST_P(GrammarAllocation, SearchesUnderAGrammarDoNotAllocate) {
  const auto search = [&](const std::string& name, auto adjust) {
    expect_search_does_not_allocate(session_, name, adjust);
  };
  search("beam", [](auto&) {});
  search("groups", [](auto& p) {
    p.group_count = 2;
    p.diversity_penalty = 0.5f;
  });
  search("beam sampling", [](auto& p) { p.mode = SOTTO_SEARCH_BEAM_SAMPLE; });
  search("contrastive", [](auto& p) { p.mode = SOTTO_SEARCH_CONTRASTIVE; });
  for (const sotto_rerank rerank : {SOTTO_RERANK_ORDER, SOTTO_RERANK_BEST, SOTTO_RERANK_EXACT}) {
    search("samples " + std::to_string(rerank), [&](auto& p) {
      p.mode = SOTTO_SEARCH_SAMPLE;
      p.rerank = rerank;
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, GrammarAllocation,
                         testing::Values(Case{1, SOTTO_GRAMMAR_GBNF}, Case{2, SOTTO_GRAMMAR_GBNF},
                                         Case{1, SOTTO_GRAMMAR_JSON_SCHEMA}, Case{2, SOTTO_GRAMMAR_JSON_SCHEMA}));

}  // namespace
}  // namespace sotto
