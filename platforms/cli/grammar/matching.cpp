#include "platforms/cli/grammar/matching.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "platforms/cli/options/parameters.h"
#include "platforms/cli/support/text.h"

namespace sotto::cli {
namespace {

constexpr int kMaxDoublings = 6;
constexpr std::string_view kImageIdentifier = "SOTG";
constexpr size_t kIdentifierOffset = 4;

// Returns `params` with limits for very ambiguous grammars, scaled by 2^exponent, instead of the library's estimates.
MatcherParams scaled_limits(const MatcherParams& params, int exponent) {
  constexpr uint32_t kLargeMaskBytes = 1 << 18;
  const auto times = [exponent](auto limit) { return exponent < 0 ? limit >> -exponent : limit << exponent; };
  MatcherParams result = params;
  result.node_count = times(MatcherLimits::kLargeNodeCount);
  result.frame_count = times(MatcherLimits::kLargeFrameCount);
  result.state_set_count = std::min(times(MatcherLimits::kLargeStateSetCount), MatcherLimits::kMaxStateSetCount);
  result.state_count = times(MatcherLimits::kLargeStateCount);
  result.visit_count = times(MatcherLimits::kLargeVisitCount);
  result.mask_bytes = times(kLargeMaskBytes);
  result.step_budget = times(MatcherParams().step_budget);
  return result;
}

// Returns the memory size of a matcher, or SIZE_MAX if these limits are not possible.
size_t matcher_size(const Grammar& grammar, const Vocabulary* vocabulary, const MatcherParams& params) {
  try {
    return Matcher::required_memory(grammar, vocabulary, params);
  } catch (const Error&) {
    return SIZE_MAX;
  }
}

Bytes bytes_of(std::string_view text) { return {reinterpret_cast<const uint8_t*>(text.data()), text.size()}; }

}  // namespace

GrammarFailure::GrammarFailure(const Error& error, const GrammarText& source)
    : Failure(with_place(source.name, source.text, error.offset(), error.what())), error_(error) {}

Json error_json(const GrammarFailure& failure, const GrammarText& source) {
  const Error& error = failure.error();
  Json object = {{"message", to_utf8(error.what())}, {"line", nullptr}, {"column", nullptr}, {"offset", nullptr}};
  if (error.offset() > source.text.size()) return object;
  const Place place = place_of(source.text, error.offset());
  object["line"] = place.line;
  object["column"] = place.column;
  object["offset"] = error.offset();
  return object;
}

LoadedGrammar compile_grammar(const GrammarText& source, GrammarParams params, const Vocabulary* vocabulary) {
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [start] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  if (is_grammar_image(source.text)) {
    Grammar grammar = call(source.name, [&] { return Grammar::load(bytes_of(source.text)); });
    return {std::move(grammar), true, seconds(), {}};
  }
  std::vector<std::string> warnings;
  params.language = source.language;
  params.vocabulary = vocabulary;
  params.log = [&warnings](sotto_log_level level, const char* message) {
    // Ignores repeated warnings: a compilation that needs more memory starts again and repeats them.
    const bool is_known = std::find(warnings.begin(), warnings.end(), message) != warnings.end();
    if (level == SOTTO_LOG_WARNING && !is_known) warnings.push_back(message);
  };
  try {
    Grammar grammar = Grammar::compile(source.text, params);
    return {std::move(grammar), false, seconds(), std::move(warnings)};
  } catch (const Error& error) {
    const bool is_of_source = error.status() != SOTTO_INVALID_ARGUMENT || error.offset() != Error::no_offset;
    if (is_of_source) throw GrammarFailure(error, source);
    throw option_failure(source.name, error);
  }
}

void print_warnings(const LoadedGrammar& grammar) {
  for (const std::string& warning : grammar.warnings) {
    std::fprintf(stderr, "sotto: warning: %s\n", to_utf8(warning).c_str());
  }
}

bool is_grammar_image(std::string_view bytes) {
  return bytes.size() >= kIdentifierOffset &&
         bytes.substr(kIdentifierOffset, kImageIdentifier.size()) == kImageIdentifier;
}

Vocabulary model_vocabulary(const LoadedModel& model) {
  return call(model.path(), [&] { return Vocabulary::create(model.get()); });
}

GrowingMatcher::GrowingMatcher(const Grammar& grammar, const Vocabulary* vocabulary, const MatcherParams& params)
    : grammar_(grammar), vocabulary_(vocabulary), params_(params), matcher_(create()) {}

Matcher GrowingMatcher::create() {
  while (true) {
    try {
      return Matcher::create(grammar_, vocabulary_, params_);
    } catch (const Error& error) {
      if (error.status() != SOTTO_GRAMMAR_TOO_LARGE || doubling_count_ == kMaxDoublings) {
        throw option_failure("matcher", error);
      }
    }
    enlarge();
  }
}

void GrowingMatcher::grow() {
  if (doubling_count_ == kMaxDoublings) {
    throw MatcherTooLarge("this takes more than " + byte_size(matcher_.memory_size()) + ", or too many steps");
  }
  enlarge();
  matcher_ = create();
}

// Raises the exponent until the limits exceed the library's estimates.
void GrowingMatcher::enlarge() {
  const size_t size = matcher_size(grammar_, vocabulary_, params_);
  do {
    params_ = scaled_limits(params_, ++doubling_count_);
  } while (doubling_count_ < kMaxDoublings && matcher_size(grammar_, vocabulary_, params_) <= size);
}

MatcherParams limits_within(const Grammar& grammar, const Vocabulary& vocabulary, const MatcherParams& params,
                            size_t memory_size) {
  constexpr int kMinExponent = -7;
  constexpr int kMaxExponent = 16;
  for (int exponent = kMaxExponent; exponent >= kMinExponent; --exponent) {
    const MatcherParams tried = scaled_limits(params, exponent);
    if (matcher_size(grammar, &vocabulary, tried) <= memory_size) return tried;
  }
  const size_t min_size = matcher_size(grammar, &vocabulary, scaled_limits(params, kMinExponent));
  throw Failure("--grammar-memory: this grammar takes at least " + byte_size(min_size), kExitUsage);
}

MatchTest GrammarTester::match(std::string_view text) {
  while (true) {
    try {
      return matcher_.get().test(text);
    } catch (const Error& error) {
      if (error.status() != SOTTO_GRAMMAR_TOO_LARGE) throw failure_of("matcher", error);
    }
    matcher_.grow();
  }
}

Verdict GrammarTester::test(std::string_view text) {
  try {
    const MatchTest whole = match(text);
    if (whole.begins) return {whole.matches ? Fit::kAccepted : Fit::kBeginning, text.size()};
    // Finds the first wrong byte by bisection: the first `fits` bytes begin a text of the grammar, the first `rejected`
    // do not.
    size_t fits = 0;
    size_t rejected = text.size();
    while (rejected - fits > 1) {
      const size_t middle = fits + (rejected - fits) / 2;
      (match(text.substr(0, middle)).begins ? fits : rejected) = middle;
    }
    return {Fit::kRejected, fits};
  } catch (const MatcherTooLarge&) {
    return {Fit::kUndecided, 0};
  }
}

}  // namespace sotto::cli
