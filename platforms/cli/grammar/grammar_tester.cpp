// Whether texts fit a grammar, and how far.
#include "platforms/cli/grammar/grammar_tester.h"

#include "platforms/cli/grammar/grammar_place.h"
#include "platforms/cli/support/text.h"

namespace sotto::cli {

bool GrammarTester::begins(std::string_view text, bool* matches) {
  while (true) {
    uint32_t begins = 0;
    uint32_t fits = 0;
    const sotto_status status = sotto_matcher_test(matcher_.get(), 0, text.data(), text.size(), &begins, &fits);
    if (status == SOTTO_GRAMMAR_TOO_LARGE) {
      matcher_.grow();
      continue;
    }
    check(status, "matcher");
    *matches = fits != 0;
    return begins != 0;
  }
}

Verdict GrammarTester::test(std::string_view text) {
  bool matches = false;
  try {
    if (begins(text, &matches)) {
      return {matches ? Fit::kAccepted : Fit::kBeginning, text.size()};
    }
    size_t fits = 0;  // so many bytes begin a text, and `refused` do not
    size_t refused = text.size();
    while (refused - fits > 1) {
      const size_t middle = fits + (refused - fits) / 2;
      (begins(text.substr(0, middle), &matches) ? fits : refused) = middle;
    }
    return {Fit::kRefused, fits};
  } catch (const MatcherTooLarge&) {
    return {Fit::kUndecided, 0};
  }
}

Json error_json(const GrammarFailure& failure, const GrammarSource& source) {
  const sotto_error& error = failure.error();
  const bool has_message = error.message[0] != '\0';
  Json object = {{"message", to_utf8(has_message ? error.message : failure.what())},
                 {"line", nullptr},
                 {"column", nullptr},
                 {"offset", nullptr}};
  if (error.offset > source.text.size()) return object;
  const Place place = place_of(source.text, error.offset);
  object["line"] = place.line;
  object["column"] = place.column;
  object["offset"] = error.offset;
  return object;
}

}  // namespace sotto::cli
