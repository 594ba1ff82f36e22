// Fuzzes prepared vocabularies. Any arrays are rejected, or equal those that would be built. Input: the number of nodes
// and the size of the longest token, four bytes each, and the arrays.

#include <algorithm>
#include <string_view>
#include <vector>

#include "runtime/grammar/vocabulary/model_vocabulary.h"
#include "tests/fuzz/fuzz_bytes.h"

namespace {

using sotto::Status;

constexpr uint32_t kMaxNodes = 256;
constexpr std::string_view kTexts[] = {"a",    "b",  "ab",  "abc", "",    "ab",  "\xC3\xA9",
                                       "\xC3", " x", "\"y", "0",   "<s>", "</s>"};
constexpr int32_t kEndToken = 12;

class Source {
 public:
  Source() {
    for (const std::string_view text : kTexts) {
      bytes_.insert(bytes_.end(), text.begin(), text.end());
      offsets_.push_back(static_cast<uint32_t>(bytes_.size()));
      special_.push_back(text == "<s>");
    }
  }
  sotto::VocabularySource view() const { return {bytes_, offsets_, special_, {&kEndToken, 1}}; }

 private:
  std::vector<char> bytes_;
  std::vector<uint32_t> offsets_{0};
  std::vector<uint8_t> special_;
};

template <typename T>
bool same(std::span<const T> a, std::span<const T> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

void compare_with_built(const sotto::VocabularySource& source, const sotto::Vocabulary& opened) {
  std::vector<uint32_t> order(source.token_count());
  uint32_t text_count = 0;
  REQUIRE(sort_tokens(source, order.data(), &text_count, nullptr) == Status::kOk);
  order.resize(text_count);
  void* memory = nullptr;
  REQUIRE(posix_memalign(&memory, 64, vocabulary_memory_size(source, order)) == 0);
  sotto::Vocabulary built;
  build_vocabulary(source, order, memory, &built);
  REQUIRE(opened.longest == built.longest && same(opened.order, built.order));
  REQUIRE(same(opened.nodes, built.nodes) && same(opened.node_summaries, built.node_summaries));
  REQUIRE(same(opened.token_summaries, built.token_summaries));
  std::free(memory);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Source kSource;
  const sotto::VocabularySource source = kSource.view();
  sotto::PreparedVocabulary prepared;
  if (size < 2 * sizeof(uint32_t)) return 0;
  std::memcpy(&prepared.node_count, data, sizeof(uint32_t));
  std::memcpy(&prepared.longest, data + sizeof(uint32_t), sizeof(uint32_t));
  prepared.node_count %= kMaxNodes;
  REQUIRE(check_vocabulary(source, &prepared.text_count, nullptr) == Status::kOk);
  const std::span<const uint8_t> given{data + 2 * sizeof(uint32_t), size - 2 * sizeof(uint32_t)};
  const size_t wanted = sotto::prepared_vocabulary_size(source.token_count(), prepared.text_count, prepared.node_count);
  void* memory = nullptr;
  REQUIRE(posix_memalign(&memory, 64, wanted) == 0);
  const std::span<uint8_t> arrays{static_cast<uint8_t*>(memory), wanted};
  std::fill(arrays.begin(), arrays.end(), uint8_t{0});
  std::copy_n(given.begin(), std::min(given.size(), wanted), arrays.begin());
  prepared.arrays = arrays;
  sotto::Vocabulary opened;
  const Status status = open_prepared_vocabulary(source, prepared, &opened, nullptr);
  REQUIRE(status == Status::kOk || status == Status::kModelCorrupt);
  if (status == Status::kOk) compare_with_built(source, opened);
  std::free(memory);
  return 0;
}
