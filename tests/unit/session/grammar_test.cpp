// Tests sessions and searches under the grammar engine: every generated text is in the grammar according to an
// independent check.
#include "runtime/grammar/matcher/matcher.h"
#include "tests/unit/grammar/compile_gbnf.h"

#include "tests/unit/session/session_support.h"

namespace sotto {
namespace {

const std::vector<int32_t> kPrompt = {1, 2, 3};
constexpr uint32_t kSequences = 4;

bool is_nested(const std::string& text) {  // a^n c b^n
  const size_t n = text.size() / 2;
  return text == std::string(n, 'a') + "c" + std::string(n, 'b');
}

// (ab | c)* a
bool is_rounds_and_a(std::string text) {
  while (text.substr(0, 2) == "ab" || text.substr(0, 1) == "c") text.erase(0, text[0] == 'c' ? 1 : 2);
  return text == "a";
}

// 2 to 4 of a and b, then at least one c
bool is_few_and_cs(const std::string& text) {
  const size_t few = text.find_first_not_of("ab");
  return few != std::string::npos && few >= 2 && few <= 4 && text.find_first_not_of('c', few) == std::string::npos;
}

// c, then a and b
bool is_c_and_more(const std::string& text) {
  return text.substr(0, 1) == "c" && text.find_first_not_of("ab", 1) == std::string::npos;
}

struct Language {
  const char* gbnf;
  bool (*has)(const std::string& text);
};

const Language kLanguages[] = {
    {R"(root ::= ("ab" | "c")* "a")", [](const std::string& text) { return is_rounds_and_a(text); }},
    {R"(root ::= [ab]{2,4} "c"+)", is_few_and_cs},
    {R"(root ::= "a" root "b" | "c")", is_nested},
    {R"(root ::= root "a" | root "b" | "c")", is_c_and_more},
};

// A grammar over the test model's vocabulary, as sessions use it.
class ModelGrammar {
 public:
  explicit ModelGrammar(const char* gbnf) : workspace_(1 << 18) {
    const TokenizerView& tokenizer = *text_model().tokenizer();
    special_.resize(tokenizer.token_count);
    special_[kEndToken] = 1;
    source_ = {tokenizer.token_bytes, tokenizer.token_offsets, special_, {&kEndToken, 1}};
    std::vector<uint32_t> order(tokenizer.token_count);
    uint32_t count = 0;
    EXPECT_EQ(sort_tokens(source_, order.data(), &count, nullptr), Status::kOk);
    order.resize(count);
    trie_ = std::make_unique<TestMemory>(vocabulary_memory_size(source_, order));
    build_vocabulary(source_, order, trie_->data(), &vocabulary_);
    const CompiledGrammar* grammar = nullptr;
    EXPECT_EQ(compile_gbnf({gbnf, std::char_traits<char>::length(gbnf)}, {}, {},
                           {static_cast<uint8_t*>(workspace_.data()), 1 << 18}, &grammar, nullptr),
              Status::kOk);
    MatcherParams limits;
    limits.sequence_count = constraint_sequence_count(kSequences);
    size_t size = 0;
    EXPECT_EQ(Matcher::memory_size(*grammar, &vocabulary_, limits, &size, nullptr), Status::kOk);
    memory_ = std::make_unique<TestMemory>(size);
    Matcher* matcher = nullptr;
    EXPECT_EQ(Matcher::init(*grammar, &vocabulary_, limits, memory_->data(), size, &matcher, nullptr), Status::kOk);
    constraint_ = TokenConstraint(matcher);
  }
  const TokenConstraint& get() const { return constraint_; }

 private:
  static constexpr int32_t kEndToken = sotto::kEndToken;
  std::vector<uint8_t> special_;
  VocabularySource source_;
  std::unique_ptr<TestMemory> trie_;
  Vocabulary vocabulary_;
  TestMemory workspace_;
  std::unique_ptr<TestMemory> memory_;
  TokenConstraint constraint_;
};

bool ended_whole(Status stop) { return stop == Status::kStopGrammar || stop == Status::kStopEndOfText; }

TEST(Grammar, SampledTextsMatchTheGrammar) {
  for (const Language& language : kLanguages) {
    ModelGrammar grammar(language.gbnf);
    OpenedSession session(text_model());
    int whole = 0;
    for (uint64_t seed = 0; seed < 100; ++seed) {
      session->reset();
      session.sample(seed, [seed](SamplerParams& params) {
        params.temperature = 1.5f;
        params.repetition_penalty = seed % 2 == 0 ? 1.0f : 1.5f;
        params.selection = static_cast<Selection>(seed % 5);
        params.top_p = seed % 3 == 0 ? 0.7f : 1.0f;
      });
      session.prefill(kPrompt);
      ASSERT_EQ(session->set_constraint(grammar.get(), nullptr), Status::kOk);
      const Generated some = session.generate(40);
      if (!ended_whole(some.end)) continue;
      ++whole;
      EXPECT_TRUE(language.has(some.text)) << language.gbnf << ": " << some.text;
    }
    EXPECT_GT(whole, 30) << language.gbnf;
  }
}

TEST(Grammar, SearchesFindTextsOfTheGrammar) {
  for (const Language& language : kLanguages) {
    ModelGrammar grammar(language.gbnf);
    OpenedSession session(text_model(), [](SessionParams& params) {
      params.sequence_count = kSequences;
      params.sequence_tokens = 24;
      params.features = kFeatureHiddenHistory;
    });
    session.sample(5);
    session.prefill(kPrompt);
    ASSERT_EQ(session->set_constraint(grammar.get(), nullptr), Status::kOk);
    int whole = 0;
    for (const SearchMode mode :
         {SearchMode::kBeam, SearchMode::kBeamSample, SearchMode::kSample, SearchMode::kContrastive}) {
      SearchParams params;
      params.mode = mode;
      std::span<const SearchSequence> found;
      ASSERT_EQ(session->search(params, &found, nullptr), Status::kOk);
      ASSERT_FALSE(found.empty());
      for (const SearchSequence& sequence : found) {
        const std::string text = bytes_of({sequence.tokens, sequence.tokens + sequence.token_count});
        if (!ended_whole(sequence.stop)) continue;
        ++whole;
        EXPECT_TRUE(language.has(text)) << language.gbnf << ": " << text;
      }
    }
    EXPECT_GE(whole, 1) << language.gbnf;
    // The stream is unchanged.
    const Generated after = session.generate(40);
    EXPECT_TRUE(!ended_whole(after.end) || language.has(after.text)) << after.text;
  }
}

// Text that a grammar forces is drafted, and accepted if the model spells it with the same tokens.
TEST(Grammar, ForcedTextIsDraftedWithoutChange) {
  uint64_t accepted = 0;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    ModelGrammar grammar(R"(root ::= ("abcabcaabca" [ab] "ccbcabcbcaab" | "bca" root)+)");
    std::vector<Generated> found;
    for (const uint32_t draft_tokens : {0u, 6u}) {
      OpenedSession session(text_model(), [&](SessionParams& params) { params.draft_tokens = draft_tokens; });
      session.sample(seed);
      session.prefill(kPrompt);
      ASSERT_EQ(session->set_constraint(grammar.get(), nullptr), Status::kOk);
      found.push_back(session.generate(25));
      const SpeculationInfo& info = session->speculation_info();
      EXPECT_EQ(info.forced_accepted_count, info.accepted_count);
      accepted += info.forced_accepted_count;
      session->reset();
      ASSERT_EQ(session->set_constraint({}, nullptr), Status::kOk);
    }
    EXPECT_EQ(found[0].tokens, found[1].tokens);
    EXPECT_EQ(found[0].text, found[1].text);
    EXPECT_EQ(found[0].end, found[1].end);
  }
  EXPECT_GT(accepted, 30u);
}

}  // namespace
}  // namespace sotto
