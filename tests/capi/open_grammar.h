// Vocabularies, grammars and matchers of the C interface that own their memory.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/memory/support.h"

namespace sotto {

class OpenVocabulary {
 public:
  explicit OpenVocabulary(std::vector<std::string> tokens, std::vector<uint8_t> special = {},
                          std::vector<sotto_token> end_tokens = {})
      : tokens_(std::move(tokens)), special_(std::move(special)), ends_(std::move(end_tokens)) {
    offsets_ = {0};
    for (const std::string& token : tokens_) {
      bytes_ += token;
      offsets_.push_back(static_cast<uint32_t>(bytes_.size()));
    }
    sotto_vocabulary_params_init(&params_, sizeof params_);
    params_.token_count = static_cast<uint32_t>(tokens_.size());
    params_.bytes = bytes_.data();
    params_.offsets = offsets_.data();
    params_.special = special_.empty() ? nullptr : special_.data();
    params_.end_tokens = ends_.data();
    params_.end_token_count = ends_.size();
    open();
  }
  explicit OpenVocabulary(const sotto_model* model) {
    sotto_vocabulary_params_init(&params_, sizeof params_);
    params_.model = model;
    open();
  }
  OpenVocabulary(const OpenVocabulary&) = delete;
  OpenVocabulary& operator=(const OpenVocabulary&) = delete;

  const sotto_vocabulary* get() const { return vocabulary_; }
  const sotto_vocabulary_params& params() const { return params_; }

 private:
  void open() {
    size_t size = 0;
    EXPECT_EQ(sotto_vocabulary_memory_size(&params_, &size, nullptr), SOTTO_OK);
    memory_ = std::make_unique<AlignedBytes>(size, 0xEE);
    EXPECT_EQ(sotto_vocabulary_init(&params_, memory_->data(), size, &vocabulary_, nullptr), SOTTO_OK);
  }

  std::vector<std::string> tokens_;
  std::string bytes_;
  std::vector<uint32_t> offsets_;
  std::vector<uint8_t> special_;
  std::vector<sotto_token> ends_;
  sotto_vocabulary_params params_;
  std::unique_ptr<AlignedBytes> memory_;
  sotto_vocabulary* vocabulary_ = nullptr;
};

class OpenGrammar {
 public:
  using Adjust = std::function<void(sotto_grammar_params&)>;

  explicit OpenGrammar(const std::string& source, const Adjust& adjust = {}, size_t memory_factor = 1) {
    error.struct_size = sizeof error;
    sotto_grammar_params params;
    sotto_grammar_params_init(&params, sizeof params);
    if (adjust) adjust(params);
    const size_t memory = memory_factor * sotto_grammar_typical_memory(source.size());
    memory_ = std::make_unique<AlignedBytes>(memory, 0xEE);
    status =
        sotto_grammar_compile(source.data(), source.size(), &params, memory_->data(), memory, &grammar_, &size, &error);
    // The rest of the memory may be overwritten.
    if (status == SOTTO_OK) std::memset(memory_->data() + size, 0xEE, memory - size);
  }
  OpenGrammar(const std::string& source, sotto_grammar_language language)
      : OpenGrammar(source, [language](auto& params) { params.language = language; }) {}

  const sotto_grammar* get() const { return grammar_; }
  std::string message() const { return error.message; }

  sotto_status status;
  size_t size = 0;
  sotto_error error = {};

 private:
  std::unique_ptr<AlignedBytes> memory_;
  sotto_grammar* grammar_ = nullptr;
};

class OpenMatcher {
 public:
  using Adjust = std::function<void(sotto_matcher_params&)>;

  explicit OpenMatcher(const OpenGrammar& grammar, const OpenVocabulary* vocabulary = nullptr,
                       const Adjust& adjust = {}) {
    EXPECT_EQ(grammar.status, SOTTO_OK) << grammar.message();
    const sotto_vocabulary* tokens = vocabulary == nullptr ? nullptr : vocabulary->get();
    sotto_matcher_params params;
    sotto_matcher_params_init(&params, sizeof params);
    if (adjust) adjust(params);
    size_t size = 0;
    EXPECT_EQ(sotto_matcher_memory_size(grammar.get(), tokens, &params, &size, nullptr), SOTTO_OK);
    memory_ = std::make_unique<AlignedBytes>(size, 0xEE);
    EXPECT_EQ(sotto_matcher_init(grammar.get(), tokens, &params, memory_->data(), size, &matcher_, nullptr), SOTTO_OK);
  }
  OpenMatcher(const OpenMatcher&) = delete;
  OpenMatcher& operator=(const OpenMatcher&) = delete;

  sotto_matcher* get() { return matcher_; }

  bool begins(const std::string& text) { return test(text).first; }
  bool matches(const std::string& text) { return test(text).second; }

  sotto_status accept(const std::string& text) {
    return sotto_matcher_accept_text(matcher_, 0, text.data(), text.size());
  }
  sotto_status take(sotto_token token) { return sotto_matcher_accept_token(matcher_, 0, token); }

  // Returns the allowed tokens, or an empty set at a dead end.
  std::set<sotto_token> allowed(size_t token_count, uint32_t sequence = 0) {
    std::vector<uint64_t> words((token_count + 63) / 64);
    std::set<sotto_token> tokens;
    if (sotto_matcher_mask(matcher_, sequence, words.data(), words.size()) != SOTTO_OK) return {};
    for (size_t t = 0; t < 64 * words.size(); ++t) {
      if ((words[t / 64] >> t % 64 & 1) != 0) tokens.insert(static_cast<sotto_token>(t));
    }
    return tokens;
  }

  sotto_matcher_info info(uint32_t sequence = 0) {
    sotto_matcher_info info = {};
    info.struct_size = sizeof info;
    EXPECT_EQ(sotto_matcher_get_info(matcher_, sequence, &info), SOTTO_OK);
    return info;
  }

 private:
  std::pair<bool, bool> test(const std::string& text) {
    uint32_t begins = 2, matches = 2;
    EXPECT_EQ(sotto_matcher_test(matcher_, 0, text.data(), text.size(), &begins, &matches), SOTTO_OK);
    return {begins == 1, matches == 1};
  }

  std::unique_ptr<AlignedBytes> memory_;
  sotto_matcher* matcher_ = nullptr;
};

}  // namespace sotto
