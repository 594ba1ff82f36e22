// Strings: lengths, patterns, formats and lists of values, combined as products of automata.
#include <algorithm>

#include "runtime/base/utf8.h"
#include "runtime/grammar/json_schema/compiler.h"

namespace sotto {
namespace {

// Maximum number of states of a string whose length is limited more than the schema requires.
constexpr uint32_t kMaxShortenedStates = 12000;

uint32_t count_characters(std::string_view text) {
  uint32_t count = 0;
  for (const char c : text) count += is_continuation(c) ? 0 : 1;
  return count;
}

// A summary of the atoms on a string.
struct StringFacts {
  uint32_t minimum = 0;
  uint32_t maximum = kUnbounded;
  uint32_t listing = kNoIndex;  // an atom that lists all values
  uint32_t patterns = 0;        // number of patterns and formats
  uint32_t pattern = kNoIndex;  // one of them
  bool negations = false;       // true if any of them is negated, or there are values to exclude
};

// Builds the strings that satisfy lengths, patterns, formats and lists of values together.
class StringBuilder {
 public:
  explicit StringBuilder(SchemaCompiler& compiler)
      : compiler_(compiler),
        schema_(compiler.schema()),
        document_(schema_.document()),
        builder_(compiler.builder()),
        json_(compiler.json()),
        workspace_(schema_.workspace()) {}

  Status build(Atoms atoms, uint32_t* expression);
  // Precision of the limits on the length: ignored, exact, or stricter than the limits if an exact automaton would be
  // too large.
  enum class Lengths : uint8_t { kIgnored, kExact, kMayBeFewer };
  // Intersects `automaton` with the conditions of all atoms. `*any` is true as long as no condition has restricted it.
  Status restrict_by(Atoms atoms, Lengths lengths, CharacterAutomaton* automaton, bool* any);

 private:
  Status find_facts(Atoms atoms, StringFacts* facts);
  bool limit_length(const CharacterAutomaton* others, const StringFacts& facts, Lengths lengths,
                    CharacterAutomaton* automaton);
  bool is_list_of_values(const Literal& atom) const;
  bool contains(const Literal& list, uint32_t value) const;
  JsonDocument::Range values_of(const Literal& list) const;
  Status listed_strings(Atoms atoms, uint32_t* expression);

  SchemaCompiler& compiler_;
  const Schema& schema_;
  const JsonDocument& document_;
  GrammarBuilder& builder_;
  JsonGrammar& json_;
  Workspace& workspace_;
};

// Reads the limits on the length, and counts the other conditions.
Status StringBuilder::find_facts(Atoms atoms, StringFacts* facts) {
  for (uint32_t i = 0; i < atoms.size(); ++i) {
    const Literal& atom = atoms[i];
    const Keyword keyword = atom.kind == LiteralKind::kKeyword ? schema_.keyword(atom.node) : Keyword::kConst;
    uint32_t count = 0;
    switch (keyword) {
      case Keyword::kMinLength:
      case Keyword::kMaxLength: {
        SOTTO_TRY(schema_.count_of(atom.node, &count));
        const bool is_minimum = (keyword == Keyword::kMinLength) != atom.negated;
        // The negation of "at least n" is "at most n - 1", and so on.
        if (atom.negated && keyword == Keyword::kMaxLength) ++count;
        if (atom.negated && keyword == Keyword::kMinLength) {
          if (count == 0) {  // there is no such string
            facts->minimum = kUnbounded;
            facts->maximum = 0;
            break;
          }
          --count;
        }
        if (is_minimum) facts->minimum = std::max(facts->minimum, count);
        if (!is_minimum) facts->maximum = std::min(facts->maximum, count);
        break;
      }
      case Keyword::kPattern:
      case Keyword::kFormat:
        ++facts->patterns;
        facts->pattern = atom.node;
        facts->negations = facts->negations || atom.negated;
        break;
      default:  // enum, const or a value
        if (atom.negated) facts->negations = true;
        if (!atom.negated) facts->listing = i;
        break;
    }
  }
  return Status::kOk;
}

Status StringBuilder::restrict_by(Atoms atoms, Lengths lengths, CharacterAutomaton* automaton, bool* any) {
  const auto intersect_with = [&](const CharacterAutomaton& other, bool negated, uint32_t node) {
    const CharacterAutomaton& self = *any ? other : *automaton;
    CharacterAutomaton result;
    // If the only automaton is negated, intersect it with itself, negated on both sides.
    SOTTO_TRY(schema_.check_combined(intersect_automata(self, *any && negated, other, negated, workspace_, &result),
                                     node, "the keywords of the string are too large to be combined"));
    *automaton = result;
    *any = false;
    return Status::kOk;
  };
  GrowingArray<std::string_view> words(workspace_);
  for (const Literal& atom : atoms) {
    CharacterAutomaton other;
    const Keyword keyword = atom.kind == LiteralKind::kKeyword ? schema_.keyword(atom.node) : Keyword::kConst;
    if (keyword == Keyword::kMinLength || keyword == Keyword::kMaxLength) continue;
    if (keyword == Keyword::kPattern || keyword == Keyword::kFormat) {
      if (document_.kind(atom.node) != JsonKind::kString) return schema_.reject(atom.node, "must be a string");
      SOTTO_TRY(compiler_.patterns().automaton(atom.node, &other));
    } else {
      words.truncate(0);
      for (const uint32_t v : values_of(atom)) {
        if (document_.kind(v) == JsonKind::kString) words.push(document_.text(v));
      }
      SOTTO_TRY(schema_.check_combined(automaton_of_words(words.span(), workspace_, &other), atom.node,
                                       "the values are too many to be combined with the other keywords"));
    }
    SOTTO_TRY(intersect_with(other, atom.negated, atom.node));
  }
  if (lengths == Lengths::kIgnored) return Status::kOk;
  StringFacts facts;
  SOTTO_TRY(find_facts(atoms, &facts));
  if (facts.minimum == 0 && facts.maximum == kUnbounded) return Status::kOk;
  if (facts.minimum > facts.maximum) {
    *automaton = {};
    static constexpr CharacterAutomaton::Range kAll[] = {{0, 0}};
    automaton->ranges = kAll;
    automaton->class_count = 1;
    *any = false;
    return Status::kOk;
  }
  CharacterAutomaton others;
  if (!*any) others = *automaton;
  const bool is_limited = limit_length(*any ? nullptr : &others, facts, lengths, automaton);
  if (is_limited) *any = false;
  return schema_.check_combined(is_limited, atoms[0].node,
                                "the length is too large to be combined with the other keywords");
}

// Intersects the limits on the length with `others`, the automaton of the other conditions, or null. The product has a
// state per length and state of `others`. If these are too many, the maximum length is reduced to what the limit on
// states allows.
bool StringBuilder::limit_length(const CharacterAutomaton* others, const StringFacts& facts, Lengths lengths,
                                 CharacterAutomaton* automaton) {
  const auto limit_to = [&](uint32_t maximum, uint32_t max_states) {
    CharacterAutomaton length;
    if (!automaton_of_length(facts.minimum, maximum, workspace_, &length)) return false;
    if (others == nullptr) *automaton = length;
    return others == nullptr || intersect_automata(*others, false, length, false, workspace_, automaton, max_states);
  };
  const size_t mark = workspace_.size();
  if (limit_to(facts.maximum, kMaxAutomatonStates)) return true;
  const bool can_shorten = others != nullptr && others->state_count > 0 && facts.maximum != kUnbounded;
  if (lengths == Lengths::kExact || !can_shorten) return false;
  uint32_t maximum = std::max(kMaxShortenedStates / others->state_count, facts.minimum);
  for (uint32_t longer = maximum; longer < facts.maximum && !workspace_.exhausted(); longer += longer / 8 + 1) {
    workspace_.release(mark);
    if (!limit_to(longer, kMaxShortenedStates)) break;
    maximum = longer;
  }
  if (workspace_.exhausted()) return false;
  workspace_.release(mark);
  return limit_to(maximum, kMaxAutomatonStates) && automaton->state_count > 0;
}

// Returns whether an atom is enum, const or a value.
bool StringBuilder::is_list_of_values(const Literal& atom) const {
  if (atom.kind != LiteralKind::kKeyword) return true;
  return schema_.keyword(atom.node) == Keyword::kEnum || schema_.keyword(atom.node) == Keyword::kConst;
}

JsonDocument::Range StringBuilder::values_of(const Literal& list) const {
  const bool is_enum = list.kind == LiteralKind::kKeyword && schema_.keyword(list.node) == Keyword::kEnum;
  return document_.values(list.node, is_enum);
}

bool StringBuilder::contains(const Literal& list, uint32_t value) const {
  for (const uint32_t v : values_of(list)) {
    if (schema_.same_value(v, value)) return true;
  }
  return false;
}

// Builds the values that one atom lists and all other atoms allow.
Status StringBuilder::listed_strings(Atoms atoms, uint32_t* expression) {
  StringFacts facts;
  SOTTO_TRY(find_facts(atoms, &facts));
  const Literal listing = atoms[facts.listing];
  GrowingArray<Literal> lists(workspace_);
  GrowingArray<Literal> others(workspace_);
  for (uint32_t i = 0; i < atoms.size(); ++i) {
    if (i != facts.listing) (is_list_of_values(atoms[i]) ? lists : others).push(atoms[i]);
  }
  CharacterAutomaton automaton;
  bool any = true;
  if (!others.empty()) SOTTO_TRY(restrict_by(others.span(), Lengths::kIgnored, &automaton, &any));
  GrammarBuilder::List choices;
  for (const uint32_t v : values_of(listing)) {
    SOTTO_TRY(schema_.check_limits());
    if (document_.kind(v) != JsonKind::kString) continue;
    const auto known = lists.span();
    const auto allows = [&](const Literal& list) { return contains(list, v) != list.negated; };
    if (!std::all_of(known.begin(), known.end(), allows)) continue;
    const std::string_view text = document_.text(v);
    const uint32_t length = count_characters(text);
    if (length < facts.minimum || length > facts.maximum) continue;
    if (!any && !automaton.matches(text)) continue;
    builder_.append(choices, json_.quoted(text));
  }
  *expression = choices.first == kNoIndex ? kNoIndex : builder_.choice(choices);
  return Status::kOk;
}

Status StringBuilder::build(Atoms atoms, uint32_t* expression) {
  StringFacts facts;
  SOTTO_TRY(find_facts(atoms, &facts));
  *expression = kNoIndex;
  if (facts.listing != kNoIndex) return listed_strings(atoms, expression);
  if (facts.minimum > facts.maximum) return Status::kOk;
  const bool free_length = facts.minimum == 0 && facts.maximum == kUnbounded;
  if (facts.patterns == 0 && !facts.negations) {
    const uint32_t bound = schema_.options().max_string_length;
    if (bound != 0 && !free_length) facts.maximum = std::max(facts.minimum, std::min(facts.maximum, bound));
    *expression = free_length ? json_.any(JsonType::kString)
                              : json_.quoted(builder_.repeat(json_.string_character(), facts.minimum, facts.maximum));
    return Status::kOk;
  }
  if (facts.patterns == 1 && !facts.negations && free_length) {
    if (document_.kind(facts.pattern) != JsonKind::kString) return schema_.reject(facts.pattern, "must be a string");
    RegexTree tree(workspace_);
    SOTTO_TRY(compiler_.patterns().parse(facts.pattern, tree));
    const bool search = schema_.keyword(facts.pattern) == Keyword::kPattern;
    const uint32_t characters = json_.characters().regex(tree, search);
    if (characters != kNoIndex) *expression = json_.quoted(characters);
    if (characters != kNoIndex) return schema_.check_limits();
  }
  CharacterAutomaton automaton;
  bool any = true;
  SOTTO_TRY(restrict_by(atoms, Lengths::kMayBeFewer, &automaton, &any));
  if (automaton.state_count == 0) return Status::kOk;
  *expression = json_.quoted(json_.characters().automaton(automaton));
  return schema_.check_limits();
}

}  // namespace

Status names_automaton(SchemaCompiler& compiler, uint32_t schema, CharacterAutomaton* automaton) {
  constexpr char kTooManyNames[] = "the names are too many alternatives";
  const Literal goal{schema, LiteralKind::kSchema, false};
  const Schema& facts = compiler.schema();
  Workspace& workspace = facts.workspace();
  Alternatives alternatives(workspace);
  SOTTO_TRY(compiler.expansion().expand({&goal, 1}, JsonType::kString, alternatives));
  // The union is the complement of the strings that no alternative accepts.
  CharacterAutomaton rejected;
  if (!automaton_of_length(0, kUnbounded, workspace, &rejected)) return facts.check_limits();
  const CharacterAutomaton all = rejected;
  for (uint32_t i = 0; i < alternatives.size(); ++i) {
    CharacterAutomaton one = all;
    bool any = true;
    if (!alternatives[i].empty()) {
      SOTTO_TRY(StringBuilder(compiler).restrict_by(alternatives[i], StringBuilder::Lengths::kExact, &one, &any));
    }
    SOTTO_TRY(facts.check_combined(intersect_automata(rejected, false, one, true, workspace, &rejected), schema,
                                   kTooManyNames));
  }
  return facts.check_combined(intersect_automata(all, false, rejected, true, workspace, automaton), schema,
                              kTooManyNames);
}

Status build_string(SchemaCompiler& compiler, Atoms atoms, uint32_t* expression) {
  return StringBuilder(compiler).build(atoms, expression);
}

}  // namespace sotto
