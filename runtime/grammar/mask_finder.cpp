#include "runtime/grammar/mask_finder.h"

#include <algorithm>
#include <cstring>

namespace sotto {
namespace {

// Contexts are cut off at this depth first, then at twice that.
constexpr uint32_t kFirstDepth = 2;
constexpr uint32_t kLeastTrail = 64;  // for slices

}  // namespace

bool MaskFinder::lay_out(Arena& arena, const Vocabulary& vocabulary, const MatcherLimits& limits) {
  slice_steps_ = arena.take<SliceStep>(kSliceStates * 256);
  tokens_ = arena.take<uint32_t>(MaskCache::kListTokens);
  return cache_.lay_out(arena, static_cast<uint32_t>(vocabulary.word_count()), limits.mask_size);
}

void MaskFinder::init(MatchEngine& engine, const Vocabulary& vocabulary,
                      const MaskMethods& methods) {
  engine_ = &engine;
  vocabulary_ = &vocabulary;
  methods_ = methods;
  cache_.init();
  prepare_slice_steps();
}

uint32_t MaskFinder::trail_count(const Vocabulary& vocabulary) {
  return std::max(vocabulary.longest + 2, kLeastTrail);
}

StepResult MaskFinder::find(const uint32_t* config, uint32_t* pins, const uint64_t** words) {
  uint32_t mask = engine_->store().config(*config).mask;
  if (mask < kFirstMask) {
    const StepResult result = find_abstract(config, pins, &mask);
    if (result != StepResult::kDone) return result;
    engine_->store().config(*config).mask = mask;
  }
  *words = cache_.is_empty(mask) ? nullptr : cache_.words(mask);
  return StepResult::kDone;
}

// pins[0]: the abstract configuration whose mask is that of `config`.
StepResult MaskFinder::find_abstract(const uint32_t* config, uint32_t* pins, uint32_t* mask) {
  for (uint32_t depth = kFirstDepth;; depth *= 2) {
    uint32_t* abstract = &pins[0];
    const bool applies = methods_.abstraction && depth <= 2 * TrieNode::kMaxDepth &&
                         engine_->can_abstract(*config, depth);
    if (!applies) {
      *abstract = *config;
    } else if (const StepResult result = engine_->abstract(config, depth, abstract);
               result != StepResult::kDone) {
      *abstract = *config;  // the long way
    }
    *mask = engine_->store().config(*abstract).mask;
    if (*mask == kNoMask) {
      StepResult result = compute(abstract, mask);
      if (result != StepResult::kDone && *abstract != *config) {
        *abstract = *config;
        result = compute(abstract, mask);
      }
      if (result != StepResult::kDone) return result;
      Config& shared = engine_->store().config(*abstract);
      shared.mask = *mask;
      shared.is_shared = true;
    }

    if (*mask != kMaskCutOff) return StepResult::kDone;
  }
}

StepResult MaskFinder::compute(const uint32_t* config, uint32_t* mask) {
  ++walk_count_;
  token_count_ = 0;
  uint32_t* trail = engine_->trail();
  trail[0] = *config;
  uint32_t slice = kNoSlice;
  if (methods_.slices) find_slice(&slice);
  trail[0] = *config;
  bool cut_off = false;
  if (slice != kNoSlice) {
    const size_t size = vocabulary_->word_count() * sizeof(uint64_t);
    std::memcpy(cache_.draft(), vocabulary_->slice(slice), size);
    token_count_ = MaskCache::kListTokens + 1;
  }
  StepResult result = walk(slice, &cut_off);
  if (result == StepResult::kDone && !cut_off) result = add_literals(&cut_off);
  if (result != StepResult::kDone || cut_off) {
    cache_.clear_draft();
    *mask = kMaskCutOff;
    return result;
  }
  if ((engine_->store().config(*config).flags & Config::kAccepts) != 0) {
    for (const int32_t token : vocabulary_->source.end_tokens) add(static_cast<uint32_t>(token));
  }
  *mask = store();
  return StepResult::kDone;
}

void MaskFinder::add(uint32_t token) {
  uint64_t& word = cache_.draft()[token / 64];
  const uint64_t bit = uint64_t{1} << token % 64;
  if ((word & bit) != 0) return;
  word |= bit;
  if (token_count_ < MaskCache::kListTokens) tokens_[token_count_] = token;
  ++token_count_;
}

// trail[0]: the configuration; trail[n]: behind the n bytes of a node's prefix.
StepResult MaskFinder::walk(uint32_t slice, bool* cut_off) {
  const auto nodes = vocabulary_->nodes;
  const auto node_count = static_cast<uint32_t>(nodes.size() - 1);
  const CompiledGrammar& grammar = engine_->grammar();
  const ContextStore& store = engine_->store();
  uint32_t* trail = engine_->trail();
  uint32_t visited = 0;
  for (uint32_t i = 0; i < node_count;) {
    const TrieNode node = nodes[i];
    if (slice != kNoSlice && vocabulary_->slices[i] <= slice) {
      i = node.next();
      continue;
    }
    ++visited;
    uint32_t* next = &trail[node.depth()];
    const StepResult result = engine_->step(next - 1, grammar.byte_class(node.byte()), next);
    if (result != StepResult::kDone) return result;
    if (*next == kDeadConfig) {
      i = node.next();
      continue;
    }
    if ((store.config(*next).flags & Config::kUnknown) != 0) {
      *cut_off = true;
      return StepResult::kDone;
    }
    const uint32_t end = nodes[i + 1].first_token();
    for (uint32_t rank = node.first_token(); rank < end; ++rank) add(vocabulary_->order[rank]);
    ++i;
  }
  return engine_->spend(visited) ? StepResult::kDone : StepResult::kTooComplex;
}

StepResult MaskFinder::add_literals(bool* cut_off) {
  const CompiledGrammar& grammar = engine_->grammar();
  uint32_t* trail = engine_->trail();
  for (const TokenRange& range : grammar.token_ranges()) {
    const StepResult result = engine_->step(&trail[0], range.symbol_class, &trail[1]);
    if (result != StepResult::kDone) return result;
    if (trail[1] == kDeadConfig) continue;
    *cut_off |= (engine_->store().config(trail[1]).flags & Config::kUnknown) != 0;
    for (uint32_t token = range.first; token <= range.last; ++token) add(token);
  }
  return StepResult::kDone;
}

void MaskFinder::forget_masks() {
  ContextStore& store = engine_->store();
  for (uint32_t config = kFirstConfig; config < store.config_count(); ++config) {
    store.config(config).mask = kNoMask;
  }
  cache_.flush();
}

uint32_t MaskFinder::store() {
  const std::span<const uint32_t> tokens{tokens_, std::min(token_count_, MaskCache::kListTokens)};
  uint32_t mask = cache_.store(tokens, token_count_);
  if (mask == kNoMask) {
    forget_masks();
    mask = cache_.store(tokens, token_count_);
  }
  return mask;
}

}  // namespace sotto
