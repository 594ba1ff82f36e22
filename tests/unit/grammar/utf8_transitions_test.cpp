// Walks through the characters that lead somewhere.
#include "runtime/grammar/compiler/lookahead.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <set>

#include "runtime/grammar/automata/code_points.h"
#include "tests/unit/grammar/grammar_support.h"

namespace sotto::test {
namespace {

// Where the characters that have a sort lead from a state; empty if one leads nowhere.
std::set<uint32_t> targets_of_characters(const CompiledGrammar& grammar, uint32_t start) {
  std::set<uint32_t> targets;
  for (uint32_t c = 0; c <= kMaxCodePoint; ++c) {
    uint8_t bytes[4];
    const size_t size = is_scalar_value(c) ? encode_utf8(c, bytes) : 0;
    if (size == 0 || char_class_of(bytes[0]) == 0) continue;
    uint32_t state = start;
    for (size_t i = 0; i < size; ++i) {
      const auto moves = grammar.moves(state, grammar.byte_class(bytes[i]));
      if (moves.empty()) return {};
      state = moves[0].target;
    }
    targets.insert(state);
  }
  return targets;
}

// Parts of all blocks of characters, so that most continuation bytes have a class of their own.
std::string scattered_ranges() {
  std::string ranges;
  for (uint32_t i = 0; i < 30; ++i) {
    const uint32_t first = 0x400 + i * 0x8642;
    char range[32];
    std::snprintf(range, sizeof range, "\\U%08X-\\U%08X", first, first + 0x100 + i * 7);
    ranges += range;
  }
  return ranges;
}

// Few of the ways through the bytes of characters differ; a walk takes those only, and yet
// comes to all states that characters lead to.
TEST(Utf8Transitions, WalksEnterEachPlaceOnce) {
  const std::string ranges = scattered_ranges();
  const TestGrammar built("root ::= [" + ranges + "] \"a\" | [^" + ranges + "] \"b\"");
  ASSERT_TRUE(built.valid()) << built.message();
  const CompiledGrammar& grammar = built.view();
  const uint32_t start = grammar.root_start();
  std::vector<Utf8Transition> memory(Utf8Transitions::count(grammar));
  Utf8Transitions steps;
  steps.init(grammar, memory.data());
  std::set<uint32_t> targets;
  size_t visits = 0;
  for (const Utf8Transition& first : steps.from(0)) {
    EXPECT_TRUE(steps.lead(grammar, start, first, [&](uint32_t target) {
      targets.insert(target);
      ++visits;
      return true;
    }));
  }
  EXPECT_LT(visits, 20000u);
  EXPECT_EQ(targets, targets_of_characters(grammar, start));
  EXPECT_EQ(targets.size(), 2u);
}

}  // namespace
}  // namespace sotto::test
