// Strings: lengths, patterns, formats and lists of values, combined as products of automata.
#include <algorithm>

#include "runtime/grammar/json_schema/compiler.h"
#include "runtime/grammar/json_schema/format.h"

namespace sotto {
namespace {

uint32_t count_characters(std::string_view text) {
  uint32_t count = 0;
  for (const char c : text) count += (static_cast<uint8_t>(c) & 0xC0) != 0x80 ? 1 : 0;
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
  // Intersects `automaton` with the conditions of all atoms. `*any` is true until a condition has restricted the
  // strings.
  Status restrict_by(Atoms atoms, bool with_length, CharacterAutomaton* automaton, bool* any);

 private:
  Status find_facts(Atoms atoms, StringFacts* facts);
  Status listed_strings(Atoms atoms, uint32_t* expression);

  SchemaCompiler& compiler_;
  const Schema& schema_;
  const JsonDocument& document_;
  GrammarBuilder& builder_;
  JsonGrammar& json_;
  Workspace& workspace_;
};

// Reads the limits on the length, and finds out what else restricts the strings.
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

Status StringBuilder::restrict_by(Atoms atoms, bool with_length, CharacterAutomaton* automaton, bool* any) {
  const auto intersect_with = [&](const CharacterAutomaton& other, bool negated, uint32_t node) {
    const CharacterAutomaton& self = *any ? other : *automaton;
    CharacterAutomaton result;
    // If the only automaton is negated, it is intersected with itself, negated on both sides.
    if (!intersect_automata(self, *any && negated, other, negated, workspace_, &result)) {
      SOTTO_TRY(schema_.check_limits());
      return schema_.unsupported(node, "the keywords of the string are too large to be combined");
    }
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
      const bool is_list = keyword == Keyword::kEnum;
      for (const uint32_t v : document_.values(atom.node, is_list)) {
        if (document_.kind(v) == JsonKind::kString) words.push(document_.text(v));
      }
      if (!automaton_of_words(words.span(), workspace_, &other)) {
        SOTTO_TRY(schema_.check_limits());
        return schema_.unsupported(atom.node, "the values are too many to be combined with the other keywords");
      }
    }
    SOTTO_TRY(intersect_with(other, atom.negated, atom.node));
  }
  if (!with_length) return Status::kOk;
  StringFacts facts;
  SOTTO_TRY(find_facts(atoms, &facts));
  if (facts.minimum == 0 && facts.maximum == kUnbounded) return Status::kOk;
  CharacterAutomaton length;
  if (facts.minimum > facts.maximum) {
    *automaton = {};
    static constexpr CharacterAutomaton::Range kAll[] = {{0, 0}};
    automaton->ranges = kAll;
    automaton->class_count = 1;
    *any = false;
    return Status::kOk;
  }
  if (!automaton_of_length(facts.minimum, facts.maximum, workspace_, &length)) {
    SOTTO_TRY(schema_.check_limits());
    return schema_.unsupported(atoms[0].node, "the length is too large to be combined with the other keywords");
  }
  return intersect_with(length, false, atoms[0].node);
}

// Builds the values that one atom lists and all other atoms allow.
Status StringBuilder::listed_strings(Atoms atoms, uint32_t* expression) {
  StringFacts facts;
  SOTTO_TRY(find_facts(atoms, &facts));
  const Literal listing = atoms[facts.listing];
  GrowingArray<Literal> others(workspace_);
  for (uint32_t i = 0; i < atoms.size(); ++i) {
    if (i != facts.listing) others.push(atoms[i]);
  }
  CharacterAutomaton automaton;
  bool any = true;
  if (!others.empty()) SOTTO_TRY(restrict_by(others.span(), false, &automaton, &any));
  GrammarBuilder::List choices;
  const bool is_list = listing.kind == LiteralKind::kKeyword && schema_.keyword(listing.node) == Keyword::kEnum;
  for (const uint32_t v : document_.values(listing.node, is_list)) {
    if (document_.kind(v) != JsonKind::kString) continue;
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
    const uint32_t bound = schema_.options().max_string;
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
  SOTTO_TRY(restrict_by(atoms, true, &automaton, &any));
  if (automaton.state_count == 0) return Status::kOk;
  *expression = json_.quoted(json_.characters().automaton(automaton));
  return schema_.check_limits();
}

}  // namespace

Status Patterns::parse(uint32_t node, RegexTree& tree) const {
  const bool is_text = document_.kind(node) == JsonKind::kString;
  if (is_text && schema_.keyword(node) == Keyword::kFormat) {
    if (parse_format(document_.text(node), tree, workspace_)) return schema_.check_limits();
    SOTTO_TRY(schema_.check_limits());
    return schema_.unsupported(node, "the format is not supported");
  }
  // The pattern is the text of a keyword, or the name of a member of patternProperties.
  const std::string_view pattern = is_text ? document_.text(node) : document_.name(node);
  Error inner;
  const Status status = parse_regex(pattern, tree, workspace_, &inner);
  if (status == Status::kOk) return schema_.check_limits();
  return schema_.fail_at_node(status, node, inner.message);
}

Status Patterns::automaton(uint32_t node, CharacterAutomaton* automaton) {
  for (const Known& known : known_.span()) {
    if (known.node != node) continue;
    *automaton = known.automaton;
    return Status::kOk;
  }
  RegexTree tree(workspace_);
  SOTTO_TRY(parse(node, tree));
  const bool search = document_.kind(node) != JsonKind::kString || schema_.keyword(node) != Keyword::kFormat;
  if (!automaton_of_regex(tree, search, workspace_, automaton)) {
    SOTTO_TRY(schema_.check_limits());
    return schema_.unsupported(node, "the pattern is too large to be combined with other keywords");
  }
  known_.push({node, *automaton});
  return schema_.check_limits();
}

Status names_automaton(SchemaCompiler& compiler, uint32_t schema, CharacterAutomaton* automaton) {
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
    if (!alternatives[i].empty()) SOTTO_TRY(StringBuilder(compiler).restrict_by(alternatives[i], true, &one, &any));
    if (!intersect_automata(rejected, false, one, true, workspace, &rejected)) {
      SOTTO_TRY(facts.check_limits());
      return facts.unsupported(schema, "the names are too many alternatives");
    }
  }
  if (!intersect_automata(all, false, rejected, true, workspace, automaton)) {
    SOTTO_TRY(facts.check_limits());
    return facts.unsupported(schema, "the names are too many alternatives");
  }
  return Status::kOk;
}

Status build_string(SchemaCompiler& compiler, Atoms atoms, uint32_t* expression) {
  return StringBuilder(compiler).build(atoms, expression);
}

}  // namespace sotto
