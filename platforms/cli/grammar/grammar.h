// Vocabularies, grammars and matchers that own their memory, which grows until it is enough.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "capi/include/sotto_grammar.h"
#include "platforms/cli/options/sampler_settings.h"
#include "platforms/cli/support/failure.h"
#include "platforms/cli/support/model.h"

namespace sotto::cli {

class Vocabulary {
 public:
  Vocabulary();  // a token for each byte, and 256, which ends the text
  explicit Vocabulary(const Model& model);
  Vocabulary(const Vocabulary&) = delete;
  Vocabulary& operator=(const Vocabulary&) = delete;

  const sotto_vocabulary* get() const { return vocabulary_; }
  uint32_t token_count() const { return token_count_; }
  std::string text(sotto_token token) const;  // the exact bytes

 private:
  void init(const sotto_vocabulary_params& params, const std::string& subject);

  const Model* model_ = nullptr;
  std::vector<uint32_t> offsets_;
  std::string bytes_;
  Memory memory_;
  sotto_vocabulary* vocabulary_ = nullptr;
  uint32_t token_count_ = 0;
};

struct GrammarSource {
  sotto_grammar_language language = SOTTO_GRAMMAR_GBNF;
  std::string text;
  std::string name;  // for messages: a path, or the option that held the text
};

struct GrammarSettings {
  sotto_grammar_params params;  // its texts and lists stay empty
  std::string root;             // empty: the usual one
  std::vector<std::string> triggers;
  Tokens trigger_tokens;

  GrammarSettings();
};

// What is wrong with a grammar, and where; the message shows the line.
class GrammarFailure : public Failure {
 public:
  GrammarFailure(const sotto_error& error, const GrammarSource& source);
  const sotto_error& error() const { return error_; }

 private:
  sotto_error error_;
};

class Grammar {
 public:
  // Compiles, or loads an image. `vocabulary` may be null, and must outlive the grammar
  // otherwise. Throws a GrammarFailure.
  Grammar(const GrammarSource& source, const GrammarSettings& settings, const Vocabulary* vocabulary);

  const sotto_grammar* get() const { return grammar_; }
  bool was_loaded() const { return was_loaded_; }
  size_t size() const { return size_; }
  size_t working_size() const { return memory_.size(); }
  double seconds() const { return seconds_; }
  const std::vector<std::string>& warnings() const { return warnings_; }
  std::string image() const;

 private:
  void compile(const GrammarSource& source, sotto_grammar_params params);
  void load(const GrammarSource& source);

  Memory memory_;
  const sotto_grammar* grammar_ = nullptr;
  size_t size_ = 0;
  bool was_loaded_ = false;
  double seconds_ = 0.0;
  std::vector<std::string> warnings_;
};

// Whether these are the bytes of an image made by `sotto grammar compile`.
bool is_grammar_image(std::string_view bytes);

class MatcherTooLarge : public Failure {
 public:
  using Failure::Failure;
};

class Matcher {
 public:
  Matcher(const Grammar& grammar, const Vocabulary* vocabulary, sotto_matcher_params params);

  sotto_matcher* get() const { return matcher_; }
  size_t memory_size() const { return memory_.size(); }

  // Room for about twice as much, all sequences empty. Throws a MatcherTooLarge at 64 times
  // what most grammars need.
  void grow();

 private:
  void init();
  void enlarge();

  const Grammar& grammar_;
  const Vocabulary* vocabulary_;
  sotto_matcher_params params_;
  int doubling_count_ = 0;
  Memory memory_;
  sotto_matcher* matcher_ = nullptr;
};

sotto_matcher_params default_matcher_params();

// With as much of everything but sequences as fits `memory_size`. Throws a usage error if
// nothing does.
sotto_matcher_params fitted(const Grammar& grammar, const Vocabulary* vocabulary, sotto_matcher_params params,
                            size_t memory_size);

}  // namespace sotto::cli
