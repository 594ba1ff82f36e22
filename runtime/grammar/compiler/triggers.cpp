#include "runtime/grammar/compiler/triggers.h"

#include <algorithm>

#include "runtime/base/aho_corasick.h"
#include "runtime/base/range_check.h"
#include "runtime/base/sort.h"
#include "runtime/base/utf8.h"

namespace sotto {
namespace {

// Free text as rules, with one rule per state of the Aho-Corasick automaton of the stops. The rule of a state reads a
// character and continues with the rule of the next state. At the end of a stop it continues with the stop's rule.
class FreeTextRules {
 public:
  // `active` is the rule that begins with trigger tokens, or kNoIndex if there are none.
  FreeTextRules(bool may_end, uint32_t active, GrammarBuilder& builder)
      : may_end_(may_end),
        active_(active),
        builder_(builder),
        workspace_(builder.workspace()),
        rules_(workspace_),
        letters_(workspace_) {}

  Status build(std::span<const Stop> stops, uint32_t* start, Error* error) {
    if (!build_automaton(stops)) return fail_too_large(error);
    set_rules(stops);
    sort_numbers(letters_.begin(), letters_.end());
    letters_.truncate(static_cast<size_t>(std::unique(letters_.begin(), letters_.end()) - letters_.begin()));
    const auto count = static_cast<uint32_t>(automaton_.state_count());
    if (workspace_.exhausted()) return fail_too_large(error);
    if (uint64_t{count} * letters_.size() > kMaxSteps) {
      return fail(error, Status::kGrammarTooLarge, "the triggers and the end of a tag have ", count, " prefixes and ",
                  letters_.size(), " different characters; the product must be at most ", kMaxSteps);
    }
    for (uint32_t state = 0; state < count; ++state) {
      if (automaton_.matched(state) == 0) builder_.define(rules_[state], body(state), 0);
    }
    *start = rules_[0];
    return workspace_.exhausted() ? fail_too_large(error) : Status::kOk;
  }

 private:
  using Automaton = AhoCorasick<uint32_t, uint32_t>;
  static constexpr uint32_t kMaxSteps = 8000000;  // limits the time of building

  // Builds the automaton over the code points of the stops.
  bool build_automaton(std::span<const Stop> stops) {
    size_t bytes = 0;
    for (const Stop& stop : stops) bytes += stop.text.size();
    auto* memory = workspace_.take<uint8_t>(Automaton::memory_size(bytes));
    if (memory == nullptr) return false;
    automaton_.init(memory);
    for (const Stop& stop : stops) {
      const uint32_t begin = letters_.size();
      for (size_t at = 0; at < stop.text.size();) {
        const Utf8Character character = decode_utf8(stop.text.data() + at, stop.text.size() - at);
        letters_.push(character.code_point);
        at += character.size;
      }
      if (workspace_.exhausted()) return false;
      automaton_.insert(letters_.span(begin, letters_.size() - begin));
    }
    automaton_.link();
    return true;
  }

  // Gives every state its rule. At the end of several stops, the longest one counts.
  void set_rules(std::span<const Stop> stops) {
    const auto count = static_cast<uint32_t>(automaton_.state_count());
    for (uint32_t state = 0; state < count; ++state) {
      rules_.push(automaton_.matched(state) != 0 ? kNoIndex : builder_.anonymous_rule(kNoIndex));
    }
    if (workspace_.exhausted()) return;
    for (const uint32_t rule : rules_.span()) {
      if (rule != kNoIndex) builder_.prefer_literals(rule);
    }
    for (const Stop& stop : stops) {
      uint32_t state = 0;
      for (size_t at = 0; at < stop.text.size();) {
        const Utf8Character character = decode_utf8(stop.text.data() + at, stop.text.size() - at);
        state = automaton_.step(state, character.code_point);
        at += character.size;
      }
      rules_[state] = stop.rule;
    }
    for (uint32_t state = 0; state < count; ++state) {
      if (automaton_.matched(state) != 0) rules_[state] = rules_[automaton_.match(state)];
    }
  }

  uint32_t step(uint32_t characters, uint32_t rule) {
    GrammarBuilder::List list;
    builder_.append(list, characters);
    builder_.append(list, builder_.reference(rule));
    return builder_.sequence(list);
  }

  // Returns the body of a state's rule. The text may end in every state or in none. A character leads to the rule of
  // the next state, which is the first state if the character continues no stop.
  uint32_t body(uint32_t state) {
    GrammarBuilder::List choices;
    if (may_end_) builder_.append(choices, builder_.empty());
    for (const uint32_t letter : letters_.span()) {
      const uint32_t next = automaton_.step(state, letter);
      if (next == 0) continue;
      const uint32_t begin = builder_.begin_intervals();
      builder_.add_interval({letter, letter});
      append(choices, builder_.characters(begin, false), rules_[next]);
    }
    const uint32_t begin = builder_.begin_intervals();
    for (const uint32_t letter : letters_.span()) {
      if (automaton_.step(state, letter) != 0) builder_.add_interval({letter, letter});
    }
    append(choices, builder_.characters(begin, true), rules_[0]);
    if (active_ != kNoIndex) builder_.append(choices, builder_.reference(active_));
    return builder_.choice(choices);
  }

  void append(GrammarBuilder::List& choices, uint32_t characters, uint32_t rule) {
    if (characters != kNoIndex) builder_.append(choices, step(characters, rule));
  }

  const bool may_end_;
  const uint32_t active_;
  GrammarBuilder& builder_;
  Workspace& workspace_;
  Automaton automaton_;
  GrowingArray<uint32_t> rules_;    // rule of each state
  GrowingArray<uint32_t> letters_;  // code points of the stops
};

Status check_triggers(const Triggers& triggers, const Vocabulary* vocabulary, Error* error) {
  for (size_t i = 0; i < triggers.texts.size(); ++i) {
    const TextView& text = triggers.texts[i];
    const char* wrong = nullptr;
    if (text.size == 0 || text.text == nullptr) {
      wrong = "] is empty";
    } else if (find_invalid_utf8({text.text, text.size}) != text.size) {
      wrong = "] is not UTF-8";
    }
    if (wrong != nullptr) return fail(error, Status::kInvalidArgument, "triggers[", i, wrong);
  }
  if (!triggers.tokens.empty() && vocabulary == nullptr) {
    return fail(error, Status::kInvalidArgument, "vocabulary is NULL; trigger_tokens need one");
  }
  if (vocabulary != nullptr) {
    SOTTO_TRY(check_tokens("trigger_tokens", triggers.tokens, vocabulary->token_count, error));
  }
  return Status::kOk;
}

}  // namespace

Status build_triggers(const Triggers& triggers, const Vocabulary* vocabulary, uint32_t root, GrammarBuilder& builder,
                      uint32_t* start, Error* error) {
  SOTTO_TRY(check_triggers(triggers, vocabulary, error));
  uint32_t active = kNoIndex;
  if (!triggers.tokens.empty()) {
    const uint32_t begin = builder.begin_intervals();
    for (const int32_t token : triggers.tokens) {
      builder.add_interval({static_cast<uint32_t>(token), static_cast<uint32_t>(token)});
    }
    GrammarBuilder::List list;
    builder.append(list, builder.tokens(begin));
    builder.append(list, builder.reference(root));
    active = builder.anonymous_rule(builder.sequence(list));
  }
  GrowingArray<Stop> stops(builder.workspace());
  for (const TextView& text : triggers.texts) stops.push({{text.text, text.size}, root});
  return FreeTextRules(true, active, builder).build(stops.span(), start, error);
}

Status build_free_text(std::span<const Stop> stops, bool may_end, GrammarBuilder& builder, uint32_t* start,
                       Error* error) {
  return FreeTextRules(may_end, kNoIndex, builder).build(stops, start, error);
}

}  // namespace sotto
