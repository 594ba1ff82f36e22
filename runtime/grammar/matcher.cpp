#include "runtime/grammar/matcher.h"

#include <algorithm>
#include <cassert>

namespace sotto {
namespace {

Status status_of(StepResult result) {
  return result == StepResult::kDone ? Status::kOk : Status::kGrammarTooLarge;
}

bool is_end_token(const Vocabulary& vocabulary, uint32_t token) {
  return std::find(vocabulary.end_tokens.begin(), vocabulary.end_tokens.end(),
                   static_cast<int32_t>(token)) != vocabulary.end_tokens.end();
}

}  // namespace

bool Matcher::lay_out(Arena& arena, const CompiledGrammar& grammar, const Vocabulary* vocabulary,
                      const MatcherLimits& limits) {
  constexpr uint32_t kMostCount = 1u << 28;
  constexpr uint32_t kLeastCount = 16;
  for (const uint32_t count : {limits.node_count, limits.frame_count, limits.config_count,
                               limits.item_count, limits.work_count}) {
    if (count < kLeastCount || count > kMostCount) return false;
  }
  if (limits.sequence_count == 0 || limits.sequence_count > kMostCount ||
      limits.rollback_count > kMostCount) {
    return false;
  }
  limits_ = limits;
  const uint32_t trail = vocabulary == nullptr ? 2 : MaskFinder::trail_count(*vocabulary);
  const uint32_t pins = 1 + limits.sequence_count + limits.rollback_count + kScratchPins + trail;
  engine_.lay_out(arena, grammar, limits, pins, trail);
  return vocabulary == nullptr || masks_.lay_out(arena, *vocabulary, limits);
}

size_t Matcher::memory_size(const CompiledGrammar& grammar, const Vocabulary* vocabulary,
                            const MatcherLimits& limits) {
  Arena arena;
  Matcher matcher;
  const bool fits = matcher.lay_out(arena, grammar, vocabulary, limits);
  return fits && !arena.overflowed() ? arena.size() : 0;
}

Status Matcher::init(const CompiledGrammar& grammar, const Vocabulary* vocabulary,
                     const MatcherLimits& limits, void* memory, const MaskMethods& methods) {
  vocabulary_ = vocabulary;
  Arena arena(memory);
  if (!lay_out(arena, grammar, vocabulary, limits)) return Status::kInvalidArgument;
  const uint32_t longest = vocabulary == nullptr ? 0 : vocabulary->longest;
  const StepResult result = engine_.init(grammar, limits, longest);
  if (result != StepResult::kDone) return status_of(result);
  if (vocabulary != nullptr) masks_.init(engine_, *vocabulary, methods);
  std::fill(std::begin(class_sizes_), std::end(class_sizes_), 0u);
  for (uint32_t byte = 0; byte < 256; ++byte) {
    const uint8_t symbol_class = grammar.byte_class(static_cast<uint8_t>(byte));
    ++class_sizes_[symbol_class];
    class_bytes_[symbol_class] = static_cast<uint8_t>(byte);
  }
  for (uint32_t sequence = 0; sequence < limits.sequence_count; ++sequence) reset(sequence);
  return Status::kOk;
}

void Matcher::reset(uint32_t sequence) {
  assert(sequence < limits_.sequence_count);
  *pin(sequence) = engine_.pins()[0];
  if (sequence == 0) accepted_ = rewindable_ = 0;
}

Status Matcher::mask(uint32_t sequence, TokenMask* mask) {
  assert(sequence < limits_.sequence_count && vocabulary_ != nullptr);
  engine_.renew_budget();
  const uint64_t* words = nullptr;
  const StepResult result = masks_.find(pin(sequence), scratch(), &words);
  if (result != StepResult::kDone) return status_of(result);
  if (words == nullptr) return Status::kGrammarDeadEnd;
  *mask = {words, vocabulary_->token_count};
  return Status::kOk;
}

// scratch()[2] and [3] hold what bytes and literals lead to.
StepResult Matcher::step_token(uint32_t sequence, uint32_t token, uint32_t* to) {
  uint32_t* by_bytes = scratch() + MaskFinder::kPinCount;
  uint32_t* by_literal = by_bytes + 1;
  *by_bytes = *by_literal = kDeadConfig;
  const auto bytes = vocabulary_->token_bytes(token);
  if (!bytes.empty()) {
    *by_bytes = *pin(sequence);
    const StepResult result = engine_.step_bytes(bytes, by_bytes);
    if (result != StepResult::kDone) return result;
  }
  const uint32_t symbol_class = engine_.grammar().token_class(token);
  if (symbol_class != CompiledGrammar::kNoClass) {
    const StepResult result = engine_.step(pin(sequence), symbol_class, by_literal);
    if (result != StepResult::kDone) return result;
  }
  if (*by_literal == kDeadConfig && *by_bytes == kDeadConfig && accepts(sequence) &&
      is_end_token(*vocabulary_, token)) {
    return engine_.end(to);
  }
  if (*by_literal == kDeadConfig) {
    *to = *by_bytes;
    return StepResult::kDone;
  }
  if (*by_bytes == kDeadConfig) {
    *to = *by_literal;
    return StepResult::kDone;
  }
  return engine_.unite(by_bytes, by_literal, to);
}

Status Matcher::advance(uint32_t sequence, StepResult result, uint32_t* to) {
  if (result != StepResult::kDone) return status_of(result);
  if (*to == kDeadConfig) return Status::kInvalidArgument;
  if (sequence == 0) {
    if (limits_.rollback_count > 0) {
      history()[accepted_ % limits_.rollback_count] = *pin(0);
      rewindable_ = std::min<uint64_t>(rewindable_ + 1, limits_.rollback_count);
    }
    ++accepted_;
  }
  *pin(sequence) = *to;
  return Status::kOk;
}

Status Matcher::accept_token(uint32_t sequence, int32_t token) {
  assert(sequence < limits_.sequence_count && vocabulary_ != nullptr);
  if (token < 0 || static_cast<uint32_t>(token) >= vocabulary_->token_count) {
    return Status::kInvalidArgument;
  }
  engine_.renew_budget();
  uint32_t* to = scratch() + MaskFinder::kPinCount + 2;
  return advance(sequence, step_token(sequence, static_cast<uint32_t>(token), to), to);
}

Status Matcher::accept_bytes(uint32_t sequence, std::span<const char> bytes) {
  assert(sequence < limits_.sequence_count);
  engine_.renew_budget();
  uint32_t* to = scratch() + MaskFinder::kPinCount + 2;
  *to = *pin(sequence);
  return advance(sequence, engine_.step_bytes(bytes, to), to);
}

Status Matcher::rewind(uint64_t count) {
  if (count > rewindable_) return Status::kInvalidArgument;
  if (count == 0) return Status::kOk;
  accepted_ -= count;
  rewindable_ -= count;
  *pin(0) = history()[accepted_ % limits_.rollback_count];
  return Status::kOk;
}

void Matcher::fork(uint32_t from, uint32_t to) {
  assert(from < limits_.sequence_count && to < limits_.sequence_count);
  if (from == to) return;
  *pin(to) = *pin(from);
  if (to == 0) rewindable_ = 0;
}

bool Matcher::accepts(uint32_t sequence) const {
  return (engine_.store().config(config(sequence)).flags & Config::kAccepts) != 0;
}

bool Matcher::complete(uint32_t sequence) const {
  return accepts(sequence) && engine_.store().items(config(sequence)).empty();
}

Status Matcher::forced_bytes(uint32_t sequence, std::span<char> forced, size_t* size) {
  engine_.renew_budget();
  *size = 0;
  uint32_t* from = scratch();
  uint32_t* to = from + 1;
  *from = *pin(sequence);
  const CompiledGrammar& grammar = engine_.grammar();
  while (*size < forced.size() && (engine_.store().config(*from).flags & Config::kAccepts) == 0) {
    uint32_t only = CompiledGrammar::kNoClass;
    for (uint32_t c = 0; c < grammar.class_count(); ++c) {
      const StepResult result = engine_.step(from, c, to);
      if (result != StepResult::kDone) return status_of(result);
      if (*to == kDeadConfig) continue;
      const bool is_single = c < grammar.byte_class_count() && class_sizes_[c] == 1;
      if (only != CompiledGrammar::kNoClass || !is_single) return Status::kOk;
      only = c;
    }
    if (only == CompiledGrammar::kNoClass) return Status::kOk;
    forced[(*size)++] = static_cast<char>(class_bytes_[only]);
    const StepResult result = engine_.step(from, only, to);
    if (result != StepResult::kDone) return status_of(result);
    *from = *to;
  }
  return Status::kOk;
}

TokenConstraint Matcher::constraint(Matcher* matcher) {
  return {
      matcher,
      [](void* self, uint32_t sequence, TokenMask* mask) {
        return static_cast<Matcher*>(self)->mask(sequence, mask);
      },
      [](void* self, uint32_t sequence, int32_t token) {
        return static_cast<Matcher*>(self)->accept_token(sequence, token);
      },
      [](void* self, uint32_t sequence) { return static_cast<Matcher*>(self)->complete(sequence); },
      [](void* self, uint64_t count) { return static_cast<Matcher*>(self)->rewind(count); },
      [](void* self, uint32_t from, uint32_t to) { static_cast<Matcher*>(self)->fork(from, to); },
  };
}

}  // namespace sotto
