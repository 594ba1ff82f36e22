#include "tests/unit/grammar/grammar_support.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <nlohmann/json.hpp>

#include "runtime/grammar/compiler/grammar_image.h"

namespace sotto::test {
namespace {

constexpr size_t kCompileSize = size_t{256} << 20;

uint8_t* compile_memory() {
  static const std::unique_ptr<uint8_t[]> memory(new uint8_t[kCompileSize]);
  return memory.get();
}

// GPT-2 writes bytes as printable characters. Other bytes are numbered from U+0100.
std::map<uint32_t, char> gpt2_bytes() {
  std::map<uint32_t, char> bytes;
  uint32_t next = 0x100;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
    bytes[printable ? byte : next++] = static_cast<char>(byte);
  }
  return bytes;
}

}  // namespace

uint64_t next_random(uint64_t* state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return *state >> 33;
}

Memory aligned_memory(size_t size) {
  return Memory(std::aligned_alloc(kMemoryAlignment, align_up(size + 1, kMemoryAlignment)));
}

TestVocabulary::TestVocabulary(const std::vector<std::optional<std::string>>& tokens, int32_t end_token)
    : end_token_(end_token) {
  for (const auto& token : tokens) {
    texts_.push_back(token.value_or(""));
    special_.push_back(!token.has_value());
    bytes_.insert(bytes_.end(), texts_.back().begin(), texts_.back().end());
    offsets_.push_back(static_cast<uint32_t>(bytes_.size()));
  }
  const size_t end_count = end_token < 0 ? 0 : 1;
  const VocabularySource source{bytes_, offsets_, special_, {&end_token_, end_count}};
  std::vector<uint32_t> order(tokens.size());
  uint32_t order_count = 0;
  Error error;
  EXPECT_EQ(sort_tokens(source, order.data(), &order_count, &error), Status::kOk) << error.message;
  order.resize(order_count);
  memory_size_ = vocabulary_memory_size(source, order);
  memory_ = aligned_memory(memory_size_);
  build_vocabulary(source, order, memory_.get(), &vocabulary_);
}

TokenNames TestVocabulary::names() const {
  return {this, size(), [](const void* self, std::span<const char> text) {
            const auto& texts = static_cast<const TestVocabulary*>(self)->texts_;
            const std::string wanted(text.begin(), text.end());
            const auto found = std::find(texts.begin(), texts.end(), wanted);
            return found == texts.end() ? kNoIndex : static_cast<uint32_t>(found - texts.begin());
          }};
}

std::unique_ptr<TestVocabulary> gpt2_vocabulary() {
  const auto bytes = gpt2_bytes();
  const auto json = nlohmann::json::parse(read_file(shared_data() / kGpt2Encoder));
  std::vector<std::optional<std::string>> tokens(json.size());
  for (const auto& [name, id] : json.items()) {
    std::string text;
    for (size_t i = 0; i < name.size();) {
      const bool is_two = (static_cast<uint8_t>(name[i]) & 0xE0) == 0xC0;
      const uint32_t code_point =
          is_two ? (static_cast<uint8_t>(name[i]) & 0x1Fu) << 6 | (static_cast<uint8_t>(name[i + 1]) & 0x3Fu)
                 : static_cast<uint8_t>(name[i]);
      text += bytes.at(code_point);
      i += is_two ? 2 : 1;
    }
    tokens[id.get<size_t>()] = text;
  }
  const auto end_token = json.at("<|endoftext|>").get<int32_t>();
  tokens[static_cast<size_t>(end_token)] = std::nullopt;
  return std::make_unique<TestVocabulary>(tokens, end_token);
}

TestVocabulary small_vocabulary(const std::vector<std::string>& texts) {
  std::vector<std::optional<std::string>> tokens{std::nullopt};
  for (int byte = 0; byte < 256; ++byte) tokens.push_back(std::string(1, static_cast<char>(byte)));
  tokens.insert(tokens.end(), texts.begin(), texts.end());
  return {tokens, 0};
}

TestGrammar::TestGrammar(std::string_view text, const CompileTuning& tuning, const TestVocabulary* vocabulary,
                         std::string_view root) {
  GbnfOptions options;
  options.root = as_span(root);
  options.tuning = tuning;
  if (vocabulary != nullptr) options.tokens = vocabulary->names();
  const RuleWarnings warnings{&warnings_, [](void* self, std::span<const char> rule, uint64_t) {
                                static_cast<std::vector<std::string>*>(self)->emplace_back(rule.begin(), rule.end());
                              }};
  const CompiledGrammar* grammar = nullptr;
  Error error;
  status_ = compile_gbnf(as_span(text), options, warnings, {compile_memory(), kCompileSize}, &grammar, &error);
  message_ = error.message;
  if (status_ != Status::kOk) return;
  memory_ = aligned_memory(grammar->size());
  std::memcpy(memory_.get(), grammar, grammar->size());
  view_ = static_cast<const CompiledGrammar*>(memory_.get());
}

TestGrammar TestGrammar::reloaded() const {
  TestGrammar loaded;
  const size_t size = grammar_image_size(view());
  loaded.memory_ = aligned_memory(size);
  auto* image = static_cast<uint8_t*>(loaded.memory_.get());
  write_grammar_image(view(), image);
  Error error;
  loaded.status_ = open_grammar_image({image, size}, &loaded.view_, &error);
  loaded.message_ = error.message;
  return loaded;
}

Status OwnedMatcher::init(const CompiledGrammar& grammar, const Vocabulary* vocabulary, const MatcherParams& params,
                          const MaskShortcuts& shortcuts, Error* error) {
  SOTTO_TRY(Matcher::memory_size(grammar, vocabulary, params, &memory_size_, error));
  memory_ = aligned_memory(memory_size_);
  return Matcher::init(grammar, vocabulary, params, memory_.get(), memory_size_, &matcher_, error, shortcuts);
}

TestMatcher::TestMatcher(const TestGrammar& grammar, const TestVocabulary* vocabulary, const MatcherParams& limits,
                         const MaskShortcuts& shortcuts) {
  EXPECT_TRUE(grammar.valid()) << grammar.message();
  if (!grammar.valid()) std::abort();
  const Vocabulary* view = vocabulary == nullptr ? nullptr : &vocabulary->view();
  EXPECT_EQ(matcher_.init(grammar.view(), view, limits, shortcuts), Status::kOk);
}

std::optional<bool> TestMatcher::matches(std::string_view text) {
  matcher_->reset(0);
  const Status status = accept(text);
  if (status == Status::kOk) return matcher_->may_end(0);
  if (status == Status::kInvalidArgument) return false;
  return std::nullopt;
}

AllowedTokens::AllowedTokens(const std::vector<bool>& allowed)
    : size_(allowed.size()), words_(TokenMask::word_count(allowed.size())) {
  for (size_t token = 0; token < size_; ++token) {
    if (allowed[token]) set_bit(words_.data(), token);
  }
}

AllowedTokens::AllowedTokens(const TokenMask& mask)
    : size_(mask.token_count), words_(mask.words, mask.words + TokenMask::word_count(mask.token_count)) {
  if (size_ % 64 != 0) words_.back() &= ~(~uint64_t{0} << size_ % 64);
}

AllowedTokens TestMatcher::mask(uint32_t sequence) {
  TokenMask mask;
  const Status status = matcher_->mask(sequence, &mask);
  if (status != Status::kOk) {
    EXPECT_EQ(status, Status::kGrammarDeadEnd);
    return {};
  }
  return AllowedTokens(mask);
}

}  // namespace sotto::test
