// Texts of a loop that are one byte each: what follows is the same until the count reaches one
// of the loop's bounds.
#include <algorithm>

#include "runtime/grammar/matcher/closure.h"

namespace sotto {

// Whether the rule that ended was called again by the same loop, and by nothing else: then all
// items follow from that, and from its next text, too.
bool Closure::is_repeat() const {
  if (ended_.state == 0 || grammar_->counts().loops == 0) return false;
  return std::any_of(items_, items_ + item_count_, [&](const Item& item) { return is_repeat(item); });
}

bool Closure::is_repeat(const Item& item) const {
  if (item.state != ended_.state || !is_new(item.node)) return false;
  const Pending& pending = pending_[item.node - kPending];
  const Link& link = links_[pending.first_link];
  if (pending.rule_start != item.state || link.next != kEmpty || link.is_tail()) return false;
  const Frame now = frame_of(pending.first_link);
  const auto is_same = [&](const Frame& before) {
    return before.loop == now.loop && before.state == now.state && before.parent == now.parent;
  };
  if (now.loop == kNoLoop) return false;
  if ((ended_.node & kPending) == 0) {
    const FrameSpan frames = store_->frames(ended_.node);
    return frames.size() == 1 && is_same(frames[0]);
  }
  const uint32_t first = pending_[ended_.node - kPending].first_link;
  return links_[first].next == kEmpty && is_same(frame_of(first));
}

// Behind a repeat: more of the same, in place.
void Closure::repeat(std::span<const char> text, size_t* taken) {
  const Item* item = std::find_if(items_, items_ + item_count_, [&](const Item& i) { return is_repeat(i); });
  LinkCount& count = link_counts_[pending_[item->node - kPending].first_link];
  for (; *taken < text.size(); ++*taken) {
    const uint32_t symbol_class = grammar_->byte_class(static_cast<uint8_t>(text[*taken]));
    if (!ends_only({items_, item_count_}, item, symbol_class)) return;
    if (!count_on(count.loop, &count.count)) return;
  }
}

StepResult Closure::step_loop(uint32_t config, std::span<const char> text, size_t* taken, uint32_t* next) {
  *taken = 0;
  const std::span<const Item> items = store_->items(config);
  const Item* item = counting_item(items);
  if (item == nullptr || items.size() > work_capacity_) return StepResult::kDone;
  Frame frame = store_->frames(item->node)[0];
  for (; *taken < text.size(); ++*taken) {
    const uint32_t symbol_class = grammar_->byte_class(static_cast<uint8_t>(text[*taken]));
    if (!ends_only(items, item, symbol_class) || !count_on(frame.loop, &frame.count)) break;
  }
  if (*taken == 0) return StepResult::kDone;
  begin();
  flags_ = store_->config(config).flags;
  uint32_t node = 0;
  if (!store_->intern_node({&frame, 1}, &node)) return StepResult::kStoreFull;
  for (const Item& i : items) items_[item_count_++] = {i.state, &i == item ? node : i.node};
  const StepResult result = store_config(next);
  if (result == StepResult::kDone) store_->config(*next).counts_on = true;
  return result;
}

// The only one in a loop's text that has one frame; nothing else refers to its context then.
const Item* Closure::counting_item(std::span<const Item> items) const {
  const Item* found = nullptr;
  for (const Item& item : items) {
    const FrameSpan frames = store_->frames(item.node);
    if (frames.size() != 1 || frames[0].loop == kNoLoop) continue;
    if (grammar_->loop(frames[0].loop).rule_start != item.state) continue;
    if (found != nullptr) return nullptr;
    found = &item;
  }
  const bool is_alone =
      found != nullptr && !store_->node(found->node).is_cyclic && grammar_->calls(found->state).empty();
  return is_alone ? found : nullptr;
}

// Whether no other item moves by the class, and this one only to the end of its rule.
bool Closure::ends_only(std::span<const Item> items, const Item* item, uint32_t symbol_class) {
  if (!spend(items.size())) return false;
  for (const Item& i : items) {
    const auto moves = grammar_->moves(i.state, symbol_class);
    if (&i != item) {
      if (!moves.empty()) return false;
    } else if (moves.size() != 1 || (grammar_->flags(moves[0].target) & GrammarState::kLast) == 0) {
      return false;
    }
  }
  return true;
}

// One more text, unless what may follow is not the same behind it.
bool Closure::count_on(uint32_t loop, uint32_t* count) const {
  const GrammarLoop& bounds = grammar_->loop(loop);
  const uint32_t more = *count + 1;
  if (more == bounds.minimum || more >= bounds.maximum) return false;
  if (bounds.maximum != UINT32_MAX || more < bounds.minimum) *count = more;
  return true;
}

}  // namespace sotto
