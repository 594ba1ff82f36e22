#include "runtime/grammar/matcher/matcher.h"

#include <algorithm>
#include <cassert>

#include "runtime/base/object_memory.h"
#include "runtime/base/range_check.h"
#include "runtime/grammar/matcher/matcher_limits.h"

namespace sotto {
namespace {

Status status_of(StepResult result) { return result == StepResult::kDone ? Status::kOk : Status::kGrammarTooLarge; }

// Validates the parameters and replaces defaults by actual values.
Status resolve(const CompiledGrammar& grammar, const Vocabulary* vocabulary, const MatcherParams& given,
               MatcherParams* limits, Error* error) {
  SOTTO_TRY(check_ranges(given, error));
  if (vocabulary == nullptr && given.finish_within != 0) {
    return fail(error, Status::kInvalidArgument, "finish_within is ", given.finish_within,
                "; it must be 0 without a vocabulary");
  }
  const auto tokens = grammar.token_ranges();
  if (vocabulary != nullptr && !tokens.empty() && tokens.back().last >= vocabulary->token_count) {
    return fail(error, Status::kInvalidArgument, "the vocabulary has ", vocabulary->token_count,
                " tokens, but the grammar names token ", tokens.back().last);
  }
  *limits = resolve_limits(given, grammar, vocabulary == nullptr ? 0 : vocabulary->token_count);
  if (vocabulary != nullptr && limits->mask_bytes < vocabulary->word_count() * sizeof(uint64_t)) {
    return fail(error, Status::kInvalidArgument, "mask_bytes is ", limits->mask_bytes,
                "; one mask of this vocabulary needs more");
  }
  return Status::kOk;
}

}  // namespace

void Matcher::layout(Arena& arena, const CompiledGrammar& grammar, const Vocabulary* vocabulary,
                     const MatcherParams& limits) {
  vocabulary_ = vocabulary;
  sequence_count_ = limits.sequence_count;
  rollback_count_ = limits.rollback_count;
  finish_within_ = limits.finish_within;
  if (finish_within_ != 0) {
    used_ = arena.take<uint32_t>(size_t{sequence_count_} + 1);
    completions_.layout(arena, grammar);
  }
  const uint32_t trail = vocabulary == nullptr ? 2 : MaskFinder::trail_count(*vocabulary);
  PinArena counter(nullptr);
  layout_pins(counter);
  // The search for completions ends before the rest of the memory is used.
  arena.overlay(
      [&](Arena& search) {
        if (finish_within_ != 0) completions_.layout_search(search, grammar);
      },
      [&](Arena& rest) {
        automaton_.layout(rest, grammar, limits, counter.count(), trail);
        if (vocabulary == nullptr) return;
        steps_.layout(rest);
        masks_.layout(rest, grammar, *vocabulary, limits);
      });
  PinArena pins(automaton_.pins());
  layout_pins(pins);
}

void Matcher::layout_pins(PinArena& pins) {
  pins_.sequences = pins.take(sequence_count_);
  pins_.start = pins.take(1);
  pins_.history = pins.take(rollback_count_);
  pins_.scratch = pins.take(kScratchPinCount);
  masks_.layout_pins(pins);
}

Status Matcher::memory_size(const CompiledGrammar& grammar, const Vocabulary* vocabulary, const MatcherParams& given,
                            size_t* size, Error* error) {
  MatcherParams limits;
  SOTTO_TRY(resolve(grammar, vocabulary, given, &limits, error));
  return measure_object<Matcher>(size, error, grammar, vocabulary, limits);
}

Status Matcher::init(const CompiledGrammar& grammar, const Vocabulary* vocabulary, const MatcherParams& given,
                     void* memory, size_t memory_size, Matcher** out, Error* error, const MaskShortcuts& shortcuts) {
  MatcherParams limits;
  SOTTO_TRY(resolve(grammar, vocabulary, given, &limits, error));
  Matcher* matcher = nullptr;
  SOTTO_TRY(create_object(memory, memory_size, &matcher, error, grammar, vocabulary, limits));
  SOTTO_TRY(matcher->start(grammar, limits, shortcuts, error));
  *out = matcher;
  return Status::kOk;
}

Status Matcher::start(const CompiledGrammar& grammar, const MatcherParams& limits, const MaskShortcuts& shortcuts,
                      Error* error) {
  const uint32_t longest = vocabulary_ == nullptr ? 0 : vocabulary_->longest;
  if (finish_within_ != 0) completions_.init(grammar, *vocabulary_);
  const StepResult result = automaton_.init(grammar, limits, longest, finish_within_ == 0 ? nullptr : &completions_);
  if (result != StepResult::kDone) {
    return fail(error, status_of(result), "the start state does not fit; increase node_count or state_count");
  }
  // The compiler rejects grammars that match nothing, but an image may contain one.
  if (automaton_.start().set == kDeadSet) return Status::kGrammarCorrupt;
  if (vocabulary_ != nullptr) {
    masks_.init(automaton_, *vocabulary_, shortcuts);
    steps_.clear();
    steps_collection_ = automaton_.collection_count();
  }
  bool is_seen[256] = {};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    const uint8_t symbol_class = grammar.byte_class(static_cast<uint8_t>(byte));
    is_single_[symbol_class] = !is_seen[symbol_class];
    is_seen[symbol_class] = true;
    class_bytes_[symbol_class] = static_cast<uint8_t>(byte);
  }
  for (uint32_t sequence = 0; sequence < sequence_count_; ++sequence) reset(sequence);
  mark_start();
  const uint32_t shortest = automaton_.completion(automaton_.start().set);
  if (shortest == kNoCompletion) {
    return fail(error, Status::kInvalidArgument,
                "finish_within: every text has a byte for which the vocabulary has no token");
  }
  if (shortest > finish_within_ && finish_within_ != 0) {
    return fail(error, Status::kInvalidArgument, "finish_within is ", finish_within_, "; it must be at least ",
                shortest, ", the number of tokens of the shortest text");
  }
  return Status::kOk;
}

void Matcher::reset(uint32_t sequence) {
  assert(sequence < sequence_count_);
  pins_.sequences[sequence] = automaton_.start();
  if (finish_within_ != 0) used_[sequence] = 0;
  if (sequence != 0) return;
  accepted_ = 0;
  forget_history();
}

Status Matcher::mask(uint32_t sequence, TokenMask* mask) {
  assert(sequence < sequence_count_ && vocabulary_ != nullptr);
  automaton_.renew_budget();
  const uint64_t* words = nullptr;
  const Pin* pin = &pins_.sequences[sequence];
  const StepResult result =
      finish_within_ == 0 ? masks_.find(pin, &words) : masks_.find_within(pin, tokens_left(sequence), &words);
  if (result != StepResult::kDone) return status_of(result);
  if (words == nullptr) return Status::kGrammarDeadEnd;
  *mask = {words, vocabulary_->token_count};
  return Status::kOk;
}

// Returns the number of tokens that may still follow, with finish_within.
uint32_t Matcher::tokens_left(uint32_t sequence) const {
  return finish_within_ - std::min(used_[sequence], finish_within_);
}

// Returns whether the text can be completed within finish_within tokens after a token that leads to the set.
bool Matcher::leaves_enough(uint32_t sequence, uint32_t to) const {
  return finish_within_ == 0 || automaton_.completion(to) < tokens_left(sequence);
}

// Returns whether each character of the token leads back to the set of the sequence, as with most tokens inside a
// string.
bool Matcher::is_self_loop(uint32_t sequence, uint32_t token) const {
  const uint8_t classes = automaton_.store().state_set(state_set(sequence)).repeated_classes;
  const TextSummary summary = vocabulary_->token_summaries[token];
  if (!TokenPrefilter{classes, kLengthCount - 1}.holds(summary) || classes == 0) return false;
  if (automaton_.grammar().token_class(token) != CompiledGrammar::kNoClass) return false;
  return (summary & kOtherClass) == 0 || !ends_inside(vocabulary_->token_bytes(token));
}

StepResult Matcher::find_step(uint32_t sequence, uint32_t token, Pin* to) {
  if (automaton_.collection_count() == steps_collection_) {
    to->set = steps_.find(state_set(sequence), token);
    if (to->set != kNotComputed) return StepResult::kDone;
  }
  const StepResult result = step_token(sequence, token, to);
  if (automaton_.collection_count() != steps_collection_) {
    steps_.clear();
    steps_collection_ = automaton_.collection_count();
  }
  if (result == StepResult::kDone) steps_.add(state_set(sequence), token, to->set);
  return result;
}

// Computes the set after a token. A token can be read in three ways: as a token literal, as bytes, or as an end token.
StepResult Matcher::step_token(uint32_t sequence, uint32_t token, Pin* to) {
  Pin* by_bytes = pins_.scratch + kByBytes;
  Pin* by_literal = pins_.scratch + kByLiteral;
  *by_bytes = *by_literal = {kDeadSet};
  const uint32_t symbol_class = automaton_.grammar().token_class(token);
  if (symbol_class != CompiledGrammar::kNoClass) {
    SOTTO_TRY_STEP(automaton_.step(&pins_.sequences[sequence], symbol_class, by_literal));
  }
  const auto bytes = vocabulary_->token_bytes(token);
  const bool is_only_literal = by_literal->set != kDeadSet && automaton_.prefers_literals(state_set(sequence));
  if (!bytes.empty() && !is_only_literal) {
    *by_bytes = pins_.sequences[sequence];
    SOTTO_TRY_STEP(automaton_.step_bytes(bytes, by_bytes));
  }
  if (by_literal->set == kDeadSet && by_bytes->set == kDeadSet && may_end(sequence) &&
      vocabulary_->source.is_end_token(token)) {
    return automaton_.make_end(to);
  }
  if (by_literal->set == kDeadSet) {
    *to = *by_bytes;
    return StepResult::kDone;
  }
  if (by_bytes->set == kDeadSet) {
    *to = *by_literal;
    return StepResult::kDone;
  }
  return automaton_.unite(by_bytes, by_literal, to);
}

Status Matcher::advance(uint32_t sequence, StepResult result, const Pin* to) {
  if (result != StepResult::kDone) return status_of(result);
  if (to->set == kDeadSet) return Status::kInvalidArgument;
  if (finish_within_ != 0 && used_[sequence] < UINT32_MAX) ++used_[sequence];
  if (sequence == 0) {
    if (rollback_count_ > 0) {
      pins_.history[accepted_ % rollback_count_] = *pins_.sequences;
      rewindable_ = std::min<uint64_t>(rewindable_ + 1, rollback_count_);
    }
    ++accepted_;
  }
  pins_.sequences[sequence] = *to;
  return Status::kOk;
}

Status Matcher::accept_token(uint32_t sequence, int32_t token) {
  assert(sequence < sequence_count_ && vocabulary_ != nullptr);
  if (token < 0 || static_cast<uint32_t>(token) >= vocabulary_->token_count) {
    return Status::kInvalidArgument;
  }
  automaton_.renew_budget();
  Pin* to = pins_.scratch + kNext;
  const auto id = static_cast<uint32_t>(token);
  if (is_self_loop(sequence, id)) {
    const Pin* pin = &pins_.sequences[sequence];
    if (!leaves_enough(sequence, pin->set)) return Status::kInvalidArgument;
    return advance(sequence, StepResult::kDone, pin);
  }
  StepResult result = find_step(sequence, id, to);
  if (result == StepResult::kDone && !leaves_enough(sequence, to->set)) {
    // An end token needs no budget.
    if (!may_end(sequence) || !vocabulary_->source.is_end_token(id)) return Status::kInvalidArgument;
    result = automaton_.make_end(to);
  }
  return advance(sequence, result, to);
}

Status Matcher::accept_text(uint32_t sequence, std::span<const char> bytes) {
  assert(sequence < sequence_count_);
  automaton_.renew_budget();
  Pin* to = pins_.scratch + kNext;
  *to = pins_.sequences[sequence];
  const StepResult result = automaton_.step_bytes(bytes, to);
  if (result == StepResult::kDone && !leaves_enough(sequence, to->set)) return Status::kInvalidArgument;
  return advance(sequence, result, to);
}

Status Matcher::test_text(uint32_t sequence, std::span<const char> bytes, bool* begins, bool* matches) {
  assert(sequence < sequence_count_);
  automaton_.renew_budget();
  Pin* to = pins_.scratch + kNext;
  *to = pins_.sequences[sequence];
  const StepResult result = automaton_.step_bytes(bytes, to);
  if (result != StepResult::kDone) return status_of(result);
  *begins = to->set != kDeadSet && leaves_enough(sequence, to->set);
  *matches = *begins && automaton_.accepts(to->set);
  return Status::kOk;
}

void Matcher::forget_history() {
  rewindable_ = 0;
  std::fill_n(pins_.history, rollback_count_, Pin{kNotComputed});
}

void Matcher::mark_start() {
  *pins_.start = *pins_.sequences;
  accepted_at_start_ = accepted_;
  if (finish_within_ != 0) used_[sequence_count_] = used_[0];
}

void Matcher::restart() {
  *pins_.sequences = *pins_.start;
  accepted_ = accepted_at_start_;
  if (finish_within_ != 0) used_[0] = used_[sequence_count_];
  forget_history();
}

Status Matcher::rewind(uint64_t count) {
  if (!can_rewind(count)) return Status::kInvalidState;
  if (count == 0) return Status::kOk;
  accepted_ -= count;
  rewindable_ -= count;
  if (finish_within_ != 0) used_[0] -= static_cast<uint32_t>(count);
  *pins_.sequences = pins_.history[accepted_ % rollback_count_];
  return Status::kOk;
}

void Matcher::fork(uint32_t from, uint32_t to) {
  assert(from < sequence_count_ && to < sequence_count_);
  if (from == to) return;
  pins_.sequences[to] = pins_.sequences[from];
  if (finish_within_ != 0) used_[to] = used_[from];
  if (to == 0) forget_history();
}

bool Matcher::may_end(uint32_t sequence) const { return automaton_.accepts(state_set(sequence)); }

bool Matcher::must_end(uint32_t sequence) const {
  const bool nothing_may_follow =
      automaton_.store().states(state_set(sequence)).empty() || (finish_within_ != 0 && tokens_left(sequence) == 0);
  return nothing_may_follow && may_end(sequence);
}

Status Matcher::forced_text(uint32_t sequence, std::span<char> forced, size_t* size) {
  automaton_.renew_budget();
  *size = 0;
  Pin* from = pins_.scratch + kByBytes;
  Pin* to = pins_.scratch + kNext;
  *from = pins_.sequences[sequence];
  const CompiledGrammar& grammar = automaton_.grammar();
  while (*size < forced.size() && !automaton_.accepts(from->set)) {
    uint32_t only = CompiledGrammar::kNoClass;
    for (uint32_t c = 0; c < grammar.class_count(); ++c) {
      const StepResult result = automaton_.step(from, c, to);
      if (result != StepResult::kDone) return status_of(result);
      if (to->set == kDeadSet) continue;
      const bool is_single = c < grammar.byte_class_count() && is_single_[c];
      if (only != CompiledGrammar::kNoClass || !is_single) return Status::kOk;
      only = c;
    }
    if (only == CompiledGrammar::kNoClass) return Status::kOk;
    const StepResult result = automaton_.step(from, only, to);
    if (result != StepResult::kDone) return status_of(result);
    // In the worst case, the caller reads each forced byte by a token of its own.
    if (finish_within_ != 0 && automaton_.completion(to->set) + *size >= tokens_left(sequence)) return Status::kOk;
    forced[(*size)++] = static_cast<char>(class_bytes_[only]);
    *from = *to;
  }
  return Status::kOk;
}

}  // namespace sotto
