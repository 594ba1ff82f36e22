// Measures the stack depth of the functions of sessions, and of grammars with the sources and texts that have the
// deepest nesting. The functions run on a thread with a small painted stack.
#include <gtest/gtest.h>
#include <pthread.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/capi/open_session.h"
#include "tests/capi/session_calls.h"
#include "tests/memory/support.h"

namespace sotto {
namespace {

constexpr size_t kStackBytes = 128 << 10;
constexpr size_t kMaxBytes = 64 << 10;  // as capi/README.md states

// Returns the bytes of stack that `work` needs, including the thread's own.
size_t stack_of(const std::function<void()>& work) {
  constexpr uint8_t kPaint = 0xA7;
  alignas(4096) static uint8_t stack[kStackBytes];
  std::fill(std::begin(stack), std::end(stack), kPaint);
  pthread_attr_t attributes;
  EXPECT_EQ(pthread_attr_init(&attributes), 0);
  EXPECT_EQ(pthread_attr_setstack(&attributes, stack, sizeof stack), 0);
  pthread_t thread;
  const auto run = [](void* self) -> void* {
    (*static_cast<const std::function<void()>*>(self))();
    return nullptr;
  };
  EXPECT_EQ(pthread_create(&thread, &attributes, run, const_cast<std::function<void()>*>(&work)), 0);
  EXPECT_EQ(pthread_join(thread, nullptr), 0);
  pthread_attr_destroy(&attributes);
  const auto* used = std::find_if(std::begin(stack), std::end(stack), [](uint8_t byte) { return byte != kPaint; });
  return static_cast<size_t>(std::end(stack) - used);
}

std::string repeat(const std::string& text, size_t count) {
  std::string whole;
  for (size_t i = 0; i < count; ++i) whole += text;
  return whole;
}

struct Source {
  const char* name;
  sotto_grammar_language language;
  std::string text;
  sotto_status status;
};

std::vector<Source> sources() {
  const auto nested = [](size_t depth) {
    return repeat(R"({"type":"object","properties":{"a":)", depth) + "true" + repeat("}}", depth);
  };
  return {
      {"60,000 parentheses", SOTTO_GRAMMAR_GBNF, "root ::= " + repeat("(", 60000), SOTTO_GRAMMAR_SYNTAX},
      {"500 parentheses", SOTTO_GRAMMAR_GBNF, "root ::= " + repeat("(\"a\" | ", 500) + "\"b\"" + repeat(")", 500),
       SOTTO_OK},
      {"rules in a chain", SOTTO_GRAMMAR_GBNF,
       [] {
         std::string text = "root ::= r0\n";
         for (int i = 0; i < 3000; ++i) {
           text += "r" + std::to_string(i) + " ::= \"(\" r" + std::to_string(i + 1) + " \")\" | \"x\"\n";
         }
         return text + "r3000 ::= root | \"y\"\n";
       }(),
       SOTTO_OK},
      {"60,000 groups", SOTTO_GRAMMAR_REGEX, repeat("(", 60000), SOTTO_GRAMMAR_SYNTAX},
      {"500 groups", SOTTO_GRAMMAR_REGEX, repeat("(?:a|", 500) + "b" + repeat(")*", 500), SOTTO_OK},
      {"nested schema", SOTTO_GRAMMAR_JSON_SCHEMA, nested(100), SOTTO_OK},
      {"nested arrays", SOTTO_GRAMMAR_JSON_SCHEMA, repeat("[", 60000), SOTTO_GRAMMAR_SYNTAX},
      {"nested combinations", SOTTO_GRAMMAR_JSON_SCHEMA,
       repeat(R"({"anyOf":[{"type":"null"},)", 100) + R"({"pattern":"^(a|b){2,9}$","minLength":3})" + repeat("]}", 100),
       SOTTO_OK},
      {"formats", SOTTO_GRAMMAR_JSON_SCHEMA,
       R"({"anyOf":[{"format":"date-time"},{"format":"uri"},{"format":"email"},{"format":"ipv6"}],
           "type":"string"})",
       SOTTO_OK},
      {"numbers", SOTTO_GRAMMAR_NUMBER, R"({"minimum":-123456789.5,"maximum":987654321.25})", SOTTO_OK},
      {"any JSON", SOTTO_GRAMMAR_JSON, "", SOTTO_OK},
  };
}

class Stack : public testing::Test {
 protected:
  Stack() : model_(make_model_file({400, 64, 96, 3, 200, 6}, true)) {}

  // Follows texts of brackets and letters as far as they fit.
  void follow(const sotto_grammar* grammar, const sotto_vocabulary* vocabulary) {
    sotto_matcher* matcher = nullptr;
    AlignedBytes& memory = *matcher_memory_;
    ASSERT_EQ(sotto_matcher_init(grammar, vocabulary, nullptr, memory.data(), memory.size(), &matcher, nullptr),
              SOTTO_OK);
    uint64_t words[7];
    for (int step = 0; step < 300; ++step) {
      if (sotto_matcher_mask(matcher, 0, words, std::size(words)) != SOTTO_OK) return;
      sotto_token token = -1;
      for (const char first : {'[', '{', '(', '"', 'a', ':', '1', '}'}) {
        const auto t = static_cast<uint8_t>(first);
        if (token < 0 && (words[t / 64] >> t % 64 & 1) != 0) token = t;
      }
      for (sotto_token t = 0; t < 400 && token < 0; ++t) {
        if ((words[t / 64] >> t % 64 & 1) != 0) token = t;
      }
      if (sotto_matcher_accept_token(matcher, 0, token) != SOTTO_OK) return;
    }
    (void)sotto_matcher_accept_text(matcher, 0, "]]", 2);
    char text[16];
    size_t size = 0;
    (void)sotto_matcher_forced_text(matcher, 0, text, sizeof text, &size);
    (void)sotto_matcher_rewind(matcher, 20);
  }

  LoadedModel model_;
  std::unique_ptr<AlignedBytes> matcher_memory_;
};

// Returns the instruction set that SOTTO_TEST_ISA names.
sotto_isa isa_of_environment() {
  const char* name = std::getenv("SOTTO_TEST_ISA");
  sotto_isa isa = SOTTO_ISA_AUTO;
  while (name != nullptr && std::strcmp(sotto_isa_text(isa), name) != 0) ++isa;
  return isa;
}

// ctest runs this once for each instruction set.
TEST(SessionStack, EveryFunctionOfASessionUsesLittleStack) {
  const sotto_isa isa = isa_of_environment();
  const auto open = [](sotto_session_params& params) {
    allow_everything(params);
    params.batch_tokens = 64;
  };
  const auto prompt = random_tokens(64, kShape.vocabulary_size, 1);
  std::map<std::string, size_t> stacks;
  AlignedBytes file(make_model_file(kShape, true));
  sotto_model_params params;
  sotto_model_params_init(&params, sizeof params);
  params.isa = isa;
  size_t size = 0;
  if (sotto_model_memory_size(file.data(), file.size(), &params, &size, nullptr) == SOTTO_CPU_UNSUPPORTED) {
    GTEST_SKIP() << "this CPU or build lacks the instruction set";
  }
  for (const bool is_int4 : {false, true}) {
    LoadedModel model(is_int4 ? make_int4_model_file(kShape, true) : make_model_file(kShape, true), isa);
    OpenSession other(model.get(), open);
    auto all = calls(other.get());
    all.push_back(
        {"prefill of a batch", [&](auto* s) { return sotto_session_prefill(s, prompt.data(), prompt.size()); }});
    all.push_back({"sessions_next", [&](auto* s) {
                     sotto_session* const both[] = {s, other.get()};
                     const sotto_piece* pieces[2];
                     sotto_status statuses[2];
                     return sotto_sessions_next(both, 2, pieces, statuses, nullptr);
                   }});
    for (const Call& call : all) {
      OpenSession session(model.get(), open);
      ASSERT_EQ(sotto_session_prefill(session.get(), kPrompt, 4), SOTTO_OK);
      ASSERT_EQ(sotto_session_prefill(other.get(), kPrompt, 4), SOTTO_OK);
      size_t& most = stacks[call.name];
      most = std::max(most, stack_of([&] { (void)call.run(session.get()); }));
    }
  }
  for (const auto& [name, bytes] : stacks) {
    EXPECT_LT(bytes, kMaxBytes) << name;
    std::printf("stack: %6zu %s\n", bytes, name.c_str());
  }
}

TEST_F(Stack, VocabulariesGrammarsAndMatchersUseLittleStack) {
  const size_t nothing = stack_of([] {});
  sotto_vocabulary_params words;
  sotto_vocabulary_params_init(&words, sizeof words);
  words.model = model_.get();
  sotto_vocabulary* vocabulary = nullptr;
  AlignedBytes vocabulary_memory(1 << 20);
  std::string bytes;
  std::vector<uint32_t> offsets = {0};
  for (uint32_t token = 0; token < 9000; ++token) {
    bytes += std::to_string(token * 7919 % 9001);
    offsets.push_back(static_cast<uint32_t>(bytes.size()));
  }
  sotto_vocabulary_params arrays;
  sotto_vocabulary_params_init(&arrays, sizeof arrays);
  arrays.token_count = 9000;
  arrays.bytes = bytes.data();
  arrays.offsets = offsets.data();
  const size_t prepared = stack_of([&] {
    size_t size = 0;
    sotto_vocabulary* other = nullptr;
    void* block = vocabulary_memory.data();
    EXPECT_EQ(sotto_vocabulary_memory_size(&arrays, &size, nullptr), SOTTO_OK);
    EXPECT_EQ(sotto_vocabulary_init(&arrays, block, size - 1, &other, nullptr), SOTTO_MEMORY_TOO_SMALL);
    EXPECT_EQ(sotto_vocabulary_init(&arrays, block, size, &other, nullptr), SOTTO_OK);
    EXPECT_EQ(sotto_vocabulary_init(&words, block, vocabulary_memory.size(), &vocabulary, nullptr), SOTTO_OK);
  });
  EXPECT_LT(prepared, kMaxBytes);
  size_t deepest_compile = 0, deepest_match = 0;
  AlignedBytes memory(size_t{64} << 20);
  for (const Source& source : sources()) {
    sotto_grammar_params params;
    sotto_grammar_params_init(&params, sizeof params);
    params.language = source.language;
    sotto_grammar* grammar = nullptr;
    size_t size = 0;
    sotto_status status = SOTTO_INTERNAL;
    const size_t compiled = stack_of([&] {
      status = sotto_grammar_compile(source.text.data(), source.text.size(), &params, memory.data(), memory.size(),
                                     &grammar, &size, nullptr);
    });
    EXPECT_EQ(status, source.status) << source.name;
    EXPECT_LT(compiled, kMaxBytes) << source.name;
    deepest_compile = std::max(deepest_compile, compiled);
    if (status != SOTTO_OK) continue;
    ASSERT_EQ(sotto_matcher_memory_size(grammar, vocabulary, nullptr, &size, nullptr), SOTTO_OK);
    matcher_memory_ = std::make_unique<AlignedBytes>(size);
    const size_t matched = stack_of([&] { follow(grammar, vocabulary); });
    EXPECT_LT(matched, kMaxBytes) << source.name;
    deepest_match = std::max(deepest_match, matched);
  }
  std::printf("stack: %zu for the thread, %zu with a vocabulary, %zu compiling, %zu matching\n", nothing, prepared,
              deepest_compile, deepest_match);
}

}  // namespace
}  // namespace sotto
