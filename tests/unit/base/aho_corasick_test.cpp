// Compares AhoCorasick with a search for every string at every position.
#include "runtime/base/aho_corasick.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace sotto {
namespace {

// Returns the size of the longest string that the text ends with.
size_t longest_ending(const std::string& text, const std::vector<std::string>& strings) {
  size_t longest = 0;
  for (const std::string& string : strings) {
    if (text.ends_with(string)) longest = std::max(longest, string.size());
  }
  return longest;
}

// Returns the size of the longest prefix of a string that the text ends with.
size_t longest_prefix(const std::string& text, const std::vector<std::string>& strings) {
  size_t longest = 0;
  for (const std::string& string : strings) {
    for (size_t size = 1; size <= string.size(); ++size) {
      if (text.ends_with(string.substr(0, size))) longest = std::max(longest, size);
    }
  }
  return longest;
}

template <typename Letter, typename Index>
void check_random_strings() {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::string> strings(1 + random() % 5);
    size_t letters = 0;
    for (std::string& string : strings) {
      string.resize(1 + random() % 5);
      for (char& letter : string) letter = static_cast<char>('a' + random() % 3);
      letters += string.size();
    }
    std::vector<uint64_t> memory(AhoCorasick<Letter, Index>::memory_size(letters) / 8 + 1);
    AhoCorasick<Letter, Index> automaton;
    automaton.init(memory.data());
    for (const std::string& string : strings) automaton.insert(std::vector<Letter>(string.begin(), string.end()));
    automaton.link();
    ASSERT_LE(automaton.state_count(), letters + 1);
    typename AhoCorasick<Letter, Index>::State state = 0;
    std::string text;
    for (int i = 0; i < 60; ++i) {
      text += static_cast<char>('a' + random() % 4);
      state = automaton.step(state, static_cast<Letter>(text.back()));
      ASSERT_EQ(automaton.matched(state), longest_ending(text, strings)) << text;
      ASSERT_EQ(automaton.depth(state), longest_prefix(text, strings)) << text;
    }
  }
}

TEST(AhoCorasick, FindsBytes) { check_random_strings<char, uint16_t>(); }

TEST(AhoCorasick, FindsCodePoints) { check_random_strings<uint32_t, uint32_t>(); }

}  // namespace
}  // namespace sotto
