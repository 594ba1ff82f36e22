// Counts the work of a token and of a mask. It must not exceed the bounds in capi/README.md.

#include <algorithm>
#include <string>
#include <vector>

#include "tests/capi/open_grammar.h"
#include "tests/capi/open_session.h"

namespace sotto {
namespace {

constexpr ModelShape kShape = {300, 64, 32, 2, 48, 2};
constexpr size_t kMaskWords = 40;

sotto_session_timings timings_of(sotto_session* session) {
  sotto_session_timings timings = {};
  timings.struct_size = sizeof timings;
  EXPECT_EQ(sotto_session_get_timings(session, &timings), SOTTO_OK);
  return timings;
}

TEST(Work, ATokenEvaluatesOneRowAndAtMostHalfAContextAgain) {
  LoadedModel model(make_model_file(kShape, true));
  for (const sotto_overflow overflow : {SOTTO_OVERFLOW_STOP, SOTTO_OVERFLOW_RING, SOTTO_OVERFLOW_SHIFT}) {
    for (const uint32_t context : {16u, 40u, 64u}) {
      SCOPED_TRACE(testing::Message() << "overflow " << overflow << ", context " << context);
      OpenSession session(model.get(), [&](sotto_session_params& params) {
        params.context_tokens = context;
        params.overflow = overflow;
        params.sink_tokens = overflow == SOTTO_OVERFLOW_STOP ? 0 : 4;
      });
      const sotto_token first = 1;
      ASSERT_EQ(sotto_session_prefill(session.get(), &first, 1), SOTTO_OK);
      sotto_session_timings before = timings_of(session.get());
      uint64_t most = 0, total = 0;
      uint32_t count = 0;
      for (; count < 1000; ++count) {
        const sotto_piece* piece = nullptr;
        if (sotto_session_next(session.get(), &piece) != SOTTO_OK) break;
        const sotto_session_timings after = timings_of(session.get());
        ASSERT_LE(after.decode_tokens - before.decode_tokens, 1u);
        ASSERT_EQ(after.sample_count - before.sample_count, 1u);
        most = std::max(most, after.reanchor_tokens - before.reanchor_tokens);
        total += after.reanchor_tokens - before.reanchor_tokens;
        before = after;
      }
      if (overflow == SOTTO_OVERFLOW_STOP) {
        EXPECT_EQ(count, context);
        EXPECT_EQ(most, 0u);
      } else {
        EXPECT_EQ(count, 1000u);
        EXPECT_GT(most, 0u);
        EXPECT_LE(most, context / 2 + 4);
        EXPECT_LE(total, uint64_t{count} * (overflow == SOTTO_OVERFLOW_SHIFT ? 2 : 1));
      }
    }
  }
}

// Returns the fewest steps per call with which a new matcher accepts a text and makes the mask after it.
uint64_t steps_of_mask(const OpenGrammar& grammar, const OpenVocabulary& vocabulary, const std::string& text) {
  const auto succeeds = [&](uint64_t budget) {
    sotto_matcher_params params;
    sotto_matcher_params_init(&params, sizeof params);
    params.step_budget = budget;
    size_t size = 0;
    EXPECT_EQ(sotto_matcher_memory_size(grammar.get(), vocabulary.get(), &params, &size, nullptr), SOTTO_OK);
    AlignedBytes memory(size);
    sotto_matcher* matcher = nullptr;
    uint64_t mask[kMaskWords];
    return sotto_matcher_init(grammar.get(), vocabulary.get(), &params, memory.data(), size, &matcher, nullptr) ==
               SOTTO_OK &&
           sotto_matcher_accept_text(matcher, 0, text.data(), text.size()) == SOTTO_OK &&
           sotto_matcher_mask(matcher, 0, mask, kMaskWords) == SOTTO_OK;
  };
  uint64_t fails = 0, enough = 1;
  while (!succeeds(enough)) {
    fails = enough;
    enough *= 2;
  }
  while (enough - fails > 1) {
    const uint64_t middle = fails + (enough - fails) / 2;
    (succeeds(middle) ? enough : fails) = middle;
  }
  return enough;
}

// Very ambiguous grammars take more, for accepting a text as well: see the next test.
TEST(Work, AMaskTakesAtMostOneStepPerByteOfTheVocabulary) {
  for (const int word_count : {500, 2000}) {
    std::vector<std::string> words;
    size_t bytes = 256;
    for (int i = 0; i < word_count; ++i) {
      words.push_back("(" + std::to_string(i * 7919 % 10007));
      bytes += words.back().size();
    }
    for (int i = 0; i < 256; ++i) words.push_back(std::string(1, static_cast<char>(i)));
    OpenVocabulary vocabulary(words);
    for (const char* source : {
             "root ::= [0-9(]*",
             "root ::= ([0-9(] [0-9(])*",
             "root ::= [0-9(] root | [0-9(]",
             "root ::= \"(\" root \")\" | [0-9]*",
             "root ::= root root | [0-9(] | \"\"",
         }) {
      OpenGrammar grammar(source);
      for (const char* text : {"", "(", "((((((((((((((((12"}) {
        SCOPED_TRACE(testing::Message() << source << " after " << text << " with " << word_count << " words");
        const uint64_t steps = steps_of_mask(grammar, vocabulary, text);
        EXPECT_LE(steps, bytes);
      }
    }
  }
}

TEST(Work, ACallEndsWhenItsStepsAreSpent) {
  OpenVocabulary vocabulary({"a", "aa", "aaa", "aaaaaaaaaaaaaaaa"});
  OpenGrammar grammar("root ::= root root root | root root | \"a\" root \"a\" | \"a\"");
  OpenMatcher matcher(grammar, &vocabulary, [](auto& params) { params.step_budget = 100; });
  sotto_status status = SOTTO_OK;
  for (int i = 0; i < 1000 && status == SOTTO_OK; ++i) status = matcher.take(3);
  EXPECT_EQ(status, SOTTO_GRAMMAR_TOO_LARGE);
}

}  // namespace
}  // namespace sotto
