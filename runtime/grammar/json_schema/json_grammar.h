// The rules of JSON text: values of each type and the white space between them.
#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/generated/params.h"
#include "runtime/grammar/compiler/grammar_builder.h"
#include "runtime/grammar/json_schema/json_document.h"
#include "runtime/grammar/regex/grammar.h"

namespace sotto {

enum class JsonType : uint8_t { kNull, kFalse, kTrue, kNumber, kString, kArray, kObject };
inline constexpr uint32_t kJsonTypeCount = 7;

class JsonGrammar {
 public:
  JsonGrammar(GrammarBuilder& builder, const GrammarParams& params);

  // Return the rule for any value of one type, for any value, and for any character of a string. Names in objects may
  // repeat, as RFC 8259 allows. Surrogates occur only in pairs.
  uint32_t any(JsonType type);
  uint32_t any_value();
  uint32_t string_character();
  // Returns the expression -?(0|[1-9][0-9]*), with at most max_digits digits.
  uint32_t integer();

  // Returns a value or member followed by white space. No other rule has white space before a comma or a closing
  // bracket, so two runs of white space are adjacent only in empty containers.
  uint32_t item(uint32_t value) { return sequence(value, space()); }
  uint32_t comma();
  uint32_t colon();
  // Returns [ items ] or { members }. item() and comma() make the items; kNoIndex means no items.
  uint32_t container(char open, uint32_t items);
  // Returns a quoted string in its canonical form.
  uint32_t quoted(std::string_view text);
  uint32_t quoted(uint32_t characters);
  // Returns the document with white space around it.
  uint32_t outer(uint32_t document);

  uint32_t text(std::string_view text) { return builder_.text(text); }
  uint32_t sequence(uint32_t a, uint32_t b, uint32_t c = kNoIndex, uint32_t d = kNoIndex);
  uint32_t reference(uint32_t rule) { return builder_.reference(rule); }
  uint32_t never() { return characters_.never(); }
  RegexGrammar& characters() { return characters_; }
  GrammarBuilder& builder() { return builder_; }

 private:
  uint32_t space();
  uint32_t set(std::string_view ranges);
  uint32_t number();
  uint32_t digits(uint32_t minimum);
  uint32_t define_character();
  uint32_t define_container(bool object);

  GrammarBuilder& builder_;
  GrammarParams params_;
  RegexGrammar characters_;
  uint32_t types_[kJsonTypeCount];
  uint32_t value_ = kNoIndex;
  uint32_t space_ = kNoIndex;
  uint32_t character_ = kNoIndex;
};

// Defines the rule `name` as any JSON text (RFC 8259) or, with `only_objects`, as any JSON object.
void build_json_grammar(const GrammarParams& params, bool only_objects, std::span<const char> name,
                        GrammarBuilder& builder);

}  // namespace sotto
