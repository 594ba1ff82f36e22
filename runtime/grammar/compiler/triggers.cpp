// The automaton of Aho and Corasick ("Efficient string matching", CACM 1975) over code points:
// a state is the longest beginning of a trigger that the text ends in.
#include "runtime/grammar/compiler/triggers.h"

#include <algorithm>
#include <string_view>

#include "runtime/base/utf8.h"
#include "runtime/grammar/regex/automaton.h"

namespace sotto {
namespace {

class TriggerRules {
 public:
  // `active`: the rule that begins with trigger tokens, kNone: there are none.
  TriggerRules(uint32_t root, uint32_t active, GrammarBuilder& builder)
      : root_(root),
        active_(active),
        builder_(builder),
        workspace_(builder.workspace()),
        next_(workspace_),
        found_(workspace_),
        rules_(workspace_),
        letters_(workspace_) {}

  bool build(std::span<const std::string_view> texts, uint32_t* start) {
    CharacterAutomaton trie;
    if (!automaton_of_words(texts, workspace_, &trie)) return false;
    if (!complete(trie) || !letters_.resize(trie.class_count)) return false;
    for (const auto& range : trie.ranges) {
      if (range.kind != 0) letters_[range.kind] = range.first;
    }
    for (uint32_t state = 0; state < trie.state_count; ++state) {
      rules_.push(found_[state] != 0 ? root_ : builder_.anonymous_rule(kNone));
    }
    if (workspace_.exhausted()) return false;
    for (uint32_t state = 0; state < trie.state_count; ++state) {
      if (found_[state] == 0) builder_.define(rules_[state], body(state, trie.class_count), 0);
    }
    *start = rules_[0];
    return !workspace_.exhausted();
  }

 private:
  // Where the trie leads nowhere, the text goes on from the next shorter beginning of a trigger.
  bool complete(const CharacterAutomaton& trie) {
    const uint32_t classes = trie.class_count;
    const size_t cells = size_t{trie.state_count} * classes;
    GrowingArray<uint32_t> shorter(workspace_);  // by state
    GrowingArray<uint32_t> queue(workspace_);
    if (!next_.resize(cells) || !shorter.resize(trie.state_count) || !found_.resize(trie.state_count)) {
      return false;
    }
    queue.push(0);
    for (uint32_t i = 0; i < queue.size(); ++i) {
      const uint32_t state = queue[i];
      found_[state] = trie.accepts[state] | (state == 0 ? 0 : found_[shorter[state]]);
      for (uint32_t c = 0; c < classes; ++c) {
        const uint32_t other = state == 0 ? 0 : next_[shorter[state] * classes + c];
        const uint32_t target = trie.step(state, c);
        next_[state * classes + c] = target == CharacterAutomaton::kDead ? other : target;
        if (target == CharacterAutomaton::kDead) continue;
        shorter[target] = other;
        queue.push(target);
      }
      if (workspace_.exhausted()) return false;
    }
    return true;
  }

  uint32_t step(uint32_t characters, uint32_t rule) {
    GrammarBuilder::List list;
    builder_.append(list, characters);
    builder_.append(list, builder_.reference(rule));
    return builder_.sequence(list);
  }

  uint32_t body(uint32_t state, uint32_t class_count) {
    const uint32_t* next = &next_[size_t{state} * class_count];
    GrammarBuilder::List choices;
    builder_.append(choices, builder_.empty());
    for (uint32_t c = 1; c < class_count; ++c) {
      if (next[c] == 0) continue;
      const uint32_t begin = builder_.begin_intervals();
      builder_.add_interval({letters_[c], letters_[c]});
      append(choices, builder_.characters(begin, false), rules_[next[c]]);
    }
    const uint32_t begin = builder_.begin_intervals();
    for (uint32_t c = 1; c < class_count; ++c) {
      if (next[c] != 0) builder_.add_interval({letters_[c], letters_[c]});
    }
    append(choices, builder_.characters(begin, true), rules_[0]);
    if (active_ != kNone) builder_.append(choices, builder_.reference(active_));
    return builder_.choice(choices);
  }

  void append(GrammarBuilder::List& choices, uint32_t characters, uint32_t rule) {
    if (characters != kNone) builder_.append(choices, step(characters, rule));
  }

  const uint32_t root_;
  const uint32_t active_;
  GrammarBuilder& builder_;
  Workspace& workspace_;
  GrowingArray<uint32_t> next_;  // (state, class)
  GrowingArray<uint8_t> found_;  // by state: a trigger ends here
  GrowingArray<uint32_t> rules_;
  GrowingArray<uint32_t> letters_;  // by class; class 0 is all other characters
};

Status check_triggers(const Triggers& triggers, const Vocabulary* vocabulary, bool* by_text, Error* error) {
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
    return fail(error, Status::kInvalidArgument, "vocabulary is NULL, trigger_tokens need one");
  }
  *by_text = true;
  for (size_t i = 0; i < triggers.tokens.size(); ++i) {
    const auto token = static_cast<uint32_t>(triggers.tokens[i]);
    if (token >= vocabulary->token_count) {
      return fail(error, Status::kInvalidArgument, "trigger_tokens[", i, "] is not in the vocabulary");
    }
    if (vocabulary->token_bytes(token).empty()) continue;
    *by_text = false;
    if (triggers.texts.empty()) continue;
    return fail(error, Status::kGrammarUnsupported, "trigger_tokens[", i,
                "] has text: make that text one of the triggers, or leave them out");
  }
  return Status::kOk;
}

bool is_trigger(const Triggers& triggers, uint32_t token) {
  return std::find(triggers.tokens.begin(), triggers.tokens.end(), static_cast<int32_t>(token)) !=
         triggers.tokens.end();
}

// Any number of tokens with text that are no triggers, alone or before `active`.
uint32_t build_free_tokens(const Triggers& triggers, const Vocabulary& vocabulary, uint32_t active,
                           GrammarBuilder& builder) {
  const uint32_t begin = builder.begin_intervals();
  for (uint32_t token = 0; token < vocabulary.token_count; ++token) {
    if (vocabulary.token_bytes(token).empty() || is_trigger(triggers, token)) continue;
    builder.add_interval({token, token});
  }
  GrammarBuilder::List list;
  if (builder.begin_intervals() != begin) {
    builder.append(list, builder.repeat(builder.tokens(begin), 0, kUnbounded));
  }
  builder.append(list, builder.repeat(builder.reference(active), 0, 1));
  return builder.anonymous_rule(builder.sequence(list));
}

}  // namespace

Status build_triggers(const Triggers& triggers, const Vocabulary* vocabulary, uint32_t root, GrammarBuilder& builder,
                      uint32_t* start, Error* error) {
  bool by_text = true;
  SOTTO_TRY(check_triggers(triggers, vocabulary, &by_text, error));
  uint32_t active = kNone;
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
  if (!by_text) {
    *start = build_free_tokens(triggers, *vocabulary, active, builder);
    return Status::kOk;
  }
  Workspace& workspace = builder.workspace();
  auto* texts = workspace.take<std::string_view>(triggers.texts.size());
  if (texts == nullptr) return fail_too_large(error);
  for (size_t i = 0; i < triggers.texts.size(); ++i) {
    texts[i] = {triggers.texts[i].text, triggers.texts[i].size};
  }
  const bool fits = TriggerRules(root, active, builder).build({texts, triggers.texts.size()}, start);
  if (fits) return Status::kOk;
  return workspace.exhausted() ? fail_too_large(error)
                               : fail(error, Status::kGrammarTooLarge, "the triggers together are too large");
}

}  // namespace sotto
