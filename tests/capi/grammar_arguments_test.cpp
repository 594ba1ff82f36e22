// Tests every argument of sotto_grammar.h that is out of range, missing, too small or misaligned. Each must be rejected
// by name, and nothing may be written.
#include <algorithm>

#include "tests/capi/named_errors.h"
#include "tests/capi/open_grammar.h"
#include "tests/capi/open_session.h"

namespace sotto {
namespace {

class GrammarArguments : public NamedErrors {
 protected:
  GrammarArguments()
      : vocabulary_({"a", "b", "c"}, {0, 0, 1}, {2}), grammar_("root ::= [ab]*"), matcher_(grammar_, &vocabulary_) {}

  OpenVocabulary vocabulary_;
  OpenGrammar grammar_;
  OpenMatcher matcher_;
};

TEST_F(GrammarArguments, WrongVocabulariesAreRejected) {
  size_t size = 7;
  AlignedBytes memory(1 << 16);
  sotto_vocabulary* made = nullptr;
  const auto refused = [&](const sotto_vocabulary_params* params, const std::string& word) {
    expect_error(sotto_vocabulary_memory_size(params, &size, &error_), word);
    expect_error(sotto_vocabulary_init(params, memory.data(), memory.size(), &made, &error_), word);
    EXPECT_EQ(size, 7u);
    EXPECT_EQ(made, nullptr);
  };
  refused(nullptr, "token_count");  // the defaults name no tokens
  const auto spoil = [&](const std::string& word, auto&& change) {
    sotto_vocabulary_params params = vocabulary_.params();
    change(params);
    refused(&params, word);
  };
  const uint32_t backwards[] = {0, 2, 1, 3};
  const sotto_token beyond = 3, negative = -1;
  const std::string long_bytes(300, 'x');
  const uint32_t long_offsets[] = {0, 1, 2, 300};
  spoil("struct_size", [](auto& p) { p.struct_size = 0; });
  spoil("token_count", [](auto& p) { p.token_count = 0; });
  spoil("offsets", [](auto& p) { p.offsets = nullptr; });
  spoil("offsets", [&](auto& p) { p.offsets = backwards; });
  spoil("bytes", [](auto& p) { p.bytes = nullptr; });
  spoil("end_tokens", [](auto& p) { p.end_tokens = nullptr; });
  spoil("end_tokens", [&](auto& p) { p.end_tokens = &beyond; });
  spoil("end_tokens", [&](auto& p) { p.end_tokens = &negative; });
  spoil("token 2", [&](auto& p) {
    p.bytes = long_bytes.data();
    p.offsets = long_offsets;
    p.special = nullptr;
    p.end_token_count = 0;
  });
  LoadedModel mute(make_model_file({300, 64, 48, 3, 100, 2}, false));
  LoadedModel model(make_model_file({300, 64, 48, 3, 100, 2}, true));
  spoil("token_count", [&](auto& p) { p.model = model.get(); });
  sotto_vocabulary_params params;
  sotto_vocabulary_params_init(&params, sizeof params);
  EXPECT_EQ(params.struct_size, sizeof params);
  params.model = mute.get();
  expect_error(sotto_vocabulary_memory_size(&params, &size, &error_), "tokenizer", SOTTO_TOKENIZER_MISSING);
  expect_error(sotto_vocabulary_memory_size(&vocabulary_.params(), nullptr, &error_), "memory_size");
  const auto& fine = vocabulary_.params();
  expect_error(sotto_vocabulary_init(&fine, nullptr, 1, &made, &error_), "memory");
  expect_error(sotto_vocabulary_init(&fine, memory.data(), memory.size(), nullptr, &error_), "vocabulary");
  expect_error(sotto_vocabulary_init(&fine, memory.data() + 8, 4096, &made, &error_), "aligned",
               SOTTO_MEMORY_MISALIGNED);
}

TEST_F(GrammarArguments, VocabulariesFitTheirMemorySizeExactly) {
  LoadedModel model(make_model_file({300, 64, 48, 3, 100, 2}, true));
  sotto_vocabulary_params of_model;
  sotto_vocabulary_params_init(&of_model, sizeof of_model);
  of_model.model = model.get();
  for (const auto* params : {&vocabulary_.params(), const_cast<const sotto_vocabulary_params*>(&of_model)}) {
    size_t size = 0;
    ASSERT_EQ(sotto_vocabulary_memory_size(params, &size, nullptr), SOTTO_OK);
    sotto_vocabulary* made = nullptr;
    for (size_t less = 0; less <= size; less += 1 + size / 50) {
      GuardedBytes memory(size - less);
      const sotto_status status = sotto_vocabulary_init(params, memory.data(), size - less, &made, &error_);
      EXPECT_EQ(status, less == 0 ? SOTTO_OK : SOTTO_MEMORY_TOO_SMALL) << less;
      EXPECT_TRUE(memory.guards_intact()) << less;
    }
  }
}

TEST_F(GrammarArguments, WrongGrammarParametersAreRejected) {
  AlignedBytes memory(1 << 18);
  sotto_grammar* made = nullptr;
  size_t size = 7;
  const auto refused = [&](const sotto_grammar_params* params, const std::string& word,
                           sotto_status expected = SOTTO_INVALID_ARGUMENT) {
    expect_error(
        sotto_grammar_compile("root ::= \"a\"", 12, params, memory.data(), memory.size(), &made, &size, &error_), word,
        expected);
    EXPECT_EQ(size, 7u);
    EXPECT_EQ(made, nullptr);
  };
  const auto spoil = [&](const std::string& word, auto&& change, sotto_status expected = SOTTO_INVALID_ARGUMENT) {
    sotto_grammar_params params;
    sotto_grammar_params_init(&params, sizeof params);
    change(params);
    refused(&params, word, expected);
  };
  spoil("struct_size", [](auto& p) { p.struct_size = 0; });
  spoil("language", [](auto& p) { p.language = -1; });
  spoil("language", [](auto& p) { p.language = SOTTO_GRAMMAR_STRUCTURAL_TAG + 1; });
  spoil("root", [](auto& p) { p.root = {nullptr, 4}; });
  spoil("root", [](auto& p) { p.root = {"root", 0}; });
  spoil(
      "other",
      [](auto& p) {
        p.root = {"other", 5};
      },
      SOTTO_GRAMMAR_SYNTAX);
  spoil("json_space", [](auto& p) { p.json_space = 3; });
  spoil("json_space", [](auto& p) { p.json_space = -1; });
  spoil("max_space", [](auto& p) { p.max_space = UINT32_MAX - 1; });
  spoil("allow_surrounding_whitespace", [](auto& p) { p.allow_surrounding_whitespace = 2; });
  spoil("schema_draft", [](auto& p) { p.schema_draft = 6; });
  spoil("assert_formats", [](auto& p) { p.assert_formats = 2; });
  spoil("forbid_additional", [](auto& p) { p.forbid_additional = 2; });
  spoil("assume_distinct_names", [](auto& p) { p.assume_distinct_names = 2; });
  spoil("schema_order", [](auto& p) { p.schema_order = 2; });
  spoil("max_digits", [](auto& p) { p.max_digits = 401; });
  spoil("max_string_length", [](auto& p) { p.max_string_length = UINT32_MAX; });
  spoil("max_schema_steps", [](auto& p) { p.max_schema_steps = 0; });
  spoil("parallel_tool_calls", [](auto& p) { p.parallel_tool_calls = 2; });
  spoil("triggers", [](auto& p) { p.trigger_count = 1; });
  spoil("trigger_tokens", [](auto& p) { p.trigger_token_count = 1; });
  const sotto_text empty = {"", 0}, null = {nullptr, 3}, wrong = {"\xC3", 1};
  for (const sotto_text* text : {&empty, &null, &wrong}) {
    spoil("triggers[0]", [&](auto& p) {
      p.triggers = text;
      p.trigger_count = 1;
    });
  }
  for (const sotto_token token : {-1, 3}) {
    spoil("trigger_tokens[0]", [&](auto& p) {
      p.vocabulary = vocabulary_.get();
      p.trigger_tokens = &token;
      p.trigger_token_count = 1;
    });
  }
  const sotto_token token = 0;
  spoil("vocabulary", [&](auto& p) {
    p.trigger_tokens = &token;
    p.trigger_token_count = 1;
  });
  const auto compile = [&](const char* source, size_t source_size, void* block, size_t capacity,
                           sotto_grammar** grammar, size_t* grammar_size) {
    return sotto_grammar_compile(source, source_size, nullptr, block, capacity, grammar, grammar_size, &error_);
  };
  expect_error(compile(nullptr, 1, memory.data(), 4096, &made, &size), "source");
  expect_error(compile("", 0, nullptr, 4096, &made, &size), "memory");
  expect_error(compile("", 0, memory.data(), 4096, nullptr, &size), "grammar");
  expect_error(compile("", 0, memory.data(), 4096, &made, nullptr), "grammar_size");
  expect_error(compile("", 0, memory.data() + 8, 4096, &made, &size), "aligned", SOTTO_MEMORY_MISALIGNED);
  expect_error(compile(nullptr, 0, memory.data(), 4096, &made, &size), "missing rule", SOTTO_GRAMMAR_SYNTAX);
  EXPECT_GT(sotto_grammar_typical_memory(SIZE_MAX), sotto_grammar_typical_memory(1));
}

TEST_F(GrammarArguments, CompilingInTooLittleMemoryFails) {
  const std::string source = R"({"type":"object","properties":{"a":{"pattern":"^[a-z]+$"},
                                 "b":{"type":"array","items":{"minimum":3}}}})";
  sotto_grammar_params params;
  sotto_grammar_params_init(&params, sizeof params);
  params.language = SOTTO_GRAMMAR_JSON_SCHEMA;
  const sotto_text trigger = {"<call>", 6};
  params.triggers = &trigger;
  params.trigger_count = 1;
  bool fitted = false;
  size_t least = 0;
  for (size_t size = 0; size < 400000; size += 64 + size / 16) {
    GuardedBytes memory(size);
    sotto_grammar* made = nullptr;
    size_t kept = 0;
    const sotto_status status =
        sotto_grammar_compile(source.data(), source.size(), &params, memory.data(), size, &made, &kept, &error_);
    ASSERT_TRUE(memory.guards_intact()) << size;
    if (status == SOTTO_OK) {
      if (!fitted) least = size;
      fitted = true;
      EXPECT_LE(kept, size);
      EXPECT_EQ(static_cast<void*>(made), memory.data());
    } else {
      EXPECT_EQ(status, SOTTO_GRAMMAR_TOO_LARGE) << size << " " << error_.message;
      EXPECT_EQ(error_.offset, UINT64_MAX) << size;
    }
  }
  EXPECT_TRUE(fitted);
  EXPECT_LT(least, sotto_grammar_typical_memory(source.size()));
}

// An offset says that more memory would not help.
TEST_F(GrammarArguments, SchemaStepsAreLimited) {
  const std::string source = R"({"allOf":[{"anyOf":[{"required":["a"]},{"required":["b"]}]},
                                          {"anyOf":[{"required":["c"]},{"required":["d"]}]}]})";
  sotto_grammar_params params;
  sotto_grammar_params_init(&params, sizeof params);
  params.language = SOTTO_GRAMMAR_JSON_SCHEMA;
  AlignedBytes memory(1 << 20);
  sotto_grammar* made = nullptr;
  size_t kept = 0;
  const auto compile = [&](uint32_t max_steps) {
    params.max_schema_steps = max_steps;
    return sotto_grammar_compile(source.data(), source.size(), &params, memory.data(), memory.size(), &made, &kept,
                                 &error_);
  };
  uint32_t steps = 1;
  for (; steps < 10000 && compile(steps) != SOTTO_OK; ++steps) {
    ASSERT_EQ(error_.status, SOTTO_GRAMMAR_TOO_LARGE) << error_.message;
    EXPECT_EQ(error_.message, "max_schema_steps is " + std::to_string(steps) + "; the schema takes more steps");
    EXPECT_EQ(error_.offset, 0u);
    EXPECT_EQ(made, nullptr);
  }
  EXPECT_GT(steps, 10u);
  EXPECT_LT(steps, 10000u);
}

TEST_F(GrammarArguments, WrongMatcherParametersAreRejected) {
  size_t size = 7;
  AlignedBytes memory(1 << 16);
  sotto_matcher* made = nullptr;
  const auto spoil = [&](const std::string& word, auto&& change) {
    sotto_matcher_params params;
    sotto_matcher_params_init(&params, sizeof params);
    change(params);
    expect_error(sotto_matcher_memory_size(grammar_.get(), vocabulary_.get(), &params, &size, &error_), word);
    expect_error(
        sotto_matcher_init(grammar_.get(), vocabulary_.get(), &params, memory.data(), memory.size(), &made, &error_),
        word);
    EXPECT_EQ(size, 7u);
    EXPECT_EQ(made, nullptr);
  };
  spoil("struct_size", [](auto& p) { p.struct_size = 0; });
  spoil("sequence_count", [](auto& p) { p.sequence_count = 0; });
  spoil("sequence_count", [](auto& p) { p.sequence_count = 65537; });
  spoil("rollback_count", [](auto& p) { p.rollback_count = UINT32_MAX; });
  spoil("mask_bytes", [](auto& p) { p.mask_bytes = 1; });
  for (const uint32_t wrong : {1u, UINT32_MAX}) {
    spoil("node_count", [&](auto& p) { p.node_count = wrong; });
    spoil("frame_count", [&](auto& p) { p.frame_count = wrong; });
    spoil("state_set_count", [&](auto& p) { p.state_set_count = wrong; });
    spoil("state_count", [&](auto& p) { p.state_count = wrong; });
    spoil("visit_count", [&](auto& p) { p.visit_count = wrong; });
  }
  const OpenGrammar large("root ::= <[7]>", [&](auto& p) {
    static OpenVocabulary more({"a", "b", "c", "d", "e", "f", "g", "h"});
    p.vocabulary = more.get();
  });
  ASSERT_EQ(large.status, SOTTO_OK) << large.message();
  expect_error(sotto_matcher_memory_size(large.get(), vocabulary_.get(), nullptr, &size, &error_), "vocabulary");
  expect_error(sotto_matcher_memory_size(nullptr, nullptr, nullptr, &size, &error_), "grammar");
  expect_error(sotto_matcher_memory_size(grammar_.get(), nullptr, nullptr, nullptr, &error_), "memory_size");
  const auto init = [&](const sotto_grammar* grammar, void* block, sotto_matcher** matcher) {
    return sotto_matcher_init(grammar, nullptr, nullptr, block, memory.size(), matcher, &error_);
  };
  expect_error(init(nullptr, memory.data(), &made), "grammar");
  expect_error(init(grammar_.get(), nullptr, &made), "memory");
  expect_error(init(grammar_.get(), memory.data(), nullptr), "matcher");
  expect_error(init(grammar_.get(), memory.data() + 8, &made), "aligned", SOTTO_MEMORY_MISALIGNED);
}

TEST_F(GrammarArguments, MatchersFitTheirMemorySizeExactly) {
  for (const sotto_vocabulary* vocabulary : {vocabulary_.get(), (const sotto_vocabulary*)nullptr}) {
    size_t size = 0;
    ASSERT_EQ(sotto_matcher_memory_size(grammar_.get(), vocabulary, nullptr, &size, nullptr), SOTTO_OK);
    sotto_matcher* made = nullptr;
    for (const size_t less : {size_t{0}, size_t{1}, size / 2, size}) {
      GuardedBytes memory(size - less);
      EXPECT_EQ(sotto_matcher_init(grammar_.get(), vocabulary, nullptr, memory.data(), size - less, &made, nullptr),
                less == 0 ? SOTTO_OK : SOTTO_MEMORY_TOO_SMALL);
      EXPECT_TRUE(memory.guards_intact());
    }
    GuardedBytes memory(size);
    ASSERT_EQ(sotto_matcher_init(grammar_.get(), vocabulary, nullptr, memory.data(), size, &made, nullptr), SOTTO_OK);
    uint64_t word = 0;
    const sotto_status masked = sotto_matcher_mask(made, 0, &word, 1);
    EXPECT_EQ(masked, vocabulary == nullptr ? SOTTO_INVALID_ARGUMENT : SOTTO_OK);
    const uint64_t* view = nullptr;
    EXPECT_EQ(sotto_matcher_borrow_mask(made, 0, &view), masked);
    EXPECT_EQ(view != nullptr, masked == SOTTO_OK);
    EXPECT_EQ(sotto_matcher_accept_token(made, 0, 0), vocabulary == nullptr ? SOTTO_INVALID_ARGUMENT : SOTTO_OK);
    for (int i = 0; i < 300; ++i) {
      ASSERT_EQ(sotto_matcher_accept_text(made, 0, "ab", 2), SOTTO_OK);
    }
    EXPECT_TRUE(memory.guards_intact());
  }
}

TEST_F(GrammarArguments, WrongCallsOfAMatcherAreRejected) {
  sotto_matcher* m = matcher_.get();
  uint64_t words[2] = {};
  const uint64_t* view = nullptr;
  uint32_t begins = 9, matches = 9;
  char text[4];
  size_t size = 9;
  sotto_matcher_info info = {};
  info.struct_size = sizeof info;
  const sotto_status refused[] = {
      sotto_matcher_reset(nullptr, 0),
      sotto_matcher_reset(m, 1),
      sotto_matcher_mask(nullptr, 0, words, 2),
      sotto_matcher_mask(m, 1, words, 2),
      sotto_matcher_mask(m, 0, nullptr, 2),
      sotto_matcher_borrow_mask(nullptr, 0, &view),
      sotto_matcher_borrow_mask(m, 1, &view),
      sotto_matcher_borrow_mask(m, 0, nullptr),
      sotto_matcher_accept_token(nullptr, 0, 0),
      sotto_matcher_accept_token(m, 1, 0),
      sotto_matcher_accept_token(m, 0, 3),
      sotto_matcher_accept_token(m, 0, INT32_MIN),
      sotto_matcher_accept_text(nullptr, 0, "a", 1),
      sotto_matcher_accept_text(m, 1, "a", 1),
      sotto_matcher_accept_text(m, 0, nullptr, 1),
      sotto_matcher_test(nullptr, 0, "a", 1, &begins, &matches),
      sotto_matcher_test(m, 1, "a", 1, &begins, &matches),
      sotto_matcher_test(m, 0, nullptr, 1, &begins, &matches),
      sotto_matcher_test(m, 0, "a", 1, nullptr, &matches),
      sotto_matcher_test(m, 0, "a", 1, &begins, nullptr),
      sotto_matcher_rewind(nullptr, 0),
      sotto_matcher_fork(nullptr, 0, 0),
      sotto_matcher_fork(m, 0, 1),
      sotto_matcher_fork(m, 1, 0),
      sotto_matcher_forced_text(nullptr, 0, text, 4, &size),
      sotto_matcher_forced_text(m, 1, text, 4, &size),
      sotto_matcher_forced_text(m, 0, nullptr, 4, &size),
      sotto_matcher_forced_text(m, 0, text, 4, nullptr),
      sotto_matcher_get_info(nullptr, 0, &info),
      sotto_matcher_get_info(m, 1, &info),
      sotto_matcher_get_info(m, 0, nullptr),
  };
  for (const sotto_status status : refused) {
    EXPECT_EQ(status, SOTTO_INVALID_ARGUMENT) << &status - refused;
  }
  EXPECT_EQ(begins + matches, 18u);
  EXPECT_EQ(view, nullptr);
  EXPECT_EQ(sotto_matcher_mask(m, 0, words, 0), SOTTO_BUFFER_TOO_SMALL);
  EXPECT_EQ(sotto_matcher_rewind(m, 1), SOTTO_INVALID_STATE);
  EXPECT_EQ(sotto_matcher_test(m, 0, nullptr, 0, &begins, &matches), SOTTO_OK);
  EXPECT_EQ(begins + matches, 2u);
  info.struct_size = 0;
  EXPECT_EQ(sotto_matcher_get_info(m, 0, &info), SOTTO_INVALID_ARGUMENT);
  info.struct_size = offsetof(sotto_matcher_info, must_end);  // the size that an older caller knows
  info.must_end = 77;
  EXPECT_EQ(sotto_matcher_get_info(m, 0, &info), SOTTO_OK);
  EXPECT_EQ(info.may_end, 1u);
  EXPECT_EQ(info.must_end, 77u);

  LoadedModel model(make_model_file({300, 64, 48, 3, 100, 2}, true));
  OpenSession session(model.get());
  expect_error(sotto_session_set_matcher(nullptr, m, &error_), "session");
  expect_error(sotto_session_set_matcher(session.get(), m, &error_),
               "its vocabulary_size is 3; it must be the session's, 300");
  OpenMatcher mute(grammar_);
  expect_error(sotto_session_set_matcher(session.get(), mute.get(), &error_), "vocabulary");
  EXPECT_EQ(sotto_session_set_matcher(session.get(), nullptr, &error_), SOTTO_OK);
}

}  // namespace
}  // namespace sotto
