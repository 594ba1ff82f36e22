// Follows texts, byte by byte or token by token, through a compiled grammar: which tokens
// may come next, exactly. Several sequences share what has been found out so far.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/arena.h"
#include "runtime/base/constraint.h"
#include "runtime/base/status.h"
#include "runtime/base/token_mask.h"
#include "runtime/grammar/matcher/lazy_automaton.h"
#include "runtime/grammar/matcher/mask_finder.h"
#include "runtime/grammar/matcher/token_steps.h"

namespace sotto {

class Matcher {
 public:
  // Whether limits, grammar and vocabulary suit each other; names the limit at fault.
  static Status check(const CompiledGrammar& grammar, const Vocabulary* vocabulary, const MatcherLimits& limits,
                      Error* error);

  // Bytes of working memory; 0 if a limit is too small or the sum is beyond SIZE_MAX.
  // `vocabulary` may be null: the matcher takes bytes only.
  static size_t memory_size(const CompiledGrammar& grammar, const Vocabulary* vocabulary, const MatcherLimits& limits);

  // `memory`: memory_size bytes, 64-byte aligned. Grammar and vocabulary must outlive the
  // matcher. All sequences are empty.
  Status init(const CompiledGrammar& grammar, const Vocabulary* vocabulary, const MatcherLimits& limits, void* memory,
              const MaskMethods& methods = {});

  // Empties a sequence.
  void reset(uint32_t sequence);

  // The tokens that may come next, end tokens where the text may end. The words are valid
  // until the next call. kGrammarDeadEnd: the vocabulary has none that fits.
  Status mask(uint32_t sequence, TokenMask* mask);

  // kInvalidArgument: the mask does not allow it. On failure nothing has changed.
  Status accept_token(uint32_t sequence, int32_t token);
  // kInvalidArgument: no text of the grammar begins so. On failure nothing has changed.
  Status accept_bytes(uint32_t sequence, std::span<const char> bytes);

  // Whether sequence and bytes together begin a text of the grammar, and are one.
  Status test_bytes(uint32_t sequence, std::span<const char> bytes, bool* begins, bool* matches);

  // Takes back the newest accepted tokens, or byte strings, of sequence 0. kInvalidState: more
  // than rollback_count, or than there are since restart() or a fork.
  Status rewind(uint64_t count);
  // Remembers where sequence 0 stands, for restart() to go back there.
  void mark_start();
  void restart();
  // Sequence `to` becomes a copy of `from`; of sequence 0, nothing can be taken back then.
  void fork(uint32_t from, uint32_t to);

  // The text may end here.
  bool accepts(uint32_t sequence) const;
  // The text must end here.
  bool complete(uint32_t sequence) const;
  // Writes bytes as long as only one is possible and the text may not end; returns kOk also
  // if `forced` is full.
  Status forced_bytes(uint32_t sequence, std::span<char> forced, size_t* size);

  uint32_t sequence_count() const { return limits_.sequence_count; }
  const Vocabulary* vocabulary() const { return vocabulary_; }
  uint64_t accepted_count() const { return accepted_; }  // by sequence 0

  // `matcher` behind the interface of sessions and searches.
  static TokenConstraint constraint(Matcher* matcher);

  const LazyAutomaton& engine() const { return engine_; }
  const MaskFinder& masks() const { return masks_; }

 private:
  bool lay_out(Arena& arena, const CompiledGrammar& grammar, const Vocabulary* vocabulary, const MatcherLimits& limits);
  uint32_t* pin(uint32_t sequence) { return engine_.pins() + 1 + sequence; }
  uint32_t state_set(uint32_t sequence) const { return engine_.pins()[1 + sequence]; }
  uint32_t* start_pin() { return engine_.pins() + 1 + limits_.sequence_count; }
  uint32_t* history() { return start_pin() + 1; }
  uint32_t* scratch() { return history() + limits_.rollback_count; }
  void forget_history();
  bool stays(uint32_t sequence, uint32_t token) const;
  StepResult find_step(uint32_t sequence, uint32_t token, uint32_t* to);
  StepResult step_token(uint32_t sequence, uint32_t token, uint32_t* to);
  Status advance(uint32_t sequence, StepResult result, uint32_t* to);

  static constexpr uint32_t kScratchPins = MaskFinder::kPinCount + 3;

  LazyAutomaton engine_;
  MaskFinder masks_;
  TokenSteps steps_;
  uint64_t steps_collection_ = 0;  // the last one before them: it numbered the configurations
  const Vocabulary* vocabulary_ = nullptr;
  MatcherLimits limits_;
  uint64_t accepted_ = 0;    // by sequence 0
  uint64_t rewindable_ = 0;  // of those
  uint64_t accepted_at_start_ = 0;
  bool is_single_[256] = {};       // by class: it is of one byte,
  uint8_t class_bytes_[256] = {};  // this
};

}  // namespace sotto
