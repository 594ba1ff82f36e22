#include "tests/fuzz/fuzz_grammar.h"

#include <algorithm>

namespace sotto {
namespace {

constexpr size_t kMatcherCapacity = size_t{4} << 20;
constexpr uint32_t kBitsPerStep = 12;

// Tokens that follow two special tokens and the bytes.
constexpr std::string_view kTexts[] = {
    "{\"",
    "\": ",
    "\":",
    "\",",
    "\"}",
    "}}",
    "],",
    ", ",
    "[]",
    "{}",
    " \n",
    "  ",
    "true",
    "alse",
    "null",
    "12",
    "0.5",
    "-1",
    "e+",
    "abc",
    "ab",
    "name",
    "type",
    "\\u00",
    "\\\"",
    "\\n",
    "\xC3\xA9",
    "\xC3",
    "\xA9\xC3",
    "\xE4\xB8\x96",
    "\xE4\xB8",
    "\x96",
    "\xF0\x9F\x98\x80",
    "\xF0\x9F",
    "\xED\xA0\x80",
    "\xFF\xFE",
    "aaaaaaaaaaaaaaaa",
    "the quick brown",
    "</end>",
};

FuzzMemory& matcher_memory() {
  static FuzzMemory memory(kMatcherCapacity);
  return memory;
}

}  // namespace

FuzzMemory::FuzzMemory(size_t capacity)
    : capacity_((capacity + kAlignment - 1) / kAlignment * kAlignment),
      memory_(static_cast<uint8_t*>(std::aligned_alloc(kAlignment, capacity_))) {}

std::span<uint8_t> FuzzMemory::last(size_t size) {
  const size_t used = (size + kAlignment - 1) / kAlignment * kAlignment;
  REQUIRE(used <= capacity_);
  return {memory_.get() + (capacity_ - used), used};
}

const FuzzVocabulary& FuzzVocabulary::get() {
  static const FuzzVocabulary vocabulary;
  return vocabulary;
}

FuzzVocabulary::FuzzVocabulary() : memory_(size_t{1} << 16) {
  const auto add = [&](std::string_view text, bool is_special) {
    texts_.emplace_back(text);
    if (!is_special) bytes_.insert(bytes_.end(), text.begin(), text.end());
    offsets_.push_back(static_cast<uint32_t>(bytes_.size()));
    special_.push_back(is_special);
  };
  add("<|end|>", true);
  add("<think>", true);
  for (int byte = 0; byte < 256; ++byte) add(std::string(1, static_cast<char>(byte)), false);
  for (const std::string_view text : kTexts) add(text, false);
  end_tokens_ = {0, static_cast<int32_t>(texts_.size()) - 1};
  add("", false);
  const VocabularySource source{bytes_, offsets_, special_, end_tokens_};
  std::vector<uint32_t> order(texts_.size());
  uint32_t order_count = 0;
  REQUIRE(sort_tokens(source, order.data(), &order_count, nullptr) == Status::kOk);
  order.resize(order_count);
  const auto memory = memory_.last(vocabulary_memory_size(source, order));
  build_vocabulary(source, order, memory.data(), &vocabulary_);
}

bool FuzzVocabulary::is_end(uint32_t token) const {
  return std::find(end_tokens_.begin(), end_tokens_.end(), static_cast<int32_t>(token)) != end_tokens_.end();
}

TokenNames FuzzVocabulary::names() const {
  return {this, size(), [](const void* self, std::span<const char> text) {
            const auto& texts = static_cast<const FuzzVocabulary*>(self)->texts_;
            const auto found = std::find(texts.begin(), texts.end(), std::string_view(text.data(), text.size()));
            return found == texts.end() ? kNoIndex : static_cast<uint32_t>(found - texts.begin());
          }};
}

FuzzInput::FuzzInput(const uint8_t* data, size_t size)
    : text(reinterpret_cast<const char*>(data), size), rest(data, size) {
  const size_t end = text.find('\xFF');
  if (end == std::string_view::npos) return;
  text = text.substr(0, end);
  rest = FuzzBytes(data + end + 1, size - end - 1);
}

const CompiledGrammar* compile_built(Status built, std::string_view text, GrammarBuilder& builder, Error& error) {
  const CompiledGrammar* grammar = nullptr;
  Status status = built;
  if (status == Status::kOk) {
    const uint32_t root = builder.find_rule(as_span("root"));
    status = compile_grammar(builder, as_span(text), root, {}, {}, &grammar, &error);
  }
  if (status == Status::kOk) return grammar;
  check_refusal(status, error, text);
  return nullptr;
}

void check_refusal(Status status, const Error& error, std::string_view text) {
  REQUIRE(status < Status::kOk && status == error.status && error.message[0] != '\0');
  REQUIRE(error.offset == Error::kNoOffset || error.offset <= text.size());
}

MatcherParams small_limits(FuzzBytes& bytes) {
  constexpr uint32_t kCounts[] = {96, 16, 256, 33};
  const auto count = [&] { return kCounts[bytes.below(4)]; };
  MatcherParams limits;
  limits.node_count = count();
  limits.frame_count = count() * 2;
  limits.state_set_count = count();
  limits.state_count = count() * 2;
  limits.visit_count = count() * 2;
  limits.mask_bytes = 512u << bytes.below(4);
  limits.rollback_count = bytes.below(8);
  limits.sequence_count = 3;
  limits.step_budget = 200u << bytes.below(8);
  return limits;
}

Matcher* open_matcher(const CompiledGrammar& grammar, const MatcherParams& limits, const MaskShortcuts& shortcuts,
                      FuzzMemory& memory) {
  const Vocabulary& vocabulary = FuzzVocabulary::get().view();
  size_t size = 0;
  REQUIRE(Matcher::memory_size(grammar, &vocabulary, limits, &size, nullptr) == Status::kOk);
  Matcher* matcher = nullptr;
  const Status status =
      Matcher::init(grammar, &vocabulary, limits, memory.last(size).data(), size, &matcher, nullptr, shortcuts);
  REQUIRE(status == Status::kOk || status == Status::kGrammarTooLarge);
  return matcher;
}

GrammarWalk::GrammarWalk(const CompiledGrammar& grammar, FuzzBytes& bytes) : bytes_(bytes) {
  const MatcherParams limits = small_limits(bytes);
  const MaskShortcuts shortcuts{bytes.below(4) != 1, bytes.below(4) != 1};
  matcher_ = open_matcher(grammar, limits, shortcuts, matcher_memory());
}

bool GrammarWalk::read_mask() {
  TokenMask mask;
  const Status status = matcher_->mask(0, &mask);
  if (status == Status::kGrammarTooLarge) return false;
  REQUIRE(status == Status::kOk);  // every byte is a token, so there is no dead end
  REQUIRE(mask.token_count == FuzzVocabulary::get().size());
  mask_.assign(mask.words, mask.words + (mask.token_count + 63) / 64);
  REQUIRE((mask_.back() >> (mask.token_count % 64)) == 0);
  return true;
}

void GrammarWalk::check_bits() {
  const uint32_t token_count = FuzzVocabulary::get().size();
  for (uint32_t i = 0; i < kBitsPerStep; ++i) {
    checked_ = (checked_ * 5 + 41 + bytes_.byte()) % token_count;
    matcher_->fork(0, 1);
    const Status status = matcher_->accept_token(1, static_cast<int32_t>(checked_));
    if (status == Status::kGrammarTooLarge) continue;
    REQUIRE((status == Status::kOk) == allows(checked_));
    REQUIRE(status == Status::kOk || status == Status::kInvalidArgument);
    REQUIRE(status == Status::kOk || matcher_->may_end(1) == matcher_->may_end(0));
  }
}

// An allowed token must agree with the text that must follow.
void GrammarWalk::check_forced() {
  char forced[24];
  size_t size = 0;
  if (matcher_->forced_text(0, forced, &size) != Status::kOk || size == 0) return;
  REQUIRE(size <= sizeof forced && !matcher_->may_end(0));
  const Vocabulary& vocabulary = FuzzVocabulary::get().view();
  for (uint32_t token = 0; token < vocabulary.token_count; ++token) {
    if (!allows(token)) continue;
    const auto text = vocabulary.token_bytes(token);
    const size_t common = std::min(size, text.size());
    REQUIRE(common > 0 && std::equal(text.begin(), text.begin() + static_cast<ptrdiff_t>(common), forced));
  }
  matcher_->fork(0, 2);
  const Status status = matcher_->accept_text(2, {forced, size});
  REQUIRE(status == Status::kOk || status == Status::kGrammarTooLarge);
}

// Returns whether the token is an end token here, and not a token literal of the grammar.
bool GrammarWalk::ends(uint32_t token) {
  const Vocabulary& vocabulary = FuzzVocabulary::get().view();
  if (!FuzzVocabulary::get().is_end(token)) return false;
  const auto text = vocabulary.token_bytes(token);
  matcher_->fork(0, 1);
  return matcher_->may_end(0) && (text.empty() || matcher_->accept_text(1, text) == Status::kInvalidArgument);
}

bool GrammarWalk::step() {
  if (!is_open() || has_ended_ || !read_mask()) return false;
  check_bits();
  check_forced();
  const std::vector<uint64_t> before = mask_;
  if (!read_mask()) return false;
  REQUIRE(mask_ == before);
  std::vector<uint32_t> allowed;
  const FuzzVocabulary& vocabulary = FuzzVocabulary::get();
  for (uint32_t token = 0; token < vocabulary.size(); ++token) {
    if (allows(token)) allowed.push_back(token);
  }
  REQUIRE(!allowed.empty());
  const uint32_t token = allowed[(bytes_.byte() * 7u + bytes_.byte()) % allowed.size()];
  const bool ends = this->ends(token);
  const Status status = matcher_->accept_token(0, static_cast<int32_t>(token));
  if (status == Status::kGrammarTooLarge) return false;
  REQUIRE(status == Status::kOk);
  if (ends) {
    has_ended_ = true;
    return false;
  }
  const auto bytes = vocabulary.view().token_bytes(token);
  text_.append(bytes.begin(), bytes.end());
  return true;
}

}  // namespace sotto
