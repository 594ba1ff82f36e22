#include "runtime/grammar/json_schema/json_grammar.h"

#include <algorithm>

namespace sotto {

JsonGrammar::JsonGrammar(GrammarBuilder& builder, const GrammarParams& params)
    : builder_(builder), params_(params), characters_(builder, CharacterForm::kJsonString) {
  std::fill(types_, types_ + kJsonTypeCount, kNoIndex);
}

uint32_t JsonGrammar::sequence(uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  GrammarBuilder::List list;
  for (const uint32_t part : {a, b, c, d}) {
    if (part != kNoIndex) builder_.append(list, part);
  }
  return builder_.sequence(list);
}

// Returns a set of characters, given by pairs of bounds: "azAZ" is [a-zA-Z].
uint32_t JsonGrammar::set(std::string_view ranges) {
  const uint32_t begin = builder_.begin_intervals();
  for (size_t i = 0; i + 1 < ranges.size(); i += 2) {
    builder_.add_interval({static_cast<uint8_t>(ranges[i]), static_cast<uint8_t>(ranges[i + 1])});
  }
  const uint32_t characters = builder_.characters(begin, false);
  return characters == kNoIndex ? builder_.empty() : characters;  // kNoIndex if the workspace is exhausted
}

uint32_t JsonGrammar::space() {
  if (params_.json_space != JsonSpace::kFlexible || params_.max_space == 0) return kNoIndex;
  if (space_ == kNoIndex) {
    space_ = builder_.anonymous_rule(builder_.repeat(set("\t\t\n\n\r\r  "), 0, params_.max_space));
  }
  return reference(space_);
}

uint32_t JsonGrammar::comma() {
  if (params_.json_space == JsonSpace::kOneSpace) return text(", ");
  return sequence(text(","), space());
}

uint32_t JsonGrammar::colon() {
  if (params_.json_space == JsonSpace::kOneSpace) return text(": ");
  const uint32_t before = space();
  return sequence(before, text(":"), space());
}

uint32_t JsonGrammar::container(char open, uint32_t items) {
  const uint32_t begin = sequence(text({&open, 1}), space());
  return sequence(begin, items, text(open == '[' ? "]" : "}"));
}

uint32_t JsonGrammar::quoted(std::string_view text) {
  return sequence(this->text("\""), characters_.text(text), this->text("\""));
}

uint32_t JsonGrammar::quoted(uint32_t characters) { return sequence(text("\""), characters, text("\"")); }

uint32_t JsonGrammar::outer(uint32_t document) {
  if (!params_.allow_surrounding_whitespace) return document;
  const uint32_t before = space();
  return sequence(before, document, space());
}

uint32_t JsonGrammar::string_character() {
  if (character_ == kNoIndex) character_ = builder_.anonymous_rule(define_character());
  return reference(character_);
}

uint32_t JsonGrammar::define_character() {
  const auto hex = [&](uint32_t count) { return builder_.repeat(set("09afAF"), count, count); };
  GrammarBuilder::List units;
  builder_.append(units, sequence(set("09acACefEF"), hex(3)));
  builder_.append(units, sequence(set("ddDD"), set("07"), hex(2)));
  const uint32_t high = sequence(set("ddDD"), set("89abAB"), hex(2));
  const uint32_t low = sequence(text("\\u"), set("ddDD"), set("cfCF"), hex(2));
  builder_.append(units, sequence(high, low));
  GrammarBuilder::List escapes;
  builder_.append(escapes, set("\"\"\\\\//bbffnnrrtt"));
  builder_.append(escapes, sequence(text("u"), builder_.choice(units)));
  GrammarBuilder::List characters;
  const uint32_t begin = builder_.begin_intervals();
  for (const Interval raw : {Interval{0x20, 0x21}, Interval{0x23, 0x5B}, Interval{0x5D, kMaxCodePoint}}) {
    builder_.add_interval(raw);
  }
  const uint32_t raw = builder_.characters(begin, false);
  builder_.append(characters, raw == kNoIndex ? builder_.empty() : raw);
  builder_.append(characters, sequence(text("\\"), builder_.choice(escapes)));
  return builder_.choice(characters);
}

// Returns the expression of digits: those after the first one (`minimum` 0), or at least one.
uint32_t JsonGrammar::digits(uint32_t minimum) {
  const uint32_t maximum = params_.max_digits == 0 ? kUnbounded : params_.max_digits - 1 + minimum;
  return builder_.repeat(set("09"), minimum, maximum);
}

uint32_t JsonGrammar::integer() {
  GrammarBuilder::List forms;
  builder_.append(forms, text("0"));
  builder_.append(forms, sequence(set("19"), digits(0)));
  return sequence(builder_.repeat(text("-"), 0, 1), builder_.choice(forms));
}

uint32_t JsonGrammar::number() {
  const uint32_t whole = integer();
  const uint32_t fraction = builder_.repeat(sequence(text("."), digits(1)), 0, 1);
  const uint32_t exponent = sequence(set("eeEE"), builder_.repeat(set("++--"), 0, 1), digits(1));
  return sequence(whole, fraction, builder_.repeat(exponent, 0, 1));
}

uint32_t JsonGrammar::define_container(bool object) {
  const auto part = [&] {
    if (!object) return item(any_value());
    const uint32_t name = any(JsonType::kString);
    const uint32_t separator = colon();
    return item(sequence(name, separator, any_value()));
  };
  const uint32_t first = part();
  const uint32_t separator = comma();
  const uint32_t rest = builder_.repeat(sequence(separator, part()), 0, kUnbounded);
  return container(object ? '{' : '[', builder_.repeat(sequence(first, rest), 0, 1));
}

uint32_t JsonGrammar::any(JsonType type) {
  uint32_t& rule = types_[static_cast<uint32_t>(type)];
  if (rule != kNoIndex) return reference(rule);
  rule = builder_.anonymous_rule(kNoIndex);
  uint32_t body = kNoIndex;
  switch (type) {
    case JsonType::kNull:
      body = text("null");
      break;
    case JsonType::kFalse:
      body = text("false");
      break;
    case JsonType::kTrue:
      body = text("true");
      break;
    case JsonType::kNumber:
      body = number();
      break;
    case JsonType::kString:
      body = quoted(builder_.repeat(define_character(), 0,
                                    params_.max_string_length == 0 ? kUnbounded : params_.max_string_length));
      break;
    case JsonType::kArray:
    case JsonType::kObject:
      body = define_container(type == JsonType::kObject);
      break;
  }
  builder_.define(rule, body, 0);
  return reference(rule);
}

uint32_t JsonGrammar::any_value() {
  if (value_ == kNoIndex) {
    value_ = builder_.anonymous_rule(kNoIndex);
    GrammarBuilder::List types;
    for (uint32_t type = 0; type < kJsonTypeCount; ++type) {
      builder_.append(types, any(static_cast<JsonType>(type)));
    }
    builder_.define(value_, builder_.choice(types), 0);
  }
  return reference(value_);
}

void build_json_grammar(const GrammarParams& params, bool only_objects, std::span<const char> name,
                        GrammarBuilder& builder) {
  JsonGrammar grammar(builder, params);
  const uint32_t value = only_objects ? grammar.any(JsonType::kObject) : grammar.any_value();
  builder.define(builder.rule(name, 0), grammar.outer(value), 0);
}

}  // namespace sotto
