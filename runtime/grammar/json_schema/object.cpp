// Objects: the properties in any order, or in that of the schema and followed by other properties.
#include <algorithm>

#include "runtime/grammar/json_schema/compiler.h"

namespace sotto {
namespace {

// Limits beyond which a schema is rejected: rules and names per object, and properties that must violate a condition.
constexpr uint32_t kMaxObjectStates = 40000;
constexpr uint32_t kMaxProperties = 4096;
constexpr uint32_t kMaxViolations = 4;
// Number of names per rule, so that states share the chain of names that follows.
constexpr uint32_t kRunLength = 32;

constexpr char kNamesTooLarge[] = "the names of properties are too large to be combined";

class ObjectBuilder {
 public:
  ObjectBuilder(SchemaCompiler& compiler, std::span<const Literal> atoms)
      : compiler_(compiler),
        schema_(compiler.schema()),
        document_(schema_.document()),
        builder_(compiler.builder()),
        json_(compiler.json()),
        atoms_(atoms),
        groups_(schema_.workspace()),
        names_(schema_.workspace()),
        mentioned_(schema_.workspace()),
        literals_(schema_.workspace()),
        violations_(schema_.workspace()),
        pending_(schema_.workspace()) {}

  // Builds the objects that satisfy all atoms, or returns kNoIndex if there are none.
  Status build(uint32_t* expression);

 private:
  // A condition that some property must violate: kSomeMatching, kSomeOther, kSomeName or kSomeUnlisted.
  struct Violation {
    Literal atom;
    CharacterAutomaton names;  // names of the properties that may violate it
  };
  // A name that the schema mentions.
  struct Name {
    std::string_view text;
    bool required;
    bool absent;
    uint32_t pair;  // rule of "name":value
  };
  // A state of the chain of pairs: the next name, the number of pairs so far, and the violations so far. A violation by
  // a name that the schema mentions is `safe`, because no later pair can undo it.
  struct PendingState {
    uint32_t position;
    uint32_t count;
    uint32_t violated;
    uint32_t safe;
  };

  Status read_atoms();
  Status read_names();
  void mention(std::string_view text, bool required, bool absent);
  Status intersect_names(const CharacterAutomaton& names, bool negated, uint32_t node);
  Status collect(std::string_view name, bool* allowed);
  void add_additional(uint32_t group, bool* allowed);
  Status read_violation(const Literal& atom);
  bool is_by_name(const Violation& violation) const;
  uint32_t violations_of(std::string_view name) const;
  void add_violations(uint32_t violated);
  uint32_t others(uint32_t before, uint32_t violated);
  Status build_others(uint32_t violated, uint32_t avoided, uint32_t* others);
  Status append_others(const CharacterAutomaton* names, std::span<const uint32_t> patterns, uint32_t matched,
                       uint32_t violated, uint32_t* others);
  Status build_content(uint32_t* content);
  bool is_set();
  uint32_t set();
  uint32_t state(uint32_t position, uint32_t count, uint32_t violated, uint32_t safe);
  uint32_t named_pair(const Name& name, uint32_t violated);
  uint32_t tail(uint32_t count);
  uint32_t violating_tail(uint32_t count, uint32_t violated, uint32_t safe);
  uint32_t& rule(const PendingState& pending);
  uint32_t reference(const PendingState& pending);
  uint32_t pair(uint32_t rule, uint32_t count);

  SchemaCompiler& compiler_;
  const Schema& schema_;
  const JsonDocument& document_;
  GrammarBuilder& builder_;
  JsonGrammar& json_;
  std::span<const Literal> atoms_;
  GrowingArray<uint32_t> groups_;
  GrowingArray<Name> names_;                  // names that may be present
  GrowingArray<std::string_view> mentioned_;  // all names that the schema mentions
  GrowingArray<Literal> literals_;
  GrowingArray<Violation> violations_;
  GrowingArray<PendingState> pending_;  // states whose rules have not been written yet
  uint32_t* rules_ = nullptr;           // (position, count, violated) and, after all names, (count, safe, violated)
  uint32_t last_count_ = 1;
  uint32_t required_ = 0;
  uint32_t minimum_ = 0;
  uint32_t maximum_ = kUnbounded;
  uint32_t counting_ = kNoIndex;  // the node of minProperties, if properties are counted for it
  // others_[violated][avoided]: the rule of a pair with a name that the schema does not mention. The pair causes the
  // violations in `violated`, and its name cannot cause those in `avoided`. kNoIndex if there is none; kNotBuilt at
  // first.
  static constexpr uint32_t kNotBuilt = kNoIndex - 1;
  uint32_t others_[1 << kMaxViolations][1 << kMaxViolations];
  Status status_ = Status::kOk;  // failure of a function that returns an expression
  bool restricted_ = false;
  CharacterAutomaton allowed_;  // automaton of the allowed names, if they are restricted
};

Status ObjectBuilder::build(uint32_t* expression) {
  *expression = kNoIndex;
  SOTTO_TRY(read_atoms());
  SOTTO_TRY(read_names());
  bool possible = true;
  uint32_t kept = 0;
  required_ = 0;
  for (const Name& name : names_.span()) mentioned_.push(name.text);
  for (uint32_t i = 0; i < names_.size(); ++i) {
    Name name = names_[i];
    bool allowed = false;
    SOTTO_TRY(collect(name.text, &allowed));
    allowed = allowed && !name.absent && compiler_.normalize(literals_) != SchemaCompiler::Goal::kNever;
    if (!allowed) {
      possible = possible && !name.required;
      continue;
    }
    name.pair = compiler_.pair(name.text, compiler_.value(literals_));
    if (name.required) ++required_;
    names_[kept++] = name;
  }
  if (!possible) return schema_.check_limits();
  names_.truncate(kept);
  std::fill_n(&others_[0][0], sizeof others_ / sizeof others_[0][0], kNotBuilt);
  uint32_t content = kNoIndex;
  SOTTO_TRY(build_content(&content));
  if (content != kNoIndex) *expression = json_.container('{', content);
  return schema_.check_limits();
}

// Collects the groups of properties, the limits on their number and the names that propertyNames allows.
Status ObjectBuilder::read_atoms() {
  for (const Literal& atom : atoms_) {
    if (atom.kind == LiteralKind::kGroup) groups_.push(atom.node);
    if (atom.kind >= LiteralKind::kSomeMatching) SOTTO_TRY(read_violation(atom));
    if (atom.kind != LiteralKind::kKeyword) continue;
    const Keyword keyword = schema_.keyword(atom.node);
    if (keyword == Keyword::kPropertyNames) {
      CharacterAutomaton names;
      SOTTO_TRY(names_automaton(compiler_, atom.node, &names));
      SOTTO_TRY(intersect_names(names, false, atom.node));
      continue;
    }
    uint32_t count = 0;
    SOTTO_TRY(schema_.count_of(atom.node, &count));
    if (keyword == Keyword::kMinProperties && !atom.negated) minimum_ = std::max(minimum_, count);
    if (keyword == Keyword::kMaxProperties && !atom.negated) maximum_ = std::min(maximum_, count);
    if (keyword == Keyword::kMaxProperties && atom.negated) minimum_ = std::max(minimum_, count + 1);
    if (keyword == Keyword::kMinProperties && atom.negated) {
      maximum_ = count == 0 ? 0 : std::min(maximum_, count - 1);
      if (count == 0) minimum_ = 1;
    }
    if (keyword == Keyword::kMinProperties && !atom.negated) counting_ = atom.node;
  }
  return Status::kOk;
}

Status ObjectBuilder::intersect_names(const CharacterAutomaton& names, bool negated, uint32_t node) {
  CharacterAutomaton result;
  const CharacterAutomaton& self = restricted_ ? allowed_ : names;
  SOTTO_TRY(schema_.check_combined(
      intersect_automata(self, !restricted_ && negated, names, negated, schema_.workspace(), &result), node,
      kNamesTooLarge));
  allowed_ = result;
  restricted_ = true;
  return Status::kOk;
}

void ObjectBuilder::mention(std::string_view text, bool required, bool absent) {
  schema_.spend(names_.size());
  for (uint32_t i = 0; i < names_.size(); ++i) {
    if (names_[i].text != text) continue;
    names_[i].required = names_[i].required || required;
    names_[i].absent = names_[i].absent || absent;
    return;
  }
  names_.push({text, required, absent, kNoIndex});
}

// Collects all names that the atoms mention, and whether they are required or must be absent.
Status ObjectBuilder::read_names() {
  for (const Literal& atom : atoms_) {
    uint32_t members = kNoIndex;
    if (atom.kind == LiteralKind::kEquals) members = atom.node;
    if (atom.kind == LiteralKind::kGroup) members = schema_.assertion(atom.node, Keyword::kProperties);
    if (members == kNoIndex) continue;
    if (document_.kind(members) != JsonKind::kObject) return schema_.reject(members, "must be an object");
    const uint32_t count = document_[members].count;
    if (count > kMaxProperties) {
      return schema_.unsupported_count(members, "too many properties", count, kMaxProperties);
    }
    const bool required = atom.kind == LiteralKind::kEquals;
    for (const uint32_t m : document_.children(members)) {
      SOTTO_TRY(schema_.check_limits());
      mention(document_.name(m), required, false);
    }
  }
  for (const Literal& atom : atoms_) {
    SOTTO_TRY(schema_.check_limits());
    const bool is_value = atom.kind == LiteralKind::kProperty || atom.kind == LiteralKind::kSameMember;
    if (is_value) mention(document_.name(atom.node), false, false);
    if (atom.kind != LiteralKind::kPresent && atom.kind != LiteralKind::kNamed) continue;
    mention(name_of(document_, atom), !atom.negated, atom.negated);
  }
  return schema_.check_limits();
}

// Collects the conditions on a property of this name.
Status ObjectBuilder::collect(std::string_view name, bool* allowed) {
  literals_.truncate(0);
  *allowed = !restricted_ || allowed_.matches(name);
  for (const Literal& atom : atoms_) {
    if (atom.kind == LiteralKind::kEquals) {
      const uint32_t value = document_.member(atom.node, name);
      if (value == kNoIndex) *allowed = false;
      if (value != kNoIndex) literals_.push({value, LiteralKind::kEquals, false});
    } else if (atom.kind == LiteralKind::kProperty && document_.name(atom.node) == name) {
      literals_.push({atom.node, LiteralKind::kSchema, atom.negated});
    } else if (atom.kind == LiteralKind::kSameMember && document_.name(atom.node) == name) {
      literals_.push({atom.node, LiteralKind::kEquals, atom.negated});
    } else if (atom.kind == LiteralKind::kGroup) {
      const uint32_t properties = schema_.assertion(atom.node, Keyword::kProperties);
      const uint32_t own = document_.member(properties, name);
      bool matched = own != kNoIndex;
      if (matched) literals_.push({own, LiteralKind::kSchema, false});
      const uint32_t patterns = schema_.assertion(atom.node, Keyword::kPatternProperties);
      if (patterns != kNoIndex && document_.kind(patterns) != JsonKind::kObject) {
        return schema_.reject(patterns, "must be an object");
      }
      for (const uint32_t p : document_.children(patterns)) {
        CharacterAutomaton automaton;
        SOTTO_TRY(compiler_.patterns().automaton(p, &automaton));
        if (!automaton.matches(name)) continue;
        literals_.push({p, LiteralKind::kSchema, false});
        matched = true;
      }
      if (!matched) add_additional(atom.node, allowed);
    }
  }
  return schema_.check_limits();
}

void ObjectBuilder::add_additional(uint32_t group, bool* allowed) {
  const uint32_t additional = schema_.additional_of(group);
  if (additional != kNoIndex) {
    literals_.push({additional, LiteralKind::kSchema, false});
  } else if (schema_.options().forbid_additional) {
    *allowed = false;
  }
}

// Finds the names of the properties that may violate a condition.
Status ObjectBuilder::read_violation(const Literal& atom) {
  if (violations_.size() == kMaxViolations) {
    return schema_.unsupported(atom.node, "too many negations of keywords about properties");
  }
  Workspace& workspace = schema_.workspace();
  Violation violation{atom, {}};
  bool fits = true;
  if (atom.kind == LiteralKind::kSomeMatching) {
    SOTTO_TRY(compiler_.patterns().automaton(atom.node, &violation.names));
  } else if (atom.kind == LiteralKind::kSomeName) {
    CharacterAutomaton allowed;
    SOTTO_TRY(names_automaton(compiler_, atom.node, &allowed));
    fits = intersect_automata(allowed, true, allowed, true, workspace, &violation.names);
  } else {
    const bool is_value = atom.kind == LiteralKind::kSomeUnlisted;
    const uint32_t schema = is_value ? kNoIndex : document_[atom.node].parent;
    GrowingArray<std::string_view> names(workspace);
    for (const uint32_t p :
         document_.children(is_value ? atom.node : schema_.assertion(schema, Keyword::kProperties))) {
      names.push(document_.name(p));
    }
    CharacterAutomaton others;
    fits = automaton_of_words(names.span(), workspace, &others) &&
           intersect_automata(others, true, others, true, workspace, &violation.names);
    const uint32_t patterns = is_value ? kNoIndex : schema_.assertion(schema, Keyword::kPatternProperties);
    for (const uint32_t p : document_.children(patterns)) {
      CharacterAutomaton pattern;
      SOTTO_TRY(compiler_.patterns().automaton(p, &pattern));
      others = violation.names;
      fits = fits && intersect_automata(others, false, pattern, true, workspace, &violation.names);
    }
  }
  violations_.push(violation);
  SOTTO_TRY(schema_.check_combined(fits, atom.node, kNamesTooLarge));
  return schema_.check_limits();
}

// Returns whether a property violates the condition with every value.
bool ObjectBuilder::is_by_name(const Violation& violation) const {
  return violation.atom.kind >= LiteralKind::kSomeName || document_.kind(violation.atom.node) == JsonKind::kFalse;
}

// Returns the violations that a property of this name may cause.
uint32_t ObjectBuilder::violations_of(std::string_view name) const {
  uint32_t violated = 0;
  for (uint32_t i = 0; i < violations_.size(); ++i) {
    if (violations_[i].names.matches(name)) violated |= 1u << i;
  }
  return violated;
}

// Adds the conditions on the value of a property that causes the violations.
void ObjectBuilder::add_violations(uint32_t violated) {
  for (uint32_t i = 0; i < violations_.size(); ++i) {
    const bool is_needed = (violated >> i & 1) != 0 && !is_by_name(violations_[i]);
    if (is_needed) literals_.push({violations_[i].atom.node, LiteralKind::kSchema, true});
  }
}

// Returns the rule of a pair with a name that the schema does not mention. Earlier such pairs have caused the
// violations `before`, and this pair causes the violations `violated`. Returns kNoIndex if there is no such pair. Of
// several members with the same name, the last one counts. The name must therefore differ from that of a pair with a
// value that caused a violation, unless this pair causes the violation too.
uint32_t ObjectBuilder::others(uint32_t before, uint32_t violated) {
  uint32_t avoided = 0;
  for (uint32_t i = 0; i < violations_.size(); ++i) {
    const bool could_undo = !is_by_name(violations_[i]) && !schema_.options().assume_distinct_names;
    if (could_undo) avoided |= before & ~violated & 1u << i;
  }
  uint32_t& rule = others_[violated][avoided];
  if (rule != kNotBuilt) return rule;
  uint32_t others = kNoIndex;
  const Status status = build_others(violated, avoided, &others);
  if (status != Status::kOk) status_ = status;
  rule = others == kNoIndex ? kNoIndex : builder_.anonymous_rule(others);
  return rule;
}

// Builds the pairs whose names the schema does not mention: a choice over the sets of patterns that such a name can
// match. The pairs cause the violations `violated`, and their names cannot cause those in `avoided`.
Status ObjectBuilder::build_others(uint32_t violated, uint32_t avoided, uint32_t* others) {
  for (const Literal& atom : atoms_) {
    if (atom.kind == LiteralKind::kEquals) return Status::kOk;
  }
  GrowingArray<uint32_t> patterns(schema_.workspace());
  for (const uint32_t group : groups_.span()) {
    const uint32_t own = schema_.assertion(group, Keyword::kPatternProperties);
    for (const uint32_t p : document_.children(own)) patterns.push(p);
  }
  if (patterns.size() > 16) return schema_.unsupported(patterns[16], "too many patterns for names");
  if (patterns.empty() && !restricted_ && mentioned_.empty() && (violated | avoided) == 0) {
    return append_others(nullptr, {}, 0, 0, others);
  }
  // If no other restriction applies, these names need not be distinguished.
  bool none = patterns.empty();
  literals_.truncate(0);
  bool open = true;
  for (const uint32_t group : groups_.span()) add_additional(group, &open);
  none = none && (!open || compiler_.normalize(literals_) == SchemaCompiler::Goal::kNever);
  if (none) return Status::kOk;
  CharacterAutomaton named;
  SOTTO_TRY(schema_.check_combined(automaton_of_words(mentioned_.span(), schema_.workspace(), &named), atoms_[0].node,
                                   kNamesTooLarge));
  SOTTO_TRY(intersect_names(named, true, atoms_[0].node));
  struct Part {
    CharacterAutomaton names;
    uint32_t matched;
  };
  GrowingArray<Part> parts(schema_.workspace());
  parts.push({allowed_, 0});
  for (uint32_t i = 0; i < violations_.size(); ++i) {
    if (((violated | avoided) >> i & 1) == 0) continue;
    const CharacterAutomaton names = parts[0].names;
    const bool is_avoided = (avoided >> i & 1) != 0;
    SOTTO_TRY(schema_.check_combined(
        intersect_automata(names, false, violations_[i].names, is_avoided, schema_.workspace(), &parts[0].names),
        violations_[i].atom.node, kNamesTooLarge));
  }
  for (uint32_t i = 0; i < patterns.size(); ++i) {
    CharacterAutomaton pattern;
    SOTTO_TRY(compiler_.patterns().automaton(patterns[i], &pattern));
    for (uint32_t j = 0, count = parts.size(); j < count; ++j) {
      Part inside = parts[j];
      Part outside = parts[j];
      inside.matched |= 1u << i;
      SOTTO_TRY(schema_.check_combined(
          intersect_automata(parts[j].names, false, pattern, false, schema_.workspace(), &inside.names) &&
              intersect_automata(parts[j].names, false, pattern, true, schema_.workspace(), &outside.names),
          patterns[i], "the patterns of names are too large to be combined"));
      parts[j] = outside;
      if (inside.names.state_count > 0) parts.push(inside);
    }
    if (parts.size() > 64) return schema_.unsupported(patterns[i], "too many patterns overlap");
  }
  for (uint32_t i = 0; i < parts.size(); ++i) {
    const Part part = parts[i];
    if (part.names.state_count == 0) continue;
    uint32_t choice = *others;
    SOTTO_TRY(append_others(&part.names, patterns.span(), part.matched, violated, &choice));
    *others = choice;
  }
  return schema_.check_limits();
}

// Adds the pairs whose names match exactly these patterns to the choice.
Status ObjectBuilder::append_others(const CharacterAutomaton* names, std::span<const uint32_t> patterns,
                                    uint32_t matched, uint32_t violated, uint32_t* others) {
  literals_.truncate(0);
  add_violations(violated);
  bool allowed = true;
  for (const uint32_t group : groups_.span()) {
    const uint32_t own = schema_.assertion(group, Keyword::kPatternProperties);
    bool any = false;
    for (uint32_t i = 0; i < patterns.size(); ++i) {
      if ((matched >> i & 1) == 0 || document_[patterns[i]].parent != own) continue;
      literals_.push({patterns[i], LiteralKind::kSchema, false});
      any = true;
    }
    if (!any) add_additional(group, &allowed);
  }
  if (!allowed || compiler_.normalize(literals_) == SchemaCompiler::Goal::kNever) return Status::kOk;
  const uint32_t key =
      names == nullptr ? json_.any(JsonType::kString) : json_.quoted(json_.characters().automaton(*names));
  const uint32_t colon = json_.colon();
  const uint32_t pair = json_.sequence(key, colon, compiler_.value(literals_));
  GrammarBuilder::List choices;
  if (*others != kNoIndex) builder_.append(choices, *others);
  builder_.append(choices, json_.item(pair));
  *others = builder_.choice(choices);
  return Status::kOk;
}

// Builds the chain of pairs, with a rule per state. In a state, the number of pairs saturates where it no longer
// matters.
Status ObjectBuilder::build_content(uint32_t* content) {
  const auto count = names_.size();
  const bool is_closed = others(0, 0) == kNoIndex;
  if (is_closed && minimum_ > count) return Status::kOk;
  if (is_closed && maximum_ >= count) maximum_ = kUnbounded;
  if (minimum_ <= std::max(required_, violations_.empty() ? 0u : 1u)) minimum_ = 0;
  if (required_ > maximum_ || minimum_ > maximum_) return Status::kOk;
  if (!is_closed && minimum_ > required_ + 1 && !schema_.options().assume_distinct_names) {
    return schema_.unsupported(counting_ == kNoIndex ? atoms_[0].node : counting_,
                               "not supported where names that the schema does not list could repeat");
  }
  if (is_set()) {
    *content = set();
    return Status::kOk;
  }
  last_count_ = maximum_ != kUnbounded ? maximum_ : std::max(1u, minimum_);
  const uint32_t last_states = 1u << 2 * violations_.size();
  const uint64_t states = (last_count_ + 1ull) * ((uint64_t{count} << violations_.size()) + last_states);
  if (states > kMaxObjectStates) return schema_.unsupported(atoms_[0].node, "too many properties to count");
  rules_ = schema_.workspace().take<uint32_t>(static_cast<size_t>(states));
  if (rules_ == nullptr) return schema_.check_limits();
  std::fill_n(rules_, states, kNoIndex);
  *content = state(0, 0, 0, 0);
  for (uint32_t i = 0; i < pending_.size(); ++i) {
    SOTTO_TRY(schema_.check_limits());
    const PendingState pending = pending_[i];
    SOTTO_TRY(status_);
    builder_.define(rule(pending), state(pending.position, pending.count, pending.violated, pending.safe), 0);
  }
  return status_;
}

// Returns whether the pairs may come in any order, as they may unless they are counted or one must violate a condition.
bool ObjectBuilder::is_set() {
  const bool several = violations_.empty() && names_.size() + (others(0, 0) == kNoIndex ? 0 : 1) > 1;
  return !schema_.options().schema_order && several && names_.size() <= kMaxSingleMembers && minimum_ <= 1 &&
         maximum_ == kUnbounded;
}

// Builds the pairs in any order.
uint32_t ObjectBuilder::set() {
  GrowingArray<SetMember> members(schema_.workspace());
  const auto add = [&](uint32_t rule, uint32_t minimum, uint32_t maximum) {
    members.push({rule, builder_.anonymous_rule(pair(rule, 1)), minimum, maximum});
  };
  for (const Name& name : names_.span()) add(name.pair, name.required ? 1 : 0, 1);
  if (others(0, 0) != kNoIndex) add(others(0, 0), 0, kUnbounded);
  const uint32_t pairs = builder_.any_order(members.span());
  return required_ == 0 && minimum_ == 0 ? builder_.repeat(pairs, 0, 1) : pairs;
}

uint32_t& ObjectBuilder::rule(const PendingState& pending) {
  const uint32_t bits = violations_.size();
  const uint32_t row = pending.position * (last_count_ + 1);
  if (pending.position < names_.size()) return rules_[(row + pending.count) << bits | pending.violated];
  return rules_[(row << bits) + (((pending.count << bits) + pending.safe) << bits | pending.violated)];
}

uint32_t ObjectBuilder::reference(const PendingState& pending) {
  uint32_t& rule = this->rule(pending);
  if (rule == kNoIndex) {
    rule = builder_.anonymous_rule(kNoIndex);
    pending_.push(pending);
  }
  return builder_.reference(rule);
}

uint32_t ObjectBuilder::pair(uint32_t rule, uint32_t count) {
  if (count == 0) return builder_.reference(rule);
  const uint32_t comma = json_.comma();
  return json_.sequence(comma, builder_.reference(rule));
}

// Returns the rule of the pair of a name that causes violations, or kNoIndex if there is none.
uint32_t ObjectBuilder::named_pair(const Name& name, uint32_t violated) {
  if (violated == 0) return name.pair;
  bool allowed = false;
  const Status status = collect(name.text, &allowed);
  if (status != Status::kOk) status_ = status;
  add_violations(violated);
  if (compiler_.normalize(literals_) == SchemaCompiler::Goal::kNever) return kNoIndex;
  return compiler_.pair(name.text, compiler_.value(literals_));
}

// Builds the continuation after `count` pairs that have caused the violations, starting with the name at `position`.
uint32_t ObjectBuilder::state(uint32_t position, uint32_t count, uint32_t violated, uint32_t safe) {
  const bool limited = maximum_ != kUnbounded;
  const auto after = [&](uint32_t pairs) { return std::min(pairs + 1, last_count_); };
  GrammarBuilder::List list;
  for (const uint32_t begin = position; position < names_.size(); ++position) {
    if (position > begin && position % kRunLength == 0) {
      builder_.append(list, reference({position, count, violated, safe}));
      return builder_.sequence(list);
    }
    const Name& name = names_[position];
    const bool full = limited && count == last_count_;
    if (full && name.required) return json_.never();
    if (full) continue;
    const bool settled = !limited && count == last_count_;
    const uint32_t possible = violations_of(name.text) & ~violated;
    if (possible == 0 && (name.required || settled)) {
      const uint32_t own = pair(name.pair, count);
      builder_.append(list, name.required ? own : builder_.repeat(own, 0, 1));
      count = after(count);
      continue;
    }
    GrammarBuilder::List choices;
    // Iterates over the subsets of `possible`.
    for (uint32_t subset = possible;; subset = (subset - 1) & possible) {
      const uint32_t rule = named_pair(name, subset);
      if (rule != kNoIndex) {
        const uint32_t own = pair(rule, count);
        const uint32_t all = violated | subset;
        builder_.append(choices, json_.sequence(own, reference({position + 1, after(count), all, all})));
      }
      if (subset == 0) break;
    }
    if (!name.required) builder_.append(choices, reference({position + 1, count, violated, violated}));
    builder_.append(list, builder_.choice(choices));
    return builder_.sequence(list);
  }
  builder_.append(list, violations_.empty() ? tail(count) : violating_tail(count, violated, safe));
  return builder_.sequence(list);
}

// Builds the pairs that come after all named ones and cause the violations that are still missing.
uint32_t ObjectBuilder::violating_tail(uint32_t count, uint32_t violated, uint32_t safe) {
  const uint32_t all = (1u << violations_.size()) - 1;
  const auto end = names_.size();
  GrammarBuilder::List choices;
  const bool is_complete = violated == all && count >= minimum_;
  builder_.append(choices, is_complete ? builder_.empty() : json_.never());
  for (uint32_t subset = 0; subset <= all && (maximum_ == kUnbounded || count < maximum_); ++subset) {
    const uint32_t rule = others(violated & ~safe, subset);
    if (rule == kNoIndex) continue;
    const uint32_t own = pair(rule, count);
    const PendingState next{end, std::min(count + 1, last_count_), violated | subset, safe};
    builder_.append(choices, json_.sequence(own, reference(next)));
  }
  return builder_.choice(choices);
}

// Builds the pairs with other names, after all named ones, if there are no violations.
uint32_t ObjectBuilder::tail(uint32_t count) {
  const bool limited = maximum_ != kUnbounded;
  const uint32_t rest_minimum = count < minimum_ ? minimum_ - count : 0;
  const uint32_t rest_maximum = limited ? maximum_ - count : kUnbounded;
  if (others(0, 0) == kNoIndex || rest_maximum == 0) return rest_minimum == 0 ? builder_.empty() : json_.never();
  if (count > 0) return builder_.repeat(pair(others(0, 0), 1), rest_minimum, rest_maximum);
  const uint32_t first = pair(others(0, 0), 0);
  const uint32_t more = builder_.repeat(pair(others(0, 0), 1), rest_minimum > 0 ? rest_minimum - 1 : 0,
                                        limited ? rest_maximum - 1 : rest_maximum);
  const uint32_t all = json_.sequence(first, more);
  return rest_minimum == 0 ? builder_.repeat(all, 0, 1) : all;
}

}  // namespace

Status build_object(SchemaCompiler& compiler, Atoms atoms, uint32_t* expression) {
  return ObjectBuilder(compiler, atoms).build(expression);
}

}  // namespace sotto
