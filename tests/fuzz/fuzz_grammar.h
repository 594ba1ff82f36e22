// What the grammar targets share: memory that ends where its block ends, a vocabulary, and a
// walk through a compiled grammar that checks what always holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/grammar/compiler/compiler.h"
#include "runtime/grammar/matcher/matcher.h"
#include "tests/fuzz/fuzz_bytes.h"

namespace sotto {

inline std::span<const char> as_span(std::string_view text) { return {text.data(), text.size()}; }

// One block for all inputs; what is used lies at its end, so that a sanitizer sees whatever
// reaches behind it.
class FuzzMemory {
 public:
  explicit FuzzMemory(size_t capacity);
  // The last `size` bytes, and up to 63 more to be aligned.
  std::span<uint8_t> last(size_t size);

 private:
  static constexpr size_t kAlignment = 64;

  struct Free {
    void operator()(uint8_t* memory) const { std::free(memory); }
  };

  size_t capacity_;
  std::unique_ptr<uint8_t[], Free> memory_;
};

// Every byte, some texts, special tokens, an empty one, and two that end a text.
class FuzzVocabulary {
 public:
  static const FuzzVocabulary& get();

  const Vocabulary& view() const { return vocabulary_; }
  uint32_t size() const { return static_cast<uint32_t>(texts_.size()); }
  bool is_end(uint32_t token) const;
  TokenNames names() const;

 private:
  FuzzVocabulary();

  std::vector<std::string> texts_;  // the names of special tokens, too
  std::vector<char> bytes_;
  std::vector<uint32_t> offsets_{0};
  std::vector<uint8_t> special_;
  std::vector<int32_t> end_tokens_;
  FuzzMemory memory_;
  Vocabulary vocabulary_;
};

// An input in two parts: a text, and behind the first byte FF what settles everything else; a text
// without one settles it itself.
struct FuzzInput {
  FuzzInput(const uint8_t* data, size_t size);

  std::string_view text;
  FuzzBytes rest;
};

// Compiles what a front end built of `text`. Null: it was refused, with a status and a message,
// and a place inside the text if there is one.
const CompiledGrammar* compile_built(Status built, std::string_view text, GrammarBuilder& builder, Error& error);
void check_refusal(Status status, const Error& error, std::string_view text);

MatcherLimits small_limits(FuzzBytes& bytes);

// Follows tokens that masks allow. A mask's bit is set exactly when the token is accepted, some
// token is allowed always, and a status that refuses leaves the sequence as it is.
class GrammarWalk {
 public:
  GrammarWalk(const CompiledGrammar& grammar, FuzzBytes& bytes);

  // One token further. False: the text has ended, or a limit is reached.
  bool step();
  // What was accepted; tokens without bytes are no part of it.
  const std::string& text() const { return text_; }
  bool accepts() const { return matcher_.accepts(0); }
  bool is_open() const { return is_open_; }

 private:
  bool read_mask();
  bool allows(uint32_t token) const { return (mask_[token / 64] >> (token % 64) & 1) != 0; }
  bool ends(uint32_t token);
  void check_bits();
  void check_forced();

  FuzzBytes& bytes_;
  Matcher matcher_;
  std::vector<uint64_t> mask_;
  std::string text_;
  uint32_t checked_ = 0;
  bool is_open_ = false;
  bool has_ended_ = false;
};

}  // namespace sotto
