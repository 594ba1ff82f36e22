// Compiles grammars, with messages that show their source. Runs matchers, with memory that grows until it suffices.
// Tests whole texts.
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

// An error in the source of a grammar. The message shows the line.
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

// Prints the warnings of the compiler to standard error.
void print_warnings(const LoadedGrammar& grammar);

// Returns whether these are the bytes of an image made by `sotto grammar compile`.
bool is_grammar_image(std::string_view bytes);

Vocabulary model_vocabulary(const LoadedModel& model);

class MatcherTooLarge : public Failure {
 public:
  using Failure::Failure;
};

// A matcher with limits that can grow. Most grammars need no more than the first limits; the largest are 64 times as
// high.
class GrowingMatcher {
 public:
  // `vocabulary` may be null; both must outlive the matcher.
  GrowingMatcher(const Grammar& grammar, const Vocabulary* vocabulary, const MatcherParams& params = {});

  Matcher& get() { return matcher_; }
  Matcher release() { return std::move(matcher_); }

  // Replaces the matcher by an empty one with about twice the memory. Throws a MatcherTooLarge at the limit.
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

// Returns the largest limits of a matcher that fits in `memory_size` bytes; sequence_count stays the same. Throws a
// usage error if none fit.
MatcherParams limits_within(const Grammar& grammar, const Vocabulary& vocabulary, const MatcherParams& params,
                            size_t memory_size);

enum class Fit { kAccepted, kBeginning, kRejected, kUndecided };

struct Verdict {
  Fit fit;
  size_t offset;  // offset of the first byte that does not match, or the size of the text
};

// Tests whether texts match a grammar, and finds the first byte that does not.
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
