// One step of the matcher: from the states that a byte or token leads to, everything that
// is reached without taking another one. Rules called here get new contexts, which may
// refer to each other; they are resolved together and stored.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/base/arena.h"
#include "runtime/grammar/automata/components.h"
#include "runtime/grammar/compiler/compiled_grammar.h"
#include "runtime/grammar/matcher/stack_store.h"

namespace sotto {

enum class StepResult : uint8_t {
  kDone,
  kStoreFull,   // collecting may help
  kTooComplex,  // the work space or the budget is used up
};

class StackStepper {
 public:
  // `slots`: for limits.work_count states, all free whenever no step is being made.
  void lay_out(Arena& arena, const CompiledGrammar& grammar, const MatcherLimits& limits, const SlotTable& slots);
  void init(const CompiledGrammar& grammar, StackStore& store);
  void set_budget(uint64_t budget) { budget_ = budget; }
  uint64_t budget() const { return budget_; }
  // False: used up.
  bool spend(uint64_t steps) {
    if (steps > budget_) return false;
    budget_ -= steps;
    return true;
  }

  // The configuration before the first byte.
  StepResult start(uint32_t* set);
  // The configuration after one more byte or token of a class; kDeadSet if there is none.
  StepResult step(uint32_t set, uint32_t symbol_class, uint32_t* next);
  // The configuration after the first `taken` bytes of a text, one at least: what lies between
  // is not stored.
  StepResult step_text(uint32_t set, std::span<const char> text, size_t* taken, uint32_t* next);
  // The same, as far as each byte is a text of the same loop: none need be.
  StepResult step_loop(uint32_t set, std::span<const char> text, size_t* taken, uint32_t* next);

 private:
  // A state in a context, or a marker: which pending context a rule has, whether a context
  // has been left.
  struct Entry {
    uint32_t state;
    uint32_t node;  // kPending | index: made in this step
    uint32_t pending;
    uint32_t slot;
  };
  // The context of a rule called in this step, or in an earlier one of the same text.
  struct Pending {
    uint32_t rule_start;
    uint32_t first_link;
    uint32_t group;
  };
  // What leads to it: a frame, or with kTailState all frames of the node that is its parent.
  struct Link {
    PlainFrame frame;
    uint32_t next;

    bool is_tail() const { return frame.state == kTailState; }
  };
  struct LinkCount {
    uint32_t loop;
    uint32_t count;
  };
  // Pending contexts with the same frames.
  struct Group {
    uint32_t rule_start;  // the lowest
    uint32_t first_frame;
    uint32_t frame_count;
    uint32_t node;  // once it is stored
    uint32_t member;
  };

  static constexpr uint32_t kPending = kInternal;
  static constexpr uint32_t kPendingMarker = UINT32_MAX;  // as a node
  static constexpr uint32_t kLeftMarker = UINT32_MAX;     // as a state
  static constexpr uint32_t kTailState = UINT32_MAX;
  static constexpr uint32_t kEmpty = UINT32_MAX;
  static constexpr uint32_t kFewEntries = 8;  // not in slots: they are soon looked through
  static constexpr uint32_t kFewStates = 16;  // kept from one byte of a text to the next

  // closure.cpp: what is reached
  void begin();
  void begin_step();
  StepResult take_text(uint32_t set, std::span<const char> text, size_t* taken, uint32_t* next);
  void advance(std::span<const State> states, uint32_t symbol_class);
  bool take_moves(std::span<const State> states, uint32_t symbol_class);
  void reach();
  StepResult store(uint32_t* set);
  bool is_new(uint32_t node) const { return (node & kPending) != 0 && node - kPending >= first_new_; }
  Entry* find_or_add(uint32_t state, uint32_t node, bool* is_new);
  uint32_t slot_of(uint32_t state, uint32_t node) const;
  void fill_slots();
  void add(uint32_t state, uint32_t node);
  void process(const Entry& entry);
  void call(const GrammarCall& call, uint32_t node);
  void add_left(uint32_t node);
  void leave(uint32_t node);
  void leave_pending(const Pending& pending);
  void return_to(const StackFrame& frame);
  uint32_t pending_for(uint32_t rule_start);
  void link(uint32_t pending, const StackFrame& frame);
  StackFrame frame_of(uint32_t link) const;
  StepResult store_set(uint32_t* set);

  // closure_repeats.cpp: texts of loops that are one byte
  bool is_repeat() const;
  bool is_repeat(const State& top) const;
  void repeat(std::span<const char> text, size_t* taken);
  const State* counting_state(std::span<const State> states) const;
  bool ends_only(std::span<const State> states, const State* top, uint32_t symbol_class);
  bool count_on(uint32_t loop, uint32_t* count) const;

  // closure_contexts.cpp: the new contexts
  StepResult store_contexts();
  void drop_unreachable();
  bool is_in_order() const;
  StepResult store_in_order();
  StepResult store_pending(const Pending& pending, uint32_t* node);
  uint32_t parent_of(const Link& link) const;
  bool group_pending();
  bool collect_group(uint32_t group);
  bool add_frames(FrameSpan frames);
  bool add_frame(const StackFrame& frame);
  uint32_t normalize(uint32_t first, uint32_t count);
  uint32_t drop_dominated(uint32_t first, uint32_t count);
  StepResult store_groups();
  StepResult store_single(uint32_t group);
  StepResult store_component(std::span<const uint32_t> members);
  bool equals_known_component(std::span<const uint32_t> members, uint32_t* first);
  bool same_under(std::span<const uint32_t> members, uint32_t known);
  void fail(StepResult result) {
    if (result_ == StepResult::kDone) result_ = result;
  }

  const CompiledGrammar* grammar_ = nullptr;
  StackStore* store_ = nullptr;
  uint64_t budget_ = UINT64_MAX;
  StepResult result_ = StepResult::kDone;
  uint8_t flags_ = 0;
  bool is_unknown_ = false;  // a context that was cut off has been left
  State ended_ = {};         // the only one that moved, if that ended its rule: state 0 if not
  uint32_t work_capacity_ = 0;
  uint32_t pending_capacity_ = 0;
  uint32_t link_capacity_ = 0;
  uint32_t frame_capacity_ = 0;
  uint32_t entry_count_ = 0;
  uint32_t state_count_ = 0;
  uint32_t pending_count_ = 0;
  uint32_t first_new_ = 0;  // of the pending contexts: made by the newest byte
  uint32_t link_count_ = 0;
  uint32_t group_count_ = 0;
  uint32_t frame_count_ = 0;
  Entry* entries_ = nullptr;
  SlotTable slots_;  // entry + 1 by hash
  State* states_ = nullptr;
  State* kept_ = nullptr;
  Pending* pending_ = nullptr;
  Link* links_ = nullptr;
  LinkCount* link_counts_ = nullptr;  // null in grammars without loops
  Group* groups_ = nullptr;
  FrameArray frames_;
  uint32_t* members_ = nullptr;  // groups by component
  uint32_t* ends_ = nullptr;
  Components components_;
};

}  // namespace sotto
