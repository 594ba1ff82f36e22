// Makes the same calls of two matchers, one with small and one with large limits. The results are equal unless the
// first matcher reports a limit. Its state is then unchanged.

#include <algorithm>

#include "tests/fuzz/fuzz_grammar.h"
#include "tests/fuzz/fuzz_matcher_grammars.h"

namespace {

using sotto::Status;

constexpr size_t kCompileSize = size_t{4} << 20;
constexpr size_t kMatcherSize = size_t{16} << 20;
constexpr uint32_t kSequences = 3;
constexpr uint32_t kMaxOperations = 60;

// A grammar compiled in three ways: as usual, with every repetition counted, and with rules
// left as they are written.
const sotto::CompiledGrammar& grammar_of(uint32_t index, uint32_t tuning) {
  using Image = std::vector<uint64_t>;
  static Image images[std::size(sotto::kFuzzGrammars)][3];
  Image& image = images[index][tuning];
  if (image.empty()) {
    static sotto::FuzzMemory memory(kCompileSize);
    constexpr sotto::CompileTuning kTunings[] = {{}, {0, 512}, {8, 0}};
    sotto::GbnfOptions options;
    options.tokens = sotto::FuzzVocabulary::get().names();
    options.tuning = kTunings[tuning];
    const sotto::CompiledGrammar* grammar = nullptr;
    REQUIRE(sotto::compile_gbnf(sotto::as_span(sotto::kFuzzGrammars[index]), options, {}, memory.last(kCompileSize),
                                &grammar, nullptr) == Status::kOk);
    image.resize((grammar->size() + 7) / 8);
    std::memcpy(image.data(), grammar, grammar->size());
  }
  return *reinterpret_cast<const sotto::CompiledGrammar*>(image.data());
}

sotto::MatcherParams ample_limits() {
  sotto::MatcherParams limits;
  limits.node_count = 1024;
  limits.frame_count = 4096;
  limits.state_set_count = 512;
  limits.state_count = 4096;
  limits.visit_count = 2048;
  limits.mask_bytes = 32 << 10;
  limits.rollback_count = 64;
  limits.sequence_count = kSequences;
  limits.step_budget = 400'000;
  return limits;
}

class Pair {
 public:
  Pair(const sotto::CompiledGrammar& grammar, sotto::FuzzBytes& bytes)
      : bytes_(bytes), limits_(sotto::small_limits(bytes)) {
    static sotto::FuzzMemory small_memory(kMatcherSize);
    static sotto::FuzzMemory ample_memory(kMatcherSize);
    const sotto::MaskShortcuts shortcuts{bytes.below(4) != 1, bytes.below(4) != 1};
    small_ = sotto::open_matcher(grammar, limits_, shortcuts, small_memory);
    ample_ = sotto::open_matcher(grammar, ample_limits(), {false, false}, ample_memory);
  }

  bool is_open() const { return small_ != nullptr && ample_ != nullptr; }

  // Makes one call to both matchers. Returns false if the larger one also reports a limit, after which they cannot be
  // compared.
  bool step() {
    const uint32_t operation = bytes_.below(12);
    const uint32_t sequence = bytes_.below(3) % kSequences;
    switch (operation) {
      case 0:
      case 1:
      case 2:
      case 3:
        return accept_allowed(sequence);
      case 4:
        return accept(sequence, [&, token = bytes_.byte() * 2 + 1](sotto::Matcher& matcher) {
          return matcher.accept_token(sequence, token);
        });
      case 5:
      case 6: {
        char text[4];
        const size_t size = 1 + bytes_.below(4);
        for (size_t i = 0; i < size; ++i) text[i] = static_cast<char>(bytes_.byte());
        return accept(sequence, [&](sotto::Matcher& matcher) { return matcher.accept_text(sequence, {text, size}); });
      }
      case 7:
        fork(sequence, bytes_.below(3) % kSequences);
        return true;
      case 8:
        rewind(bytes_.below(6));
        return true;
      case 9:
        return compare_forced(sequence);
      case 10:
        if (bytes_.below(4) == 0) reset(sequence);
        return true;
      default:
        return compare_masks(sequence);
    }
  }

 private:
  void compare_states(uint32_t sequence) {
    REQUIRE(small_->may_end(sequence) == ample_->may_end(sequence));
    REQUIRE(small_->must_end(sequence) == ample_->must_end(sequence));
  }

  template <typename Call>
  bool accept(uint32_t sequence, Call call) {
    const Status status = call(*small_);
    if (status != Status::kGrammarTooLarge) {
      const Status expected = call(*ample_);
      if (expected == Status::kGrammarTooLarge) return false;
      REQUIRE(status == expected);
      if (sequence == 0 && status == Status::kOk) {
        rewindable_ = std::min(rewindable_ + 1, limits_.rollback_count);
      }
    }
    compare_states(sequence);
    return true;
  }

  bool accept_allowed(uint32_t sequence) {
    sotto::TokenMask mask;
    const Status status = ample_->mask(sequence, &mask);
    if (status == Status::kGrammarTooLarge) return false;
    REQUIRE(status == Status::kOk);
    std::vector<int32_t> allowed;
    for (uint32_t token = 0; token < mask.token_count; ++token) {
      if (mask.allows(token)) allowed.push_back(static_cast<int32_t>(token));
    }
    const int32_t token = allowed[(bytes_.byte() * 7u) % allowed.size()];
    return accept(sequence, [&](sotto::Matcher& matcher) {
      const Status accepted = matcher.accept_token(sequence, token);
      REQUIRE(accepted == Status::kOk || accepted == Status::kGrammarTooLarge);
      return accepted;
    });
  }

  bool compare_masks(uint32_t sequence) {
    sotto::TokenMask mask;
    const Status status = small_->mask(sequence, &mask);
    compare_states(sequence);
    if (status == Status::kGrammarTooLarge) return true;
    sotto::TokenMask expected;
    const Status expected_status = ample_->mask(sequence, &expected);
    if (expected_status == Status::kGrammarTooLarge) return false;
    REQUIRE(status == Status::kOk && expected_status == Status::kOk);
    REQUIRE(std::equal(mask.words, mask.words + (mask.token_count + 63) / 64, expected.words));
    return true;
  }

  bool compare_forced(uint32_t sequence) {
    char forced[12];
    size_t size = 0;
    const size_t capacity = bytes_.below(13);
    const Status status = small_->forced_text(sequence, {forced, capacity}, &size);
    compare_states(sequence);
    if (status == Status::kGrammarTooLarge) return true;
    char expected[12];
    size_t expected_size = 0;
    const Status expected_status = ample_->forced_text(sequence, {expected, capacity}, &expected_size);
    if (expected_status == Status::kGrammarTooLarge) return false;
    REQUIRE(status == Status::kOk && expected_status == Status::kOk);
    REQUIRE(size == expected_size && std::equal(forced, forced + size, expected));
    return true;
  }

  void rewind(uint32_t count) {
    const Status status = small_->rewind(count);
    REQUIRE((status == Status::kOk) == (count <= rewindable_));
    if (status != Status::kOk) return;
    REQUIRE(ample_->rewind(count) == Status::kOk);
    rewindable_ -= count;
    compare_states(0);
  }

  void fork(uint32_t from, uint32_t to) {
    small_->fork(from, to);
    ample_->fork(from, to);
    if (to == 0 && from != 0) rewindable_ = 0;
    compare_states(to);
  }

  void reset(uint32_t sequence) {
    small_->reset(sequence);
    ample_->reset(sequence);
    if (sequence == 0) rewindable_ = 0;
    compare_states(sequence);
  }

  sotto::FuzzBytes& bytes_;
  sotto::MatcherParams limits_;
  sotto::Matcher* small_;
  sotto::Matcher* ample_;
  uint32_t rewindable_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  sotto::FuzzBytes bytes(data, size);
  const uint32_t index = bytes.below(std::size(sotto::kFuzzGrammars));
  const sotto::CompiledGrammar& grammar = grammar_of(index, bytes.below(3));
  Pair pair(grammar, bytes);
  if (!pair.is_open()) return 0;
  for (uint32_t i = 0; i < kMaxOperations && !bytes.empty() && pair.step(); ++i) {
  }
  return 0;
}
