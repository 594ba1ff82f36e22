// Finds a configuration's token mask: starts from the largest slice it contains and walks
// the vocabulary's trie over the rest.
#pragma once

#include <cstdint>

#include "runtime/base/arena.h"
#include "runtime/grammar/mask_cache.h"
#include "runtime/grammar/match_engine.h"
#include "runtime/grammar/vocabulary.h"

namespace sotto {

// What a matcher may leave out, for tests that show that it makes no difference.
struct MaskMethods {
  bool slices = true;
  bool abstraction = true;
};

class MaskFinder {
 public:
  bool lay_out(Arena& arena, const Vocabulary& vocabulary, const MatcherLimits& limits);
  void init(MatchEngine& engine, const Vocabulary& vocabulary, const MaskMethods& methods);

  // Pins that find() needs for itself.
  static constexpr uint32_t kPinCount = 2;
  static uint32_t trail_count(const Vocabulary& vocabulary);

  // The words of the mask of the pinned configuration, valid until the next call; null if
  // no token fits.
  StepResult find(const uint32_t* config, uint32_t* pins, const uint64_t** words);
  uint64_t walk_count() const { return walk_count_; }  // masks found by a walk so far

 private:
  struct SliceStep {
    uint8_t symbol_class;
    uint8_t next;
  };

  StepResult find_abstract(const uint32_t* config, uint32_t* pins, uint32_t* mask);
  StepResult compute(const uint32_t* config, uint32_t* mask);
  StepResult walk(uint32_t slice, bool* cut_off);
  StepResult add_literals(bool* cut_off);
  void add(uint32_t token);
  uint32_t store();
  void forget_masks();

  // mask_slices.cpp
  void prepare_slice_steps();
  void find_slice(uint32_t* slice);
  StepResult take_characters(uint32_t from, uint32_t* boundary_count, bool* contained);

  MatchEngine* engine_ = nullptr;
  const Vocabulary* vocabulary_ = nullptr;
  MaskMethods methods_;
  MaskCache cache_;
  SliceStep* slice_steps_ = nullptr;  // (state, step)
  uint16_t slice_step_counts_[kSliceStates] = {};
  uint32_t* tokens_ = nullptr;  // the draft's first ones
  uint32_t token_count_ = 0;
  uint64_t walk_count_ = 0;
};

}  // namespace sotto
