// Follows a text through a compiled grammar, byte by byte or token by token, and computes which tokens may come next.
//
// The matcher stands on four layers, from bottom to top: the stack store (stack_store.h) contains the stacks of open
// rules and the sets of states on them; the stepper (stack_stepper.h) computes the set after a byte; the lazy automaton
// (lazy_automaton.h) remembers these transitions; the mask finder (mask_finder.h) finds the mask of a set. To these the
// matcher adds sequences. A sequence is only a pin that contains its set, so copying a sequence means copying a number,
// and all sequences share everything that has been computed. A ring of earlier pins allows sequence 0 to be rolled
// back.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/arena.h"
#include "runtime/base/hash_index.h"
#include "runtime/base/status.h"
#include "runtime/base/token_mask.h"
#include "runtime/grammar/matcher/lazy_automaton.h"
#include "runtime/grammar/matcher/mask_finder.h"

namespace sotto {

// Remembers the set after each recently accepted token. The automaton does not: step_bytes() does not store the sets
// between the bytes of a token, and a collection drops transitions. The cache is direct-mapped, so a new entry replaces
// the one in its slot.
class TokenStepCache {
 public:
  void layout(Arena& arena) { steps_ = arena.take<Step>(kCount); }
  void clear() { std::fill_n(steps_, kCount, Step{}); }

  // Returns kNotComputed if the step is not in the cache.
  uint32_t find(uint32_t set, uint32_t token) const {
    const Step& step = steps_[slot_of(set, token)];
    return step.from == set && step.token == token ? step.to : kNotComputed;
  }
  void add(uint32_t set, uint32_t token, uint32_t to) {
    steps_[slot_of(set, token)] = {token, static_cast<uint16_t>(set), static_cast<uint16_t>(to)};
  }

 private:
  struct Step {
    uint32_t token = 0;
    uint16_t from = kNotComputed;
    uint16_t to = kNotComputed;
  };
  static constexpr int kCountBits = 7;
  static constexpr uint32_t kCount = 1u << kCountBits;
  static uint32_t slot_of(uint32_t set, uint32_t token) {
    return fibonacci_hash(uint64_t{set} << 32 | token, kCountBits);
  }

  Step* steps_ = nullptr;
};

class Matcher {
 public:
  static constexpr size_t kObjectBytes = 1984;

  // If `vocabulary` is null, the matcher accepts only bytes.
  static Status memory_size(const CompiledGrammar& grammar, const Vocabulary* vocabulary, const MatcherParams& given,
                            size_t* size, Error* error);
  // Creates a matcher whose sequences are all empty. The grammar and the vocabulary must outlive it. Fails if no text
  // can be completed within finish_within tokens.
  static Status init(const CompiledGrammar& grammar, const Vocabulary* vocabulary, const MatcherParams& given,
                     void* memory, size_t memory_size, Matcher** out, Error* error,
                     const MaskShortcuts& shortcuts = {});
  // The defaults in `limits` must have been replaced by actual values.
  void layout(Arena& arena, const CompiledGrammar& grammar, const Vocabulary* vocabulary, const MatcherParams& limits);

  // Empties a sequence.
  void reset(uint32_t sequence);

  // Finds the tokens that may come next, including the end tokens if the text may end here. The words are valid until
  // the next call. Returns kGrammarDeadEnd if no token of the vocabulary is possible.
  Status mask(uint32_t sequence, TokenMask* mask);

  // Appends a token. Returns kInvalidArgument if the mask does not allow it. On failure nothing has changed.
  Status accept_token(uint32_t sequence, int32_t token);
  // Appends bytes. Returns kInvalidArgument if the grammar does not allow them. On failure nothing has changed.
  Status accept_text(uint32_t sequence, std::span<const char> bytes);

  // Appends the bytes to a copy of the sequence. Sets `*begins` if the grammar allows some text that begins with the
  // result, and `*matches` if it allows exactly this text.
  Status test_text(uint32_t sequence, std::span<const char> bytes, bool* begins, bool* matches);

  bool can_rewind(uint64_t count) const { return count <= rewindable_; }
  // Rolls back the newest tokens or byte strings that sequence 0 accepted. Returns kInvalidState if `count` exceeds
  // rollback_count, or the number accepted since the last reset(), restart() or fork() of this sequence.
  Status rewind(uint64_t count);
  // Remembers the current state of sequence 0, to which restart() returns.
  void mark_start();
  void restart();
  // Makes sequence `to` a copy of `from`. If `to` is 0, it cannot be rolled back beyond the fork.
  void fork(uint32_t from, uint32_t to);

  bool may_end(uint32_t sequence) const;
  // Returns whether nothing may follow, or finish_within is used up.
  bool must_end(uint32_t sequence) const;
  // Writes the next byte as long as it is the only possible one, the text may not end before it, and finish_within
  // allows a token per byte. Stops without an error when `forced` is full.
  Status forced_text(uint32_t sequence, std::span<char> forced, size_t* size);

  uint32_t sequence_count() const { return sequence_count_; }
  const Vocabulary* vocabulary() const { return vocabulary_; }
  // Returns the number of tokens and texts that sequence 0 has accepted, without those that were rolled back.
  uint64_t accepted_count() const { return accepted_; }

  const LazyAutomaton& automaton() const { return automaton_; }
  const MaskFinder& masks() const { return masks_; }

 private:
  // Requires layout() over real memory.
  Status start(const CompiledGrammar& grammar, const MatcherParams& limits, const MaskShortcuts& shortcuts,
               Error* error);
  void layout_pins(PinArena& pins);
  // Pins for the sets of one call.
  enum ScratchPin : uint32_t { kByBytes, kByLiteral, kNext, kScratchPinCount };
  // The matcher's pins by purpose, without those of the mask finder.
  struct Pins {
    Pin* sequences = nullptr;  // (sequence)
    Pin* start = nullptr;      // the set that restart() restores
    Pin* history = nullptr;    // (rollback_count): a ring of earlier sets of sequence 0
    Pin* scratch = nullptr;    // (ScratchPin): the sets of one call
  };
  uint32_t state_set(uint32_t sequence) const { return pins_.sequences[sequence].set; }
  void forget_history();
  uint32_t tokens_left(uint32_t sequence) const;
  bool leaves_enough(uint32_t sequence, uint32_t to) const;
  bool is_self_loop(uint32_t sequence, uint32_t token) const;
  StepResult find_step(uint32_t sequence, uint32_t token, Pin* to);
  StepResult step_token(uint32_t sequence, uint32_t token, Pin* to);
  Status advance(uint32_t sequence, StepResult result, const Pin* to);

  LazyAutomaton automaton_;
  Pins pins_;
  MaskFinder masks_;
  Completions completions_;
  TokenStepCache steps_;
  uint64_t steps_collection_ = 0;  // steps_ is valid at this collection count
  const Vocabulary* vocabulary_ = nullptr;
  uint32_t sequence_count_ = 0;
  uint32_t rollback_count_ = 0;
  uint64_t accepted_ = 0;    // number of tokens and texts that sequence 0 has accepted
  uint64_t rewindable_ = 0;  // number of them that can be rolled back
  uint64_t accepted_at_start_ = 0;
  uint32_t finish_within_ = 0;
  uint32_t* used_ = nullptr;       // (sequence, and the start): number of tokens, with finish_within
  bool is_single_[256] = {};       // for each class, whether it has exactly one byte
  uint8_t class_bytes_[256] = {};  // for each class, its last byte
};

}  // namespace sotto
