// A sampler for llama.cpp that keeps only the tokens that a grammar of Sotto allows next, in place of
// llama_sampler_init_grammar:
//
//   sotto::GrammarParams params(SOTTO_GRAMMAR_JSON_SCHEMA);
//   auto vocabulary = llama_sotto::vocabulary_of(llama_model_get_vocab(model));
//   auto* grammar = llama_sotto::new_sampler(sotto::Grammar::compile(schema, params), vocabulary);
//   llama_sampler_chain_add(chain, grammar);  // before the samplers that choose a token
//
// Compile a program with the headers of llama.cpp and platforms/cpp/include, and link llama and sotto. Accepting a
// token that the grammar does not allow is an error, which sotto.hpp throws.
#ifndef LLAMA_SOTTO_SAMPLER_HPP
#define LLAMA_SOTTO_SAMPLER_HPP

#include <llama.h>

#include <cmath>
#include <memory>
#include <sotto.hpp>
#include <string>
#include <utility>
#include <vector>

namespace llama_sotto {

// Prepares the tokens of a model of llama.cpp. Samplers of the same model can share the result.
inline std::shared_ptr<const sotto::Vocabulary> vocabulary_of(const llama_vocab* vocab) {
  sotto::VocabularyTokens tokens;
  std::string piece(255, '\0');  // longer tokens, which a vocabulary does not hold, are never allowed
  for (llama_token token = 0; token < llama_vocab_n_tokens(vocab); ++token) {
    const int32_t size =
        llama_token_to_piece(vocab, token, piece.data(), static_cast<int32_t>(piece.size()), 0, /*special=*/true);
    const bool is_end = llama_vocab_is_eog(vocab, token);
    const bool is_special = is_end || llama_vocab_is_control(vocab, token) || size < 0;
    tokens.texts.emplace_back(piece, 0, size < 0 ? 0 : static_cast<size_t>(size));
    tokens.special.push_back(is_special ? 1 : 0);
    if (is_end) tokens.end_tokens.push_back(token);
  }
  return std::make_shared<const sotto::Vocabulary>(sotto::Vocabulary::create(tokens));
}

// The state of a sampler: a matcher, and what is needed to make another one in the same state.
struct GrammarState {
  std::shared_ptr<const sotto::Grammar> grammar;
  std::shared_ptr<const sotto::Vocabulary> vocabulary;
  sotto::MatcherParams params;
  std::vector<llama_token> accepted;
  sotto::Matcher matcher;

  static GrammarState& of(llama_sampler* sampler) { return *static_cast<GrammarState*>(sampler->ctx); }

  void accept(llama_token token) {
    matcher.accept(token);
    accepted.push_back(token);
  }

  void apply(llama_token_data_array* candidates) {
    const uint64_t* mask = matcher.borrow_mask();
    for (size_t i = 0; i < candidates->size; ++i) {
      const auto token = static_cast<size_t>(candidates->data[i].id);
      const bool is_allowed = token < vocabulary->size() && (mask[token / 64] >> token % 64 & 1) != 0;
      if (!is_allowed) candidates->data[i].logit = -INFINITY;
    }
  }

  void reset() {
    matcher.reset();
    accepted.clear();
  }
};

inline llama_sampler* new_sampler(std::shared_ptr<const sotto::Grammar> grammar,
                                  std::shared_ptr<const sotto::Vocabulary> vocabulary,
                                  const sotto::MatcherParams& params = {}) {
  static llama_sampler_i interface = [] {
    llama_sampler_i functions{};
    functions.name = [](const llama_sampler*) { return "sotto-grammar"; };
    functions.accept = [](llama_sampler* sampler, llama_token token) { GrammarState::of(sampler).accept(token); };
    functions.apply = [](llama_sampler* sampler, llama_token_data_array* candidates) {
      GrammarState::of(sampler).apply(candidates);
    };
    functions.reset = [](llama_sampler* sampler) { GrammarState::of(sampler).reset(); };
    functions.clone = [](const llama_sampler* sampler) {
      const auto& state = *static_cast<const GrammarState*>(sampler->ctx);
      llama_sampler* copy = new_sampler(state.grammar, state.vocabulary, state.params);
      for (const llama_token token : state.accepted) GrammarState::of(copy).accept(token);
      return copy;
    };
    functions.free = [](llama_sampler* sampler) { delete &GrammarState::of(sampler); };
    return functions;
  }();
  sotto::Matcher matcher = sotto::Matcher::create(*grammar, *vocabulary, params);
  auto state = std::make_unique<GrammarState>(
      GrammarState{std::move(grammar), std::move(vocabulary), params, {}, std::move(matcher)});
  return llama_sampler_init(&interface, state.release());
}

inline llama_sampler* new_sampler(sotto::Grammar grammar, std::shared_ptr<const sotto::Vocabulary> vocabulary,
                                  const sotto::MatcherParams& params = {}) {
  return new_sampler(std::make_shared<const sotto::Grammar>(std::move(grammar)), std::move(vocabulary), params);
}

}  // namespace llama_sotto

#endif  // LLAMA_SOTTO_SAMPLER_HPP
