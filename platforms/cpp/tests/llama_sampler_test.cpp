// Tests the example llama_sampler.hpp with a vocabulary of a few tokens.
#include "platforms/cpp/examples/llama_sampler.hpp"

#include <gtest/gtest.h>

#include <cstring>

struct llama_vocab {
  std::vector<std::string> pieces = {"<s>", "{", "}", "\"a\"", ":", " ", "1", "23", "</s>", "x", std::string(300, 'y')};
};

llama_sampler* llama_sampler_init(llama_sampler_i* iface, void* ctx) { return new llama_sampler{iface, ctx}; }
int32_t llama_vocab_n_tokens(const llama_vocab* vocab) { return static_cast<int32_t>(vocab->pieces.size()); }
bool llama_vocab_is_eog(const llama_vocab*, llama_token token) { return token == 8; }
bool llama_vocab_is_control(const llama_vocab*, llama_token token) { return token == 0 || token == 8; }
int32_t llama_token_to_piece(const llama_vocab* vocab, llama_token token, char* buf, int32_t length, int32_t, bool) {
  const std::string& piece = vocab->pieces[static_cast<size_t>(token)];
  if (static_cast<size_t>(length) < piece.size()) return -static_cast<int32_t>(piece.size());
  std::memcpy(buf, piece.data(), piece.size());
  return static_cast<int32_t>(piece.size());
}

namespace {

// Returns the tokens that the sampler allows. The candidates are all tokens, and one outside the vocabulary.
std::vector<llama_token> allowed(llama_sampler* sampler) {
  std::vector<llama_token_data> data;
  for (llama_token token = 0; token < 12; ++token) data.push_back({token, 1, 0});
  llama_token_data_array candidates{data.data(), data.size(), -1, false};
  sampler->iface->apply(sampler, &candidates);
  std::vector<llama_token> result;
  for (const llama_token_data& candidate : data) {
    if (candidate.logit == 1) result.push_back(candidate.id);
  }
  return result;
}

void release(llama_sampler* sampler) {
  sampler->iface->free(sampler);
  delete sampler;
}

TEST(LlamaSampler, AllowsTheTokensOfTheGrammar) {
  const llama_vocab vocab;
  const auto vocabulary = llama_sotto::vocabulary_of(&vocab);
  llama_sampler* sampler = llama_sotto::new_sampler(
      sotto::Grammar::compile(R"({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"],
                              "additionalProperties": false})",
                              sotto::GrammarParams(SOTTO_GRAMMAR_JSON_SCHEMA)),
      vocabulary);
  EXPECT_STREQ(sampler->iface->name(sampler), "sotto-grammar");
  using Tokens = std::vector<llama_token>;
  EXPECT_EQ(allowed(sampler), Tokens{1});
  for (const llama_token token : {1, 3, 4, 5}) sampler->iface->accept(sampler, token);
  EXPECT_EQ(allowed(sampler), (Tokens{6, 7}));
  llama_sampler* copy = sampler->iface->clone(sampler);
  for (const llama_token token : {7, 2}) sampler->iface->accept(sampler, token);
  EXPECT_EQ(allowed(sampler), Tokens{8});
  EXPECT_EQ(allowed(copy), (Tokens{6, 7}));
  EXPECT_THROW(copy->iface->accept(copy, 9), sotto::Error);
  EXPECT_EQ(allowed(copy), (Tokens{6, 7}));
  sampler->iface->accept(sampler, 8);
  sampler->iface->reset(sampler);
  EXPECT_EQ(allowed(sampler), Tokens{1});
  release(copy);
  release(sampler);
}

TEST(LlamaSampler, TokensOfMoreThan255BytesAreNeverAllowed) {
  const llama_vocab vocab;
  llama_sampler* sampler =
      llama_sotto::new_sampler(sotto::Grammar::compile("root ::= [xy]{1,300}"), llama_sotto::vocabulary_of(&vocab));
  EXPECT_EQ(allowed(sampler), std::vector<llama_token>{9});
  release(sampler);
}

}  // namespace
