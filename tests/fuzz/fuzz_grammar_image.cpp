// Fuzzes grammar images. An image is rejected, or safe for a matcher with any limits. Corpus: images of small grammars.
// The target corrects sizes and the checksum, so that inputs reach the checks after them.

#include <algorithm>

#include "runtime/base/xxhash64.h"
#include "runtime/grammar/compiler/grammar_image.h"
#include "tests/fuzz/fuzz_grammar.h"

namespace {

using sotto::Status;

constexpr size_t kMaxMemory = size_t{8} << 20;
constexpr int kSteps = 24;

// The layout of the header that write_grammar_image() writes.
constexpr size_t kChecksum = 24;
constexpr size_t kBlockSize = 60;
constexpr size_t kBlock = 64;

template <typename T>
void put(std::span<uint8_t> image, size_t at, T value) {
  std::memcpy(image.data() + at, &value, sizeof value);
}

void set_right(std::span<uint8_t> image) {
  if (image.size() < kBlock + sizeof(uint64_t)) return;
  const auto block = image.subspan(kBlock);
  put(image, kBlock, uint64_t{block.size()});
  put(image, kBlockSize, static_cast<uint32_t>(block.size()));
  put(image, kChecksum, sotto::xxhash64(block.data(), block.size()));
}

// Random numbers that depend only on the image.
class Numbers {
 public:
  explicit Numbers(uint64_t seed) : state_(seed) {}
  uint32_t below(uint32_t limit) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<uint32_t>(state_ >> 33) % limit;
  }

 private:
  uint64_t state_;
};

sotto::MatcherParams choose_limits(Numbers& numbers) {
  const auto count = [&] { return 16u << numbers.below(6); };
  sotto::MatcherParams limits;
  limits.node_count = count();
  limits.frame_count = 2 * count();
  limits.state_set_count = count();
  limits.state_count = 2 * count();
  limits.visit_count = count();
  limits.mask_bytes = 2048;
  limits.rollback_count = 4;
  limits.sequence_count = 2;
  limits.step_budget = 200u << numbers.below(9);
  return limits;
}

bool is_refusal(Status status) {
  return status == Status::kGrammarTooLarge || status == Status::kInvalidArgument ||
         status == Status::kGrammarDeadEnd || status == Status::kGrammarCorrupt;
}

void step(sotto::Matcher& matcher, Numbers& numbers) {
  const uint32_t token_count = sotto::FuzzVocabulary::get().size();
  sotto::TokenMask mask;
  Status status = matcher.mask(0, &mask);
  REQUIRE(status == Status::kOk || is_refusal(status));
  auto token = static_cast<int32_t>(numbers.below(token_count));
  for (uint32_t i = 0; status == Status::kOk && i < token_count; ++i) {
    if (mask.allows(static_cast<uint32_t>(token))) break;
    token = (token + 1) % static_cast<int32_t>(token_count);
  }
  status = matcher.accept_token(0, token);
  REQUIRE(status == Status::kOk || is_refusal(status));
  char text[16];
  size_t size = 0;
  status = matcher.forced_text(0, text, &size);
  REQUIRE(status == Status::kOk || is_refusal(status));
  if (numbers.below(4) == 0) {
    status = matcher.accept_text(1, {text, size});
    REQUIRE(status == Status::kOk || is_refusal(status));
    matcher.fork(0, 1);
  }
  if (numbers.below(4) == 0) {
    status = matcher.rewind(1);
    REQUIRE(status == Status::kOk || status == Status::kInvalidState);
  }
  (void)matcher.may_end(1);
  (void)matcher.must_end(0);
}

void walk(const sotto::CompiledGrammar& grammar, uint64_t seed) {
  static sotto::FuzzMemory memory(kMaxMemory);
  Numbers numbers(seed);
  const sotto::Vocabulary& vocabulary = sotto::FuzzVocabulary::get().view();
  const sotto::MatcherParams limits = choose_limits(numbers);
  size_t size = 0;
  Status status = sotto::Matcher::memory_size(grammar, &vocabulary, limits, &size, nullptr);
  if (status != Status::kOk || size > kMaxMemory) return;
  sotto::Matcher* matcher = nullptr;
  status = sotto::Matcher::init(grammar, &vocabulary, limits, memory.last(size).data(), size, &matcher, nullptr);
  REQUIRE(status == Status::kOk || is_refusal(status));
  for (int i = 0; status == Status::kOk && i < kSteps; ++i) step(*matcher, numbers);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  void* memory = nullptr;
  REQUIRE(posix_memalign(&memory, 64, std::max<size_t>(size, 1)) == 0);
  const std::span<uint8_t> image{static_cast<uint8_t*>(memory), size};
  std::copy_n(data, size, image.data());
  const sotto::CompiledGrammar* grammar = nullptr;
  const Status unchanged = sotto::open_grammar_image(image, &grammar, nullptr);
  REQUIRE(unchanged == Status::kOk || is_refusal(unchanged));
  set_right(image);
  if (sotto::open_grammar_image(image, &grammar, nullptr) == Status::kOk) {
    walk(*grammar, sotto::xxhash64(image.data(), image.size()));
  }
  std::free(memory);
  return 0;
}
