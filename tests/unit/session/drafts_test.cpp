// Tests the parts of drafting: the pace, prompt lookup, and the pool of n-grams.
#include <random>

#include <gtest/gtest.h>

#include "runtime/session/drafting.h"
#include "tests/unit/transformer/test_model.h"

namespace sotto {
namespace {

constexpr float kCheap = 0.06f;
constexpr size_t kMax = 7;

TEST(DraftPace, DraftsAsFarAsDraftsSucceed) {
  DraftPace pace;
  pace.restart();
  const size_t first = pace.length(kCheap, kMax);
  EXPECT_GT(first, 1u);
  for (int i = 0; i < 20; ++i) pace.report(pace.length(kCheap, kMax), false);
  EXPECT_EQ(pace.length(kCheap, kMax), kMax);
  EXPECT_EQ(pace.length(kCheap, 3), 3u);
  EXPECT_EQ(pace.length(kCheap, 0), 0u);
}

TEST(DraftPace, FailuresLeaveRareTrials) {
  DraftPace pace;
  pace.restart();
  size_t tried = 0;
  for (int i = 0; i < 1000; ++i) {
    const size_t length = pace.length(kCheap, kMax);
    tried += length;
    if (length > 0) pace.report(0, true);
  }
  EXPECT_LT(tried, 60u);
  EXPECT_GT(tried, 10u);
  // A success restores the length.
  size_t length = 0;
  while (length == 0) length = pace.length(kCheap, kMax);
  pace.report(length, false);
  EXPECT_GT(pace.length(kCheap, kMax), 1u);
}

TEST(DraftPace, ExpensiveDraftsAreShortOrRare) {
  DraftPace cheap, dear, hopeless;
  for (DraftPace* pace : {&cheap, &dear, &hopeless}) pace->restart();
  EXPECT_GT(cheap.length(kCheap, kMax), dear.length(0.3f, kMax));
  size_t tried = 0;
  for (int i = 0; i < 640; ++i) {
    const size_t length = hopeless.length(1.0f, kMax);
    tried += length;
    if (length > 0) hopeless.report(length, false);
  }
  EXPECT_LT(tried, 20u);
}

LookupMatch find_by_definition(const std::vector<int32_t>& text, size_t min_match, size_t max_match) {
  LookupMatch best;
  for (size_t end = 1; end < text.size(); ++end) {  // a place after `end` tokens
    size_t size = 0;
    while (size < max_match && size < end && text[end - 1 - size] == text[text.size() - 1 - size]) {
      ++size;
    }
    if (size >= min_match && size >= best.size && size > 0) best = {size, end};
  }
  return best;
}

TEST(DraftLookup, FindsTheLatestOfTheLongestMatches) {
  std::mt19937 random(1);
  for (int round = 0; round < 3000; ++round) {
    std::vector<int32_t> text(random() % 40);
    for (int32_t& token : text) token = static_cast<int32_t>(random() % 3);
    const size_t min_match = 1 + random() % 4;
    const size_t max_match = min_match + random() % 5;
    const LookupMatch found = find_latest_match(text, min_match, max_match);
    const LookupMatch expected = find_by_definition(text, min_match, max_match);
    ASSERT_EQ(found.size, expected.size);
    ASSERT_EQ(found.next, expected.next);
  }
}

TEST(DraftPool, KeepsTheNewestNgramOfAToken) {
  Arena measure;
  DraftPool pool;
  pool.layout(measure, true);
  TestMemory memory(measure.size());
  Arena arena(memory.data());
  pool.layout(arena, true);
  pool.clear();
  EXPECT_TRUE(pool.find(0).empty());
  const std::vector<int32_t> first = {7, 1, 2, 3}, second = {7, 4}, alone = {9};
  const std::vector<int32_t> longest = {8, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  for (const auto* tokens : {&first, &second, &alone, &longest}) pool.add(*tokens);
  ASSERT_EQ(pool.find(7).size(), 1u);
  EXPECT_EQ(pool.find(7)[0], 4);
  EXPECT_TRUE(pool.find(9).empty());
  ASSERT_EQ(pool.find(8).size(), DraftPool::kMaxTokens);
  EXPECT_EQ(pool.find(8).back(), 6);
  // A token finds its own n-gram or nothing, whatever other token has the same place.
  for (int32_t token = 0; token < 5000; ++token) {
    pool.add(std::vector<int32_t>{token, token + 1});
    ASSERT_EQ(pool.find(token)[0], token + 1);
  }
  for (int32_t token = 0; token < 5000; ++token) {
    const auto found = pool.find(token);
    ASSERT_TRUE(found.empty() || found[0] == token + 1);
  }
}

}  // namespace
}  // namespace sotto
