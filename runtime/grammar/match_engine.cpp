#include "runtime/grammar/match_engine.h"

#include <algorithm>
#include <cassert>

namespace sotto {

void MatchEngine::lay_out(Arena& arena, const CompiledGrammar& grammar, const MatcherLimits& limits,
                          uint32_t pin_count, uint32_t trail_count) {
  pin_count_ = pin_count;
  trail_count_ = trail_count;
  united_capacity_ = limits.work_count;
  pins_ = arena.take<uint32_t>(pin_count);
  united_ = arena.take<Item>(united_capacity_);
  store_.lay_out(arena, grammar, limits);
  closure_.lay_out(arena, limits);
  abstraction_.lay_out(arena, limits);
}

StepResult MatchEngine::init(const CompiledGrammar& grammar, const MatcherLimits& limits,
                             uint32_t longest) {
  grammar_ = &grammar;
  step_budget_ = limits.step_budget;
  std::fill_n(pins_, pin_count_, kNotComputed);
  store_.init();
  closure_.init(grammar, store_);
  abstraction_.init(grammar, store_, longest);
  renew_budget();
  return start(&pins_[0]);
}

void MatchEngine::collect(const uint32_t* newest, bool keep_shared) {
  ++collection_count_;
  const uint32_t* end = std::max<const uint32_t*>(trail(), newest + 1);
  const std::span<uint32_t> pins{pins_, static_cast<size_t>(end - pins_)};
  if (keep_shared) store_.collect(pins, true);
  if (!keep_shared || !store_.is_roomy()) store_.collect(pins, false);
}

// Cleans the store and tries again if it is full.
template <typename Make>
StepResult MatchEngine::make(uint32_t* to, Make make) {
  uint32_t made = kNotComputed;
  *to = kNotComputed;
  StepResult result = make(&made);
  for (const bool keep_shared : {true, false}) {
    if (result != StepResult::kStoreFull) break;
    collect(to, keep_shared);
    result = make(&made);
  }

  if (result == StepResult::kDone) *to = made;
  return result;
}

StepResult MatchEngine::start(uint32_t* to) {
  return make(to, [&](uint32_t* made) { return closure_.start(made); });
}

StepResult MatchEngine::end(uint32_t* to) {
  return make(to, [&](uint32_t* made) {
    const bool fits = store_.intern_config({}, Config::kAccepts, made);
    return fits ? StepResult::kDone : StepResult::kStoreFull;
  });
}

StepResult MatchEngine::make_step(const uint32_t* from, uint32_t symbol_class, uint32_t* to) {
  assert(from != to);
  const StepResult result =
      make(to, [&](uint32_t* made) { return closure_.step(*from, symbol_class, made); });
  if (result == StepResult::kDone) store_.row(*from)[symbol_class] = *to;
  return result;
}

StepResult MatchEngine::step_bytes(std::span<const char> bytes, uint32_t* config) {
  uint32_t* from = trail();
  uint32_t* to = from + 1;
  *from = *config;
  for (const char byte : bytes) {
    const uint32_t symbol_class = grammar_->byte_class(static_cast<uint8_t>(byte));
    *to = kNotComputed;
    const StepResult result = step(from, symbol_class, to);
    if (result != StepResult::kDone) return result;
    *from = *to;
    if (*from == kDeadConfig) break;
  }
  *config = *from;
  return StepResult::kDone;
}

StepResult MatchEngine::unite(const uint32_t* a, const uint32_t* b, uint32_t* to) {
  return make(to, [&](uint32_t* made) {
    const auto x = store_.items(*a);
    const auto y = store_.items(*b);
    if (x.size() + y.size() > united_capacity_) return StepResult::kTooComplex;
    const Item* end = std::set_union(x.begin(), x.end(), y.begin(), y.end(), united_, item_less);
    const auto count = static_cast<size_t>(end - united_);
    const auto flags = static_cast<uint8_t>(store_.config(*a).flags | store_.config(*b).flags);
    return store_.intern_config({united_, count}, flags, made) ? StepResult::kDone
                                                               : StepResult::kStoreFull;
  });
}

StepResult MatchEngine::abstract(const uint32_t* from, uint32_t depth, uint32_t* to) {
  return make(to, [&](uint32_t* made) { return abstraction_.apply(*from, depth, made); });
}

}  // namespace sotto
