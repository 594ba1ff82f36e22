// Finds a configuration's token mask: starts from the largest prefilter it contains and walks
// the vocabulary's trie over the rest.
#pragma once

#include <cstdint>

#include "runtime/base/arena.h"
#include "runtime/grammar/compiler/utf8_transitions.h"
#include "runtime/grammar/matcher/lazy_automaton.h"
#include "runtime/grammar/matcher/mask_cache.h"
#include "runtime/grammar/vocabulary/vocabulary.h"

namespace sotto {

// What a matcher may leave out, for tests that show that it makes no difference.
struct MaskMethods {
  bool prefilters = true;
  bool abstraction = true;
};

class MaskFinder {
 public:
  bool lay_out(Arena& arena, const CompiledGrammar& grammar, const Vocabulary& vocabulary, const MatcherLimits& limits);
  void init(LazyAutomaton& engine, const Vocabulary& vocabulary, const MaskMethods& methods);

  static constexpr uint32_t kMostBoundaries = 160;  // configurations between characters
  static constexpr uint32_t kLongestCharacter = 4;
  static constexpr uint32_t kBoundaryPins = kMostBoundaries + kLongestCharacter + 1;
  // Pins that find() needs for itself.
  static constexpr uint32_t kPinCount = 2 + kBoundaryPins;
  static uint32_t trail_count(const Vocabulary& vocabulary);

  // The words of the mask of the pinned configuration, valid until the next call; null if
  // no token fits.
  StepResult find(const uint32_t* set, uint32_t* pins, const uint64_t** words);
  const MaskCache& cache() const { return cache_; }
  uint64_t walk_count() const { return walk_count_; }  // masks found by a walk so far

 private:
  StepResult find_abstract(const uint32_t* set, uint32_t* pins, uint32_t* mask);
  StepResult compute(const uint32_t* set, uint32_t* mask);
  void begin(const uint32_t* set);
  StepResult walk(bool* cut_off);
  StepResult retrace(uint32_t node);
  void add_run(uint32_t first, uint32_t end);
  void remove_run(uint32_t first, uint32_t end);
  StepResult add_literals(bool* cut_off);
  void add(uint32_t token) { draft_[token / 64] |= uint64_t{1} << token % 64; }
  uint32_t store();
  void forget_masks();

  // mask_slices.cpp
  template <typename Search>
  void search_prefilters(uint32_t held_trail, Search search);
  TokenPrefilter known_prefilter(uint32_t set) const;
  TokenPrefilter known_prefilter(const State& top) const;
  bool leads_to_endless(const State& top, const Utf8Transition& step, uint8_t classes) const;
  static constexpr uint32_t kUnknownCount = UINT32_MAX;
  uint32_t exact_count(const State& top) const;
  uint32_t exact_count(uint32_t set) const;
  void fill_exactly(uint32_t characters);
  uint32_t texts_left(uint32_t state, const StackFrame& frame) const;
  TokenPrefilter prefilter_after(uint32_t state, const StackFrame& frame, uint8_t classes) const;
  TokenPrefilter prefilter_of_length(uint8_t classes, uint32_t characters) const;
  uint8_t endless_classes(const uint32_t* set);
  TokenPrefilter find_prefilter();
  TokenPrefilter guess_prefilter();
  void forget_met();
  bool counts(uint32_t set) const;
  uint32_t count_characters(uint8_t classes, uint8_t* admitted);
  StepResult take_characters(uint32_t from, uint32_t* boundary_count, uint8_t* admitted);

  LazyAutomaton* engine_ = nullptr;
  const Vocabulary* vocabulary_ = nullptr;
  MaskMethods methods_;
  MaskCache cache_;
  Utf8Transition* transition_memory_ = nullptr;
  Utf8Transitions transitions_;
  // Of the mask being found: what its draft holds is right up to a node.
  struct Progress {
    TokenPrefilter prefilter;
    TokenPrefilter guess;
    uint32_t node = 0;
    bool has_begun = false;
  };
  Progress progress_;
  uint64_t* draft_ = nullptr;
  static constexpr uint32_t kMetCount = 128;
  uint16_t met_[kMetCount] = {};    // some of the boundaries, by their numbers,
  uint64_t met_collection_ = 0;     // which change in a collection
  uint32_t* boundaries_ = nullptr;  // pins: between characters, and then inside one
  uint64_t walk_count_ = 0;
};

}  // namespace sotto
