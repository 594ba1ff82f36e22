#include "runtime/grammar/matcher/mask_finder.h"

#include <algorithm>
#include <cassert>

#include "runtime/base/utf8.h"

namespace sotto {
namespace {

// The depth of the first truncation. Each further truncation doubles the depth.
constexpr uint32_t kFirstDepth = 2;

}  // namespace

void MaskFinder::layout(Arena& arena, const CompiledGrammar& grammar, const Vocabulary& vocabulary,
                        const MatcherParams& limits) {
  prefilters_.layout(arena, grammar);
  cache_.layout(arena, vocabulary.token_count, limits.mask_bytes);
}

void MaskFinder::layout_pins(PinArena& pins) {
  truncated_ = pins.take(1);
  prefilters_.layout_pins(pins);
}

void MaskFinder::init(LazyAutomaton& automaton, const Vocabulary& vocabulary, const MaskShortcuts& shortcuts) {
  automaton_ = &automaton;
  vocabulary_ = &vocabulary;
  shortcuts_ = shortcuts;
  cache_.flush();
  prefilters_.init(automaton, vocabulary);
}

StepResult MaskFinder::find(const Pin* pin, const uint64_t** words) {
  uint32_t mask = automaton_->store().state_set(pin->set).mask;
  if (mask < kFirstMask) {
    SOTTO_TRY_STEP(find_truncated(pin, &mask));
    automaton_->store().state_set(pin->set).mask = mask;
  }
  automaton_->store().state_set(pin->set).was_used = true;
  *words = cache_.is_empty(mask) ? nullptr : cache_.words(mask);
  return StepResult::kDone;
}

// Stacks are not truncated, because the completion depends on the whole stack. Counts are replaced where the completion
// stays the same.
StepResult MaskFinder::find_within(const Pin* pin, uint32_t remaining, const uint64_t** words) {
  Pin* equal = truncated_;
  const bool applies = shortcuts_.truncation && automaton_->can_truncate(pin->set, StackNode::kMaxDepth);
  const bool is_replaced = applies && automaton_->truncate(pin, StackNode::kMaxDepth, equal) == StepResult::kDone;
  if (!is_replaced) *equal = *pin;
  if (automaton_->store().max_after_token(equal->set) < remaining) return find(pin, words);
  progress_ = {};
  progress_.remaining = remaining;
  progress_.has_begun = true;
  open_mask_ = cache_.begin_mask();
  automaton_->trail()[0] = *equal;
  bool cut_off = false;
  SOTTO_TRY_STEP(walk(&cut_off));
  SOTTO_TRY_STEP(add_literals(&cut_off));
  automaton_->store().max_after_token(equal->set) = progress_.max_needed;
  automaton_->store().state_set(equal->set).is_shared = true;
  automaton_->store().state_set(equal->set).was_used = true;
  add_end_tokens(equal->set);
  const bool is_empty =
      std::all_of(open_mask_, open_mask_ + vocabulary_->word_count(), [](uint64_t word) { return word == 0; });
  *words = is_empty ? nullptr : open_mask_;
  return StepResult::kDone;
}

// Returns whether enough tokens remain after a token that leads to the set.
bool MaskFinder::leaves_enough(uint32_t set) {
  if (progress_.remaining == kUnlimited) return true;
  const uint32_t needed = automaton_->completion(set);
  progress_.max_needed = std::max(progress_.max_needed, needed);
  return needed < progress_.remaining;
}

// Returns whether all tokens of a subtree of the trie lead back to the set of its root. Characters of the last class
// may be incomplete at the end of a token.
bool MaskFinder::leads_back(uint32_t set, TextSummary summary) const {
  const uint8_t classes = automaton_->store().state_set(set).repeated_classes & static_cast<uint8_t>(~kOtherClass);
  return shortcuts_.prefilters && TokenPrefilter{classes, kLengthCount - 1}.holds(summary);
}

// Finds the mask with a truncated set.
StepResult MaskFinder::find_truncated(const Pin* pin, uint32_t* mask) {
  progress_ = {};
  // Double the depth until the mask does not depend on the part that was cut off.
  for (uint32_t depth = kFirstDepth;; depth *= 2) {
    const bool applies =
        shortcuts_.truncation && depth <= 2 * TrieNode::kMaxDepth && automaton_->can_truncate(pin->set, depth);
    const bool is_truncated = applies && automaton_->truncate(pin, depth, truncated_) == StepResult::kDone;
    if (!is_truncated) *truncated_ = *pin;  // the set itself takes longer, but may fit
    *mask = automaton_->store().state_set(truncated_->set).mask;
    if (*mask == kNoMask) {
      StepResult result = compute(truncated_, mask);
      // If the truncated set exceeds a limit, try the set itself, which is already stored.
      if (result != StepResult::kDone && truncated_->set != pin->set) {
        *truncated_ = *pin;
        progress_ = {};
        result = compute(truncated_, mask);
      }
      if (result != StepResult::kDone) return result;
      StateSet& shared = automaton_->store().state_set(truncated_->set);
      shared.mask = *mask;
      shared.is_shared = true;
    }
    automaton_->store().state_set(truncated_->set).was_used = true;
    if (*mask != kMaskCutOff) return StepResult::kDone;
  }
}

// Begins an open mask with the tokens that are possible without a walk.
void MaskFinder::begin(const Pin* pin) {
  ++walk_count_;
  open_mask_ = cache_.begin_mask();
  TokenPrefilter prefilter;
  TokenPrefilter guess;
  const uint32_t count = shortcuts_.prefilters ? prefilters_.exact_count(pin->set) : PrefilterFinder::kUnknownCount;
  if (count != PrefilterFinder::kUnknownCount) {
    fill_exactly(count);
    prefilter = {kAllClasses, kLengthCount - 1};
  } else if (shortcuts_.prefilters) {
    prefilter = prefilters_.find();
    if (prefilter.length + 2u < kLengthCount) guess = prefilters_.guess();
    if (guess.classes != 0) prefilter = {};
    const TokenPrefilter all = prefilter.classes != 0 ? prefilter : guess;
    if (all.classes != 0) fill_mask(all, vocabulary_->token_summaries, open_mask_);
  }
  progress_ = {.prefilter = prefilter, .guess = guess, .has_begun = true};
}

// Adds the tokens of at most this number of characters, of any class.
void MaskFinder::fill_exactly(uint32_t characters) {
  if (characters == 0) return;
  uint8_t next = 0;  // the first length class that the mask does not contain completely
  while (next < kLengthCount - 1 && kLengthCharacters[next] <= characters) ++next;
  const auto summaries = vocabulary_->token_summaries;
  if (next > 0) fill_mask({kAllClasses, static_cast<uint8_t>(next - 1)}, summaries, open_mask_);
  if (next > 0 && kLengthCharacters[next - 1] == characters) return;
  const auto is_first = [](char byte) { return !is_continuation(byte); };
  for (uint32_t begin = 0; begin < summaries.size(); begin += 64) {
    for (const uint32_t bit : SetBits(summaries_of_length(&summaries[begin], next))) {
      const uint32_t token = begin + bit;
      const auto text = vocabulary_->source.token(token);
      const bool is_ascii = (summaries[token] & kOtherClass) == 0;
      const size_t count =
          is_ascii ? text.size() : static_cast<size_t>(std::count_if(text.begin(), text.end(), is_first));
      if (count <= characters) add(token);
    }
  }
}

// Computes the mask, or continues a computation that a truncation has left undecided.
StepResult MaskFinder::compute(const Pin* pin, uint32_t* mask) {
  automaton_->trail()[0] = *pin;
  if (!progress_.has_begun) begin(pin);
  bool cut_off = false;
  StepResult result = walk(&cut_off);
  if (result == StepResult::kDone && !cut_off) result = add_literals(&cut_off);
  if (result != StepResult::kDone || cut_off) {
    *mask = kMaskCutOff;
    return result;
  }
  add_end_tokens(pin->set);
  *mask = store();
  return StepResult::kDone;
}

void MaskFinder::add_end_tokens(uint32_t set) {
  if (!automaton_->accepts(set)) return;
  for (const int32_t token : vocabulary_->source.end_tokens) add(static_cast<uint32_t>(token));
}

void MaskFinder::add_run(uint32_t first, uint32_t end) {
  for (uint32_t rank = first; rank < end; ++rank) add(vocabulary_->order[rank]);
}

void MaskFinder::remove_run(uint32_t first, uint32_t end) {
  for (uint32_t rank = first; rank < end; ++rank) clear_bit(open_mask_, vocabulary_->order[rank]);
}

// Walks over the trie. trail[n] is the set after the first n bytes of a node's prefix.
StepResult MaskFinder::walk(bool* cut_off) {
  const TokenPrefilter prefilter = progress_.prefilter;
  const TokenPrefilter guess = progress_.guess;
  const TrieNode* nodes = vocabulary_->nodes.data();
  const TextSummary* summaries = vocabulary_->node_summaries.data();
  const auto node_count = static_cast<uint32_t>(vocabulary_->nodes.size() - 1);
  const CompiledGrammar& grammar = automaton_->grammar();
  Pin* trail = automaton_->trail();
  uint32_t visited = 0;
  SOTTO_TRY_STEP(retrace(progress_.node));
  for (uint32_t i = progress_.node; i < node_count;) {
    const TrieNode node = nodes[i];
    // The mask already contains all tokens of this subtree.
    if (prefilter.classes != 0 && prefilter.holds(summaries[i])) {
      i = node.next();
      continue;
    }
    ++visited;
    Pin* next = &trail[node.depth()];
    const uint32_t symbol_class = grammar.byte_class(node.byte());
    const uint32_t end = nodes[node.next()].first_token();
    // The set after the last byte of a token is not needed: the token is possible if a state moves by this byte.
    if (node.next() == i + 1 && progress_.remaining == kUnlimited) {
      const bool is_possible = automaton_->store().next((next - 1)->set, symbol_class) != kDeadSet;
      if (is_possible) add_run(node.first_token(), end);
      if (!is_possible && guess.classes != 0) remove_run(node.first_token(), end);
      i = node.next();
      continue;
    }
    SOTTO_TRY_STEP(automaton_->step(next - 1, symbol_class, next));
    // The prefix is impossible, or it depends on the part that was cut off from the stacks.
    if (next->set < kFirstSet) {
      if (next->set == kUnknownSet) {
        *cut_off = true;
        progress_.node = i;
        return automaton_->budget().spend(visited) ? StepResult::kDone : StepResult::kTooComplex;
      }
      if (guess.classes != 0) remove_run(node.first_token(), end);
      i = node.next();
      continue;
    }
    i = add_node(i, next);
  }
  progress_.node = node_count;
  return automaton_->budget().spend(visited) ? StepResult::kDone : StepResult::kTooComplex;
}

// Adds the tokens that end at a node, or those of its whole subtree if one test shows that they are all possible. The
// node leads to the set of `pin`. Returns the node at which the walk continues.
uint32_t MaskFinder::add_node(uint32_t index, const Pin* pin) {
  constexpr uint32_t kLargeSubtree = 32;  // the search of a prefilter pays for subtrees of this size or more
  const TrieNode* nodes = vocabulary_->nodes.data();
  const TrieNode node = nodes[index];
  const TextSummary summary = vocabulary_->node_summaries[index];
  bool is_whole = false;
  bool adds = true;
  if (progress_.remaining != kUnlimited) {
    is_whole = leads_back(pin->set, summary);
    adds = leaves_enough(pin->set);
  } else if (shortcuts_.prefilters && progress_.prefilter.classes == 0 && node.next() - index >= kLargeSubtree) {
    // All tokens of the subtree are possible if all strings over its characters may follow.
    const TokenPrefilter below{prefilters_.endless_classes(pin), kLengthCount - 1};
    is_whole = below.classes != 0 && below.holds(summary);
    adds = !is_whole || progress_.guess.classes == 0 || !progress_.guess.holds(summary);
  }
  const uint32_t next = is_whole ? node.next() : index + 1;
  if (adds) add_run(node.first_token(), nodes[next].first_token());
  return next;
}

// Computes the sets after the prefixes of a node and writes them to the trail.
StepResult MaskFinder::retrace(uint32_t node) {
  const TrieNode* nodes = vocabulary_->nodes.data();
  const CompiledGrammar& grammar = automaton_->grammar();
  for (uint32_t i = 0; i < node;) {
    if (nodes[i].next() <= node) {
      i = nodes[i].next();
      continue;
    }
    Pin* next = &automaton_->trail()[nodes[i].depth()];
    SOTTO_TRY_STEP(automaton_->step(next - 1, grammar.byte_class(nodes[i].byte()), next));
    ++i;
  }
  return StepResult::kDone;
}

// Adds the tokens that the grammar names by literals.
StepResult MaskFinder::add_literals(bool* cut_off) {
  const CompiledGrammar& grammar = automaton_->grammar();
  Pin* trail = automaton_->trail();
  for (const TokenRange& range : grammar.token_ranges()) {
    SOTTO_TRY_STEP(automaton_->step(&trail[0], range.symbol_class, &trail[1]));
    if (trail[1].set == kDeadSet) continue;
    *cut_off |= trail[1].set == kUnknownSet;
    const bool is_allowed = leaves_enough(trail[1].set);
    if (!is_allowed && !automaton_->prefers_literals(trail[0].set)) continue;
    for (uint32_t token = range.first; token <= range.last; ++token) {
      if (is_allowed) {
        add(token);
      } else {
        clear_bit(open_mask_, token);
      }
    }
  }
  return StepResult::kDone;
}

// Stores the open mask. If the cache is full, all masks in it are dropped first.
uint32_t MaskFinder::store() {
  const uint32_t mask = cache_.store_mask();
  if (mask != kNoMask) return mask;
  StackStore& store = automaton_->store();
  for (uint32_t set = kFirstSet; set < store.set_count(); ++set) store.state_set(set).mask = kNoMask;
  cache_.flush();
  const uint32_t stored = cache_.store_mask();
  assert(stored != kNoMask);
  return stored;
}

}  // namespace sotto
