// Tests that a prepared vocabulary is rejected, or equals the vocabulary that would be built.
#include "runtime/grammar/vocabulary/model_vocabulary.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/base/xxhash64.h"
#include "tests/unit/grammar/grammar_support.h"

namespace sotto::test {
namespace {

template <typename T>
bool same(std::span<const T> a, std::span<const T> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

bool same(const Vocabulary& a, const Vocabulary& b) {
  return a.token_count == b.token_count && a.longest == b.longest && same(a.nodes, b.nodes) &&
         same(a.node_summaries, b.node_summaries) && same(a.token_summaries, b.token_summaries) &&
         same(a.order, b.order);
}

// A copy of the arrays of a vocabulary, which the test changes.
class Prepared {
 public:
  explicit Prepared(const Vocabulary& vocabulary) : vocabulary_(vocabulary) {
    view_.text_count = static_cast<uint32_t>(vocabulary.order.size());
    view_.node_count = static_cast<uint32_t>(vocabulary.node_summaries.size());
    view_.longest = vocabulary.longest;
    const size_t size = prepared_vocabulary_size(vocabulary.token_count, view_.text_count, view_.node_count);
    memory_ = aligned_memory(size);
    bytes_ = {static_cast<uint8_t*>(memory_.get()), size};
    // The array of the order comes first.
    std::memcpy(bytes_.data(), vocabulary.order.data(), size);
    view_.arrays = bytes_;
  }

  std::span<uint8_t> bytes() { return bytes_; }
  PreparedVocabulary& view() { return view_; }
  Status open(Vocabulary* opened) { return open_prepared_vocabulary(vocabulary_.source, view_, opened, nullptr); }

 private:
  const Vocabulary& vocabulary_;
  PreparedVocabulary view_;
  Memory memory_;
  std::span<uint8_t> bytes_;
};

void expect_equals_built(const TestVocabulary& vocabulary) {
  Prepared prepared(vocabulary.view());
  Vocabulary opened;
  ASSERT_EQ(prepared.open(&opened), Status::kOk);
  EXPECT_TRUE(same(opened, vocabulary.view()));
  EXPECT_LE(prepared.bytes().size(), size_t{1'200'000});
}

TEST(PreparedVocabulary, EqualsTheBuiltVocabulary) {
  expect_equals_built(small_vocabulary({"ab", "abc", "ab", "caf\u00e9", "\n\n", "Ab0 _"}));
}

TEST(PreparedVocabulary, EqualsTheBuiltVocabularyOfGpt2) {
  SOTTO_REQUIRE_DATA(kGpt2Encoder);
  expect_equals_built(*gpt2_vocabulary());
}

TEST(PreparedVocabulary, ChangedBytesAreRejected) {
  const TestVocabulary vocabulary = small_vocabulary({"ab", "abc", "ab", "caf\u00e9", "xyz"});
  size_t refused = 0;
  size_t unused = 0;
  Prepared prepared(vocabulary.view());
  for (size_t at = 0; at < prepared.bytes().size(); ++at) {
    for (const uint8_t change : {0x01, 0x10, 0x80, 0xFF}) {
      prepared.bytes()[at] = static_cast<uint8_t>(prepared.bytes()[at] ^ change);
      Vocabulary opened;
      const Status status = prepared.open(&opened);
      prepared.bytes()[at] = static_cast<uint8_t>(prepared.bytes()[at] ^ change);
      ASSERT_TRUE(status == Status::kOk || status == Status::kModelCorrupt);
      ++(status == Status::kOk ? unused : refused);
    }
  }
  // Only the bytes between the arrays, up to the next multiple of 64, are not read.
  EXPECT_LE(unused, 3 * 63 * 4u);
  EXPECT_GT(refused, 10'000u);
}

TEST(PreparedVocabulary, WrongCountsAreRejected) {
  const TestVocabulary vocabulary = small_vocabulary({"ab", "abc"});
  Prepared prepared(vocabulary.view());
  Vocabulary opened;
  const PreparedVocabulary right = prepared.view();
  for (const uint32_t wrong :
       {0u, 1u, right.node_count - 1, right.node_count + 1, right.longest + 1, TrieNode::kMaxIndex, UINT32_MAX}) {
    for (uint32_t PreparedVocabulary::*count :
         {&PreparedVocabulary::text_count, &PreparedVocabulary::node_count, &PreparedVocabulary::longest}) {
      prepared.view() = right;
      if (right.*count == wrong) continue;
      prepared.view().*count = wrong;
      EXPECT_EQ(prepared.open(&opened), Status::kModelCorrupt) << wrong;
    }
  }
  prepared.view() = right;
  prepared.view().arrays = right.arrays.first(right.arrays.size() - 64);
  EXPECT_EQ(prepared.open(&opened), Status::kModelCorrupt);
}

// Files hold the results of these functions. A change of them must raise kPrefilterVersion.
TEST(PreparedVocabulary, KindsOfTextBelongToTheVersion) {
  std::vector<uint8_t> bytes;
  for (uint32_t state = 0; state < kUtf8States; ++state) {
    for (uint32_t byte = 0; byte < 256; ++byte) {
      bytes.push_back(utf8_step(state, static_cast<uint8_t>(byte)));
    }
  }
  for (uint32_t byte = 0; byte < 256; ++byte) bytes.push_back(char_class_of(static_cast<uint8_t>(byte)));
  std::string text;
  for (int length = 0; length < 40; ++length) {
    bytes.push_back(summarize(as_span(text)));
    text += "aB 0\u00e9-\""[length % 4];
  }
  bytes.push_back(kOutsidePrefilters);
  EXPECT_EQ(kPrefilterVersion, 2u);
  EXPECT_EQ(xxhash64(bytes.data(), bytes.size()), 7564504631175593222u);
}

}  // namespace
}  // namespace sotto::test
