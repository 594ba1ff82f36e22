#include "runtime/grammar/matcher/mask_finder.h"

#include <algorithm>
#include <cstring>

namespace sotto {
namespace {

// Contexts are cut off at this depth first, then at twice that.
constexpr uint32_t kFirstDepth = 2;

}  // namespace

bool MaskFinder::lay_out(Arena& arena, const CompiledGrammar& grammar, const Vocabulary& vocabulary,
                         const MatcherLimits& limits) {
  transition_memory_ = arena.take<Utf8Transition>(Utf8Transitions::count(grammar));
  return cache_.lay_out(arena, vocabulary.token_count, limits.mask_bytes);
}

void MaskFinder::init(LazyAutomaton& engine, const Vocabulary& vocabulary, const MaskMethods& methods) {
  engine_ = &engine;
  vocabulary_ = &vocabulary;
  methods_ = methods;
  cache_.init();
  transitions_.init(engine.grammar(), transition_memory_);
}

uint32_t MaskFinder::trail_count(const Vocabulary& vocabulary) { return vocabulary.longest + 2; }

StepResult MaskFinder::find(const uint32_t* set, uint32_t* pins, const uint64_t** words) {
  boundaries_ = pins + 2;
  uint32_t mask = engine_->store().state_set(*set).mask;
  if (mask < kFirstMask) {
    const StepResult result = find_abstract(set, pins, &mask);
    if (result != StepResult::kDone) return result;
    engine_->store().state_set(*set).mask = mask;
  }
  engine_->store().state_set(*set).was_used = true;
  *words = cache_.is_empty(mask) ? nullptr : cache_.words(mask);
  return StepResult::kDone;
}

// pins[0]: the abstract configuration whose mask is that of `set`.
StepResult MaskFinder::find_abstract(const uint32_t* set, uint32_t* pins, uint32_t* mask) {
  progress_ = {};
  for (uint32_t depth = kFirstDepth;; depth *= 2) {
    uint32_t* abstract = &pins[0];
    const bool applies = methods_.abstraction && depth <= 2 * TrieNode::kMaxDepth && engine_->can_abstract(*set, depth);
    if (!applies) {
      *abstract = *set;
    } else if (const StepResult result = engine_->abstract(set, depth, abstract); result != StepResult::kDone) {
      *abstract = *set;  // the long way
    }
    *mask = engine_->store().state_set(*abstract).mask;
    if (*mask == kNoMask) {
      StepResult result = compute(abstract, mask);
      if (result != StepResult::kDone && *abstract != *set) {
        *abstract = *set;
        progress_ = {};
        result = compute(abstract, mask);
      }
      if (result != StepResult::kDone) return result;
      StateSet& shared = engine_->store().state_set(*abstract);
      shared.mask = *mask;
      shared.is_shared = true;
    }
    engine_->store().state_set(*abstract).was_used = true;

    if (*mask != kMaskCutOff) return StepResult::kDone;
  }
}

// Tokens that the mask holds before the walk.
void MaskFinder::begin(const uint32_t* set) {
  ++walk_count_;
  draft_ = cache_.begin_draft();
  TokenPrefilter prefilter;
  TokenPrefilter guess;
  const uint32_t count = methods_.prefilters ? exact_count(*set) : kUnknownCount;
  if (count != kUnknownCount) {
    fill_exactly(count);
    prefilter = {kAllClasses, kLengthCount - 1};
  } else if (methods_.prefilters) {
    prefilter = find_prefilter();
    if (prefilter.length + 2u < kLengthCount) guess = guess_prefilter();
    if (guess.classes != 0) prefilter = {};
    const TokenPrefilter all = prefilter.classes != 0 ? prefilter : guess;
    if (all.classes != 0) fill_mask(all, vocabulary_->token_summaries, draft_);
  }
  progress_ = {prefilter, guess, 0, true};
}

// Goes on where contexts that were cut off earlier could not tell.
StepResult MaskFinder::compute(const uint32_t* set, uint32_t* mask) {
  engine_->trail()[0] = *set;
  if (!progress_.has_begun) begin(set);
  bool cut_off = false;
  StepResult result = walk(&cut_off);
  if (result == StepResult::kDone && !cut_off) result = add_literals(&cut_off);
  if (result != StepResult::kDone || cut_off) {
    *mask = kMaskCutOff;
    return result;
  }
  if ((engine_->store().state_set(*set).flags & StateSet::kAccepts) != 0) {
    for (const int32_t token : vocabulary_->source.end_tokens) add(static_cast<uint32_t>(token));
  }
  *mask = store();
  return StepResult::kDone;
}

void MaskFinder::add_run(uint32_t first, uint32_t end) {
  for (uint32_t rank = first; rank < end; ++rank) add(vocabulary_->order[rank]);
}

void MaskFinder::remove_run(uint32_t first, uint32_t end) {
  for (uint32_t rank = first; rank < end; ++rank) {
    const uint32_t token = vocabulary_->order[rank];
    draft_[token / 64] &= ~(uint64_t{1} << token % 64);
  }
}

// trail[0]: the configuration; trail[n]: behind the n bytes of a node's prefix. The draft
// holds all of `prefilter`, which is right, or all of `guess`, some of which may be wrong.
StepResult MaskFinder::walk(bool* cut_off) {
  const TokenPrefilter prefilter = progress_.prefilter;
  const TokenPrefilter guess = progress_.guess;
  constexpr uint32_t kLargeSubtree = 32;
  const TrieNode* nodes = vocabulary_->nodes.data();
  const TextSummary* kinds = vocabulary_->node_summaries.data();
  const auto node_count = static_cast<uint32_t>(vocabulary_->nodes.size() - 1);
  const CompiledGrammar& grammar = engine_->grammar();
  uint32_t* trail = engine_->trail();
  const bool tries_below = methods_.prefilters && prefilter.classes == 0;
  uint32_t visited = 0;
  const StepResult retraced = retrace(progress_.node);
  if (retraced != StepResult::kDone) return retraced;
  for (uint32_t i = progress_.node; i < node_count;) {
    const TrieNode node = nodes[i];
    if (prefilter.classes != 0 && prefilter.holds(kinds[i])) {
      i = node.next();
      continue;
    }
    ++visited;
    uint32_t* next = &trail[node.depth()];
    const StepResult result = engine_->step(next - 1, grammar.byte_class(node.byte()), next);
    if (result != StepResult::kDone) return result;
    const uint32_t end = nodes[node.next()].first_token();
    if (*next < kFirstSet) {
      if (*next == kUnknownSet) {
        *cut_off = true;
        progress_.node = i;
        return engine_->spend(visited) ? StepResult::kDone : StepResult::kTooComplex;
      }
      if (guess.classes != 0) remove_run(node.first_token(), end);
      i = node.next();
      continue;
    }
    if (tries_below && node.next() - i >= kLargeSubtree) {
      const TokenPrefilter below{endless_classes(next), kLengthCount - 1};
      if (below.classes != 0 && below.holds(kinds[i])) {
        if (!guess.holds(kinds[i]) || guess.classes == 0) add_run(node.first_token(), end);
        i = node.next();
        continue;
      }
    }
    add_run(node.first_token(), nodes[i + 1].first_token());
    ++i;
  }
  progress_.node = node_count;
  return engine_->spend(visited) ? StepResult::kDone : StepResult::kTooComplex;
}

// Takes trail[0] along the prefixes of the node.
StepResult MaskFinder::retrace(uint32_t node) {
  const TrieNode* nodes = vocabulary_->nodes.data();
  const CompiledGrammar& grammar = engine_->grammar();
  for (uint32_t i = 0; i < node;) {
    if (nodes[i].next() <= node) {
      i = nodes[i].next();
      continue;
    }
    uint32_t* next = &engine_->trail()[nodes[i].depth()];
    const StepResult result = engine_->step(next - 1, grammar.byte_class(nodes[i].byte()), next);
    if (result != StepResult::kDone) return result;
    ++i;
  }
  return StepResult::kDone;
}

StepResult MaskFinder::add_literals(bool* cut_off) {
  const CompiledGrammar& grammar = engine_->grammar();
  uint32_t* trail = engine_->trail();
  for (const TokenRange& range : grammar.token_ranges()) {
    const StepResult result = engine_->step(&trail[0], range.symbol_class, &trail[1]);
    if (result != StepResult::kDone) return result;
    if (trail[1] == kDeadSet) continue;
    *cut_off |= trail[1] == kUnknownSet;
    for (uint32_t token = range.first; token <= range.last; ++token) add(token);
  }
  return StepResult::kDone;
}

void MaskFinder::forget_masks() {
  StackStore& store = engine_->store();
  for (uint32_t set = kFirstSet; set < store.set_count(); ++set) {
    store.state_set(set).mask = kNoMask;
  }
  cache_.flush();
}

uint32_t MaskFinder::store() {
  uint32_t mask = cache_.store_draft();
  if (mask == kNoMask) {
    forget_masks();
    mask = cache_.store_draft();
  }
  return mask;
}

}  // namespace sotto
