// Grammars that are compiled with messages about their source, matchers whose memory grows until it suffices, and tests
// of whole texts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "platforms/cli/support/json.h"
#include "platforms/cli/support/model.h"

namespace sotto::cli {

struct GrammarText {
  sotto_grammar_language language = SOTTO_GRAMMAR_GBNF;
  std::string text;
  std::string name;  // name in messages: a path, or the option that held the text
};

// An error of a grammar with its place. The message shows the line.
class GrammarFailure : public Failure {
 public:
  GrammarFailure(const Error& error, const GrammarText& source);
  const Error& error() const { return error_; }

 private:
  Error error_;
};

// Returns {"message", "line", "column", "offset"}, with null for unknown values.
Json error_json(const GrammarFailure& failure, const GrammarText& source);

struct LoadedGrammar {
  Grammar grammar;
  bool was_loaded;  // true if it was an image
  double seconds;
  std::vector<std::string> warnings;
};

// Compiles a grammar or loads an image. `vocabulary` may be null. Throws a GrammarFailure.
LoadedGrammar compile_grammar(const GrammarText& source, GrammarParams params, const Vocabulary* vocabulary);

// Prints the warnings to standard error.
void print_warnings(const LoadedGrammar& grammar);

// Returns whether these are the bytes of an image made by `sotto grammar compile`.
bool is_grammar_image(std::string_view bytes);

Vocabulary model_vocabulary(const LoadedModel& model);

class MatcherTooLarge : public Failure {
 public:
  using Failure::Failure;
};

// A matcher whose memory can grow up to 64 times what most grammars need.
class GrowingMatcher {
 public:
  // `vocabulary` may be null; both must outlive the matcher.
  GrowingMatcher(const Grammar& grammar, const Vocabulary* vocabulary, const MatcherParams& params = {});

  Matcher& get() { return matcher_; }
  Matcher release() { return std::move(matcher_); }

  // Makes a matcher with about twice the memory, with all its sequences empty. Throws a MatcherTooLarge.
  void grow();

 private:
  Matcher create();
  void enlarge();

  const Grammar& grammar_;
  const Vocabulary* vocabulary_;
  MatcherParams params_;
  int doubling_count_ = 0;
  Matcher matcher_;
};

// Returns limits that are as large as fits `memory_size`, with the number of sequences unchanged. Throws a usage error
// if no limits fit.
MatcherParams limits_within(const Grammar& grammar, const Vocabulary& vocabulary, const MatcherParams& params,
                            size_t memory_size);

enum class Fit { kAccepted, kBeginning, kRejected, kUndecided };

struct Verdict {
  Fit fit;
  size_t offset;  // offset of the first byte that does not match, or the size of the text
};

// Tests whether texts match a grammar, and how far.
class GrammarTester {
 public:
  explicit GrammarTester(const Grammar& grammar) : matcher_(grammar, nullptr) {}

  // Returns kUndecided if the test takes more memory or steps than GrowingMatcher::grow() allows.
  Verdict test(std::string_view text);

  size_t memory_size() { return matcher_.get().memory_size(); }

 private:
  MatchTest match(std::string_view text);

  GrowingMatcher matcher_;
};

}  // namespace sotto::cli
