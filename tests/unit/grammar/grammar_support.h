// Grammars, vocabularies and matchers that own their memory.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/grammar/matcher/matcher.h"
#include "tests/support/files.h"
#include "tests/unit/grammar/compile_gbnf.h"

namespace sotto::test {

struct FreeMemory {
  void operator()(void* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<void, FreeMemory>;
Memory aligned_memory(size_t size);

inline std::span<const char> as_span(std::string_view text) { return {text.data(), text.size()}; }

// Returns the next number of a 31-bit random number generator.
uint64_t next_random(uint64_t* state);

class TestVocabulary {
 public:
  // Tokens without a value are special; `end_token` is -1 if there is none.
  TestVocabulary(const std::vector<std::optional<std::string>>& tokens, int32_t end_token);

  const Vocabulary& view() const { return vocabulary_; }
  size_t memory_size() const { return memory_size_; }
  const std::string& text(uint32_t token) const { return texts_[token]; }
  uint32_t size() const { return static_cast<uint32_t>(texts_.size()); }
  int32_t end_token() const { return end_token_; }
  // Sets the name of a special token, for literals.
  void set_name(uint32_t token, std::string_view name) { texts_[token] = name; }
  TokenNames names() const;

 private:
  std::vector<std::string> texts_;
  std::vector<char> bytes_;
  std::vector<uint32_t> offsets_{0};
  std::vector<uint8_t> special_;
  int32_t end_token_;
  Memory memory_;
  size_t memory_size_ = 0;
  Vocabulary vocabulary_;
};

inline constexpr char kGpt2Encoder[] = "tokenizer/vocab/encoder.json";  // a file of the shared data

// Returns the tokens of kGpt2Encoder.
std::unique_ptr<TestVocabulary> gpt2_vocabulary();
// Returns a vocabulary of every byte, some texts, and the end-of-text token 0.
TestVocabulary small_vocabulary(const std::vector<std::string>& texts = {});

class TestGrammar {
 public:
  explicit TestGrammar(std::string_view text, const CompileTuning& tuning = {},
                       const TestVocabulary* vocabulary = nullptr, std::string_view root = "root");

  bool valid() const { return status_ == Status::kOk; }
  Status status() const { return status_; }
  const std::string& message() const { return message_; }
  const std::vector<std::string>& warnings() const { return warnings_; }
  const CompiledGrammar& view() const { return *view_; }
  // Returns the grammar written as an image and opened again.
  TestGrammar reloaded() const;

 private:
  TestGrammar() = default;

  Status status_ = Status::kOk;
  std::string message_;
  std::vector<std::string> warnings_;
  Memory memory_;  // a copy, not the memory of the compilation
  const CompiledGrammar* view_ = nullptr;
};

// A matcher in memory of its own.
class OwnedMatcher {
 public:
  Status init(const CompiledGrammar& grammar, const Vocabulary* vocabulary, const MatcherParams& params = {},
              const MaskShortcuts& shortcuts = {}, Error* error = nullptr);
  size_t memory_size() const { return memory_size_; }

  Matcher& operator*() { return *matcher_; }
  Matcher* operator->() { return matcher_; }

 private:
  size_t memory_size_ = 0;
  Memory memory_;
  Matcher* matcher_ = nullptr;
};

// A copy of a mask, whose words are compared instead of its tokens.
class AllowedTokens {
 public:
  AllowedTokens() = default;
  AllowedTokens(const std::vector<bool>& allowed);
  explicit AllowedTokens(const TokenMask& mask);

  bool operator[](size_t token) const { return has_bit(words_.data(), token); }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  bool operator==(const AllowedTokens&) const = default;

 private:
  size_t size_ = 0;
  std::vector<uint64_t> words_;
};

class TestMatcher {
 public:
  explicit TestMatcher(const TestGrammar& grammar, const TestVocabulary* vocabulary = nullptr,
                       const MatcherParams& limits = {}, const MaskShortcuts& shortcuts = {});

  Matcher& operator*() { return *matcher_; }
  Matcher* operator->() { return &*matcher_; }
  // Returns whether the text is in the language, from the start state, or nullopt if a limit was reached.
  std::optional<bool> matches(std::string_view text);
  Status accept(std::string_view text) { return matcher_->accept_text(0, as_span(text)); }
  // Returns the allowed tokens of sequence 0. The result is empty at a dead end, and the test fails at a limit.
  AllowedTokens mask(uint32_t sequence = 0);

 private:
  OwnedMatcher matcher_;
};

}  // namespace sotto::test
