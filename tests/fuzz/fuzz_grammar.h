// Helpers of the fuzz targets for grammars: memory at the end of its block, a vocabulary, and a walk through a compiled
// grammar. The walk checks the invariants of the grammar.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/grammar/matcher/matcher.h"
#include "tests/fuzz/fuzz_bytes.h"
#include "tests/unit/grammar/compile_gbnf.h"

namespace sotto {

inline std::span<const char> as_span(std::string_view text) { return {text.data(), text.size()}; }

// A block of memory for all inputs. An input uses the end of the block, so that a sanitizer detects accesses beyond it.
class FuzzMemory {
 public:
  explicit FuzzMemory(size_t capacity);
  // Returns the last `size` bytes, plus up to 63 for alignment.
  std::span<uint8_t> last(size_t size);

 private:
  static constexpr size_t kAlignment = 64;

  struct Free {
    void operator()(uint8_t* memory) const { std::free(memory); }
  };

  size_t capacity_;
  std::unique_ptr<uint8_t[], Free> memory_;
};

// A vocabulary of all bytes, some texts, special tokens, an empty token, and two end tokens.
class FuzzVocabulary {
 public:
  static const FuzzVocabulary& get();

  const Vocabulary& view() const { return vocabulary_; }
  uint32_t size() const { return static_cast<uint32_t>(texts_.size()); }
  bool is_end(uint32_t token) const;
  TokenNames names() const;

 private:
  FuzzVocabulary();

  std::vector<std::string> texts_;  // including the names of special tokens
  std::vector<char> bytes_;
  std::vector<uint32_t> offsets_{0};
  std::vector<uint8_t> special_;
  std::vector<int32_t> end_tokens_;
  FuzzMemory memory_;
  Vocabulary vocabulary_;
};

// An input in two parts: a text and, after the first byte FF, the bytes of all other choices. A text without FF also
// supplies these bytes.
struct FuzzInput {
  FuzzInput(const uint8_t* data, size_t size);

  std::string_view text;
  FuzzBytes rest;
};

// Compiles `text` with a front end. Returns null if it was rejected; the rejection must have a status, a message and,
// if any, a position inside the text.
const CompiledGrammar* compile_built(Status built, std::string_view text, GrammarBuilder& builder, Error& error);
void check_refusal(Status status, const Error& error, std::string_view text);

MatcherParams small_limits(FuzzBytes& bytes);

// Creates a matcher at the end of `memory`. Returns null if the start state exceeds the limits.
Matcher* open_matcher(const CompiledGrammar& grammar, const MatcherParams& limits, const MaskShortcuts& shortcuts,
                      FuzzMemory& memory);

// Appends tokens that masks allow. Checks three properties: exactly the tokens of the mask are accepted, some token is
// always allowed, and a failure leaves the sequence unchanged.
class GrammarWalk {
 public:
  GrammarWalk(const CompiledGrammar& grammar, FuzzBytes& bytes);

  // Advances by one token. Returns false if the text has ended or a limit is reached.
  bool step();
  // The accepted bytes; tokens without bytes add nothing.
  const std::string& text() const { return text_; }
  bool accepts() const { return matcher_->may_end(0); }
  bool is_open() const { return matcher_ != nullptr; }

 private:
  bool read_mask();
  bool allows(uint32_t token) const { return (mask_[token / 64] >> (token % 64) & 1) != 0; }
  bool ends(uint32_t token);
  void check_bits();
  void check_forced();

  FuzzBytes& bytes_;
  Matcher* matcher_;
  std::vector<uint64_t> mask_;
  std::string text_;
  uint32_t checked_ = 0;
  bool has_ended_ = false;
};

}  // namespace sotto
