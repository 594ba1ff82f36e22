// Finds the token mask of a state set: for every token of the vocabulary, whether it may come next.
//
// The basic method is one walk over the trie of the vocabulary, in step with the lazy automaton. The walk skips a
// subtree as soon as its prefix is impossible. At a leaf, it tests only whether some state moves by the last byte of
// the token; this suffices, because nothing leads to a dead end. A walk over all 50,257 tokens of GPT-2 takes half a
// millisecond, so four methods avoid most of it:
// - A mask is computed once per state set and then stored (mask_cache.h).
// - Sets are truncated first (stack_truncation.h), so that stacks that differ only far below the top share their mask.
// - If the number of characters alone decides whether a token is possible, no walk is needed (exact_count).
// - Otherwise the mask starts with the largest prefilter of the set (prefilter_finder.h), which has tens of thousands
//   of tokens inside a JSON string, and the walk skips the subtrees that the prefilter covers. If no prefilter is
//   certain but one is likely, the mask starts with its tokens, and a walk over the whole trie removes those that are
//   not possible.
//
// If the walk pops a rule below the cut, the set was truncated too early. The open mask is correct up to that
// node of the trie, so the walk continues from there with stacks of twice the depth.
//
// If the rest of the text has a budget of tokens (finish_within), a token must also leave enough of it for the shortest
// completion. For each set, the finder stores the largest number of tokens needed after any possible token. While the
// budget exceeds this number, it is ignored; otherwise the walk compares the completion with the budget at every node.
#pragma once

#include <cstdint>

#include "runtime/base/arena.h"
#include "runtime/base/bits.h"
#include "runtime/grammar/matcher/lazy_automaton.h"
#include "runtime/grammar/matcher/mask_cache.h"
#include "runtime/grammar/matcher/prefilter_finder.h"
#include "runtime/grammar/vocabulary/vocabulary.h"

namespace sotto {

// Shortcuts that tests disable, to show that they do not change any mask.
struct MaskShortcuts {
  bool prefilters = true;
  bool truncation = true;
};

class MaskFinder {
 public:
  void layout(Arena& arena, const CompiledGrammar& grammar, const Vocabulary& vocabulary, const MatcherParams& limits);
  void layout_pins(PinArena& pins);
  void init(LazyAutomaton& automaton, const Vocabulary& vocabulary, const MaskShortcuts& shortcuts);

  static uint32_t trail_count(const Vocabulary& vocabulary) { return vocabulary.longest + 2; }

  // Returns the words of the mask of a pinned set, valid until the next call, or null if no token is possible.
  StepResult find(const Pin* pin, const uint64_t** words);
  // Like find(), but the text must be complete within `remaining` tokens.
  StepResult find_within(const Pin* pin, uint32_t remaining, const uint64_t** words);
  uint64_t walk_count() const { return walk_count_; }  // number of masks that have been computed

 private:
  // The progress of a computation. The open mask is complete up to `node`.
  struct Progress {
    TokenPrefilter prefilter;  // all of its tokens are possible and in the open mask
    TokenPrefilter guess;      // all of its tokens were in the open mask at the start
    uint32_t node = 0;
    uint32_t remaining = kUnlimited;  // tokens that remain for the rest of the text
    uint32_t max_needed = 0;          // largest completion after a token so far
    bool has_begun = false;
  };

  static constexpr uint32_t kUnlimited = UINT32_MAX;

  StepResult find_truncated(const Pin* pin, uint32_t* mask);
  StepResult compute(const Pin* pin, uint32_t* mask);
  void begin(const Pin* pin);
  void fill_exactly(uint32_t characters);
  StepResult walk(bool* cut_off);
  uint32_t add_node(uint32_t index, const Pin* pin);
  bool leaves_enough(uint32_t set);
  bool leads_back(uint32_t set, TextSummary summary) const;
  StepResult retrace(uint32_t node);
  StepResult add_literals(bool* cut_off);
  void add(uint32_t token) { set_bit(open_mask_, token); }
  void add_end_tokens(uint32_t set);
  void add_run(uint32_t first, uint32_t end);
  void remove_run(uint32_t first, uint32_t end);
  uint32_t store();

  LazyAutomaton* automaton_ = nullptr;
  Pin* truncated_ = nullptr;
  const Vocabulary* vocabulary_ = nullptr;
  MaskShortcuts shortcuts_;
  MaskCache cache_;
  PrefilterFinder prefilters_;
  Progress progress_;
  uint64_t* open_mask_ = nullptr;
  uint64_t walk_count_ = 0;
};

}  // namespace sotto
