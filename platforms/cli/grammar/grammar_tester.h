// Whether texts fit a grammar, and how far.
#pragma once

#include <string_view>

#include "platforms/cli/grammar/grammar.h"
#include "platforms/cli/support/json_values.h"

namespace sotto::cli {

enum class Fit { kAccepted, kBeginning, kRefused, kUndecided };

struct Verdict {
  Fit fit;
  size_t offset;  // the first byte that does not fit, or the text's size
};

class GrammarTester {
 public:
  explicit GrammarTester(const Grammar& grammar) : matcher_(grammar, nullptr, default_matcher_params()) {}

  // kUndecided: it takes more memory or steps than Matcher::grow allows.
  Verdict test(std::string_view text);

  size_t memory_size() const { return matcher_.memory_size(); }

 private:
  bool begins(std::string_view text, bool* matches);

  Matcher matcher_;
};

// {"message", "line", "column", "offset"}; null for what is not known.
Json error_json(const GrammarFailure& failure, const GrammarSource& source);

}  // namespace sotto::cli
