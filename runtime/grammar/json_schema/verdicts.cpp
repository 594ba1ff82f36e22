#include "runtime/grammar/json_schema/verdicts.h"

#include <algorithm>

#include "runtime/grammar/json_schema/decimal.h"
#include "runtime/grammar/json_schema/format.h"

namespace sotto {
namespace {

constexpr uint32_t kMaxTestDepth = 8;  // a value is tested against a schema down to this depth of nesting

}  // namespace

Status TypeVerdicts::of_schema(uint32_t schema, Verdict* verdict) const {
  SOTTO_TRY(schema_.skip_references(&schema));
  *verdict = Verdict::kTrue;
  switch (document_.kind(schema)) {
    case JsonKind::kTrue:
      return Status::kOk;
    case JsonKind::kFalse:
      *verdict = Verdict::kFalse;
      return Status::kOk;
    case JsonKind::kObject:
      break;
    default:
      return schema_.reject(schema, "must be a schema: an object or a boolean");
  }
  for (const uint32_t m : document_.children(schema)) {
    Verdict one = Verdict::kTrue;
    SOTTO_TRY(of_keyword(m, &one));
    if (one == Verdict::kOpen) *verdict = one;
    if (one == Verdict::kFalse) {
      *verdict = one;
      return Status::kOk;
    }
  }
  return Status::kOk;
}

// Finds the verdict on one keyword. A keyword that is handled together with another one counts as true.
Status TypeVerdicts::of_keyword(uint32_t member, Verdict* verdict) const {
  const Keyword keyword = schema_.keyword(member);
  *verdict = Verdict::kTrue;
  if (!schema_.is_asserting(member) || !concerns(keyword, type_)) return Status::kOk;
  if (keyword == Keyword::kType) return of_type_keyword(member, verdict);
  if (keyword != Keyword::kEnum && keyword != Keyword::kConst) {
    if (!is_idle(member)) *verdict = Verdict::kOpen;
    return Status::kOk;
  }
  const bool is_enum = keyword == Keyword::kEnum;
  if (is_enum && document_.kind(member) != JsonKind::kArray) return schema_.reject(member, "must be an array");
  *verdict = Verdict::kFalse;
  for (const uint32_t v : document_.values(member, is_enum)) {
    if (schema_.type_of(v) == type_) *verdict = type_ < JsonType::kNumber ? Verdict::kTrue : Verdict::kOpen;
  }
  return Status::kOk;
}

// Returns whether a keyword restricts nothing, or is handled together with another keyword of its schema.
bool TypeVerdicts::is_idle(uint32_t member) const {
  const uint32_t schema = document_[member].parent;
  const JsonKind kind = document_.kind(member);
  const auto has = [&](Keyword other) { return schema_.assertion(schema, other) != kNoIndex; };
  switch (schema_.keyword(member)) {
    case Keyword::kFormat:
      return !schema_.options().assert_formats || kind != JsonKind::kString || !is_known_format(document_.text(member));
    case Keyword::kIf:
      return !has(Keyword::kThen) && !has(Keyword::kElse);
    case Keyword::kThen:
    case Keyword::kElse:
    case Keyword::kMinContains:
    case Keyword::kMaxContains:
    case Keyword::kAdditionalItems:
      return true;  // handled with "if", "contains" or "items"
    case Keyword::kPatternProperties:
      return has(Keyword::kProperties);
    case Keyword::kAdditionalProperties:
      return kind == JsonKind::kTrue || has(Keyword::kProperties) || has(Keyword::kPatternProperties);
    case Keyword::kUnevaluatedProperties:
      if (kind == JsonKind::kTrue || has(Keyword::kAdditionalProperties)) return true;
      return !schema_.is_seen_through(schema) && (has(Keyword::kProperties) || has(Keyword::kPatternProperties));
    case Keyword::kUnevaluatedItems:
      if (kind == JsonKind::kTrue) return true;
      if (has(Keyword::kItems) && document_.kind(schema_.assertion(schema, Keyword::kItems)) != JsonKind::kArray) {
        return true;
      }
      return !schema_.is_seen_through(schema) && (has(Keyword::kPrefixItems) || has(Keyword::kItems));
    case Keyword::kItems:
      return has(Keyword::kPrefixItems);
    case Keyword::kUniqueItems:
      return kind == JsonKind::kFalse;
    case Keyword::kExclusiveMinimum:
    case Keyword::kExclusiveMaximum:
      return kind == JsonKind::kFalse || kind == JsonKind::kTrue;  // draft 4: handled with the bound
    default:
      return false;
  }
}

// Finds the verdict on the keyword "type". On numbers, it is open if the keyword allows only integers.
Status TypeVerdicts::of_type_keyword(uint32_t member, Verdict* verdict) const {
  uint32_t mask = 0;
  bool integers = false;
  const bool is_list = document_.kind(member) == JsonKind::kArray;
  for (const uint32_t name : document_.values(member, is_list)) {
    if (document_.kind(name) != JsonKind::kString)
      return schema_.reject(name, "must be null, boolean, integer, number, string, array or object");
    const std::string_view text = document_.text(name);
    constexpr std::string_view kNames[] = {"null", "boolean", "boolean", "number", "string", "array", "object"};
    bool known = text == "integer";
    integers = integers || known;
    for (uint32_t i = 0; i < kJsonTypeCount; ++i) {
      if (text != kNames[i]) continue;
      mask |= 1u << i;
      known = true;
    }
    if (!known) return schema_.reject(name, "must be null, boolean, integer, number, string, array or object");
  }
  *verdict = (mask >> static_cast<uint32_t>(type_) & 1) != 0 ? Verdict::kTrue : Verdict::kFalse;
  if (type_ == JsonType::kNumber && *verdict == Verdict::kFalse && integers) *verdict = Verdict::kOpen;
  return Status::kOk;
}

Status Conjunction::add(uint32_t schema) {
  const auto insert = [&](uint32_t one) {
    schema_.spend(1 + count_);
    const bool is_known = std::find(schemas_, schemas_ + count_, one) != schemas_ + count_;
    if (!is_known && count_ < kMaxSchemas) schemas_[count_++] = one;
  };
  uint32_t next = count_;
  for (insert(schema); next < count_; ++next) {
    const uint32_t reference = schema_.assertion(schemas_[next], Keyword::kRef);
    const uint32_t list = schema_.assertion(schemas_[next], Keyword::kAllOf);
    uint32_t target = kNoIndex;
    if (reference != kNoIndex) SOTTO_TRY(schema_.resolve(reference, &target));
    if (target != kNoIndex) insert(target);
    if (list == kNoIndex || document_.kind(list) != JsonKind::kArray) continue;
    for (const uint32_t child : document_.children(list)) insert(child);
  }
  return schema_.check_limits();
}

Status Conjunction::is_empty(JsonType type, uint32_t depth, bool* result) {
  *result = false;
  for (const uint32_t schema : schemas()) {
    Verdict verdict = Verdict::kOpen;
    SOTTO_TRY(TypeVerdicts(schema_, type).of_schema(schema, &verdict));
    if (verdict == Verdict::kFalse) *result = true;
  }
  if (!*result) SOTTO_TRY(values_rejected(type, result));
  if (!*result && type == JsonType::kObject && depth > 0) SOTTO_TRY(members_rejected(depth, result));
  return Status::kOk;
}

// Sets `*result` to true if one schema lists its values and other schemas reject each of them.
Status Conjunction::values_rejected(JsonType type, bool* result) {
  for (const uint32_t listing : schemas()) {
    const uint32_t value = schema_.assertion(listing, Keyword::kConst);
    const uint32_t list = value != kNoIndex ? value : schema_.assertion(listing, Keyword::kEnum);
    if (list == kNoIndex || (value == kNoIndex && document_.kind(list) != JsonKind::kArray)) continue;
    bool all = true;
    for (const uint32_t v : document_.values(list, value == kNoIndex)) {
      if (schema_.type_of(v) != type) continue;
      bool is_rejected = false;
      for (uint32_t i = 0; i < count_ && !is_rejected; ++i) {
        Verdict verdict = Verdict::kOpen;
        SOTTO_TRY(holds(schemas_[i], v, kMaxTestDepth, &verdict));
        is_rejected = verdict == Verdict::kFalse;
      }
      all = all && is_rejected;
      if (!all) break;
    }
    *result = *result || all;
  }
  return Status::kOk;
}

// Sets `*result` to true if a required property cannot exist.
Status Conjunction::members_rejected(uint32_t depth, bool* result) {
  for (const uint32_t schema : schemas()) {
    if (excludes_required(schema)) *result = true;
    const uint32_t required = schema_.assertion(schema, Keyword::kRequired);
    if (required == kNoIndex || document_.kind(required) != JsonKind::kArray) continue;
    for (const uint32_t name : document_.children(required)) {
      if (*result) return Status::kOk;
      SOTTO_TRY(schema_.check_limits());
      if (document_.kind(name) == JsonKind::kString) SOTTO_TRY(member_rejected(document_.text(name), depth, result));
    }
  }
  return Status::kOk;
}

// Sets `*result` to true if no property of this name satisfies the schemas.
Status Conjunction::member_rejected(std::string_view name, uint32_t depth, bool* result) {
  Conjunction member(schema_, patterns_);
  for (const uint32_t schema : schemas()) {
    schema_.spend(1);
    const uint32_t properties = schema_.assertion(schema, Keyword::kProperties);
    const uint32_t property = document_.member(properties, name);
    if (property != kNoIndex) SOTTO_TRY(member.add(property));
    const uint32_t additional = schema_.additional_of(schema);
    if (property != kNoIndex || additional == kNoIndex || document_.kind(additional) != JsonKind::kFalse) continue;
    bool is_matched = schema_.is_seen_through(schema);
    for (const uint32_t pattern : document_.children(schema_.assertion(schema, Keyword::kPatternProperties))) {
      CharacterAutomaton automaton;
      SOTTO_TRY(patterns_.automaton(pattern, &automaton));
      is_matched = is_matched || automaton.matches(name);
    }
    if (!is_matched) *result = true;
  }
  if (*result || member.count_ == 0) return Status::kOk;
  bool has_values = false;
  for (uint32_t t = 0; t < kJsonTypeCount && !has_values; ++t) {
    bool is_empty = false;
    SOTTO_TRY(member.is_empty(static_cast<JsonType>(t), depth - 1, &is_empty));
    has_values = !is_empty;
  }
  *result = !has_values;
  return Status::kOk;
}

// Returns whether the schema's "not" contains only "required", and all its names are required here.
bool Conjunction::excludes_required(uint32_t schema) const {
  const uint32_t excluded = schema_.assertion(schema, Keyword::kNot);
  if (excluded == kNoIndex || document_.kind(excluded) != JsonKind::kObject) return false;
  uint32_t list = kNoIndex;
  for (const uint32_t m : document_.children(excluded)) {
    if (schema_.is_asserting(m) && schema_.keyword(m) != Keyword::kRequired) return false;
    if (schema_.is_asserting(m)) list = m;
  }
  if (list == kNoIndex || document_.kind(list) != JsonKind::kArray) return false;
  for (const uint32_t name : document_.children(list)) {
    if (schema_.check_limits() != Status::kOk) return false;
    if (document_.kind(name) != JsonKind::kString || !requires_name(document_.text(name))) return false;
  }
  return true;
}

bool Conjunction::requires_name(std::string_view name) const {
  for (const uint32_t schema : schemas()) {
    const uint32_t required = schema_.assertion(schema, Keyword::kRequired);
    if (required == kNoIndex || document_.kind(required) != JsonKind::kArray) continue;
    for (const uint32_t n : document_.children(required)) {
      schema_.spend(1);
      if (document_.kind(n) == JsonKind::kString && document_.text(n) == name) return true;
    }
  }
  return false;
}

// Tests a value of the document against a schema.
Status Conjunction::holds(uint32_t schema, uint32_t value, uint32_t depth, Verdict* verdict) {
  *verdict = Verdict::kOpen;
  SOTTO_TRY(schema_.check_limits());
  const JsonKind kind = document_.kind(schema);
  if (kind == JsonKind::kTrue) *verdict = Verdict::kTrue;
  if (kind == JsonKind::kFalse) *verdict = Verdict::kFalse;
  if (depth == 0 || kind != JsonKind::kObject) return Status::kOk;
  *verdict = Verdict::kTrue;
  for (const uint32_t m : document_.children(schema)) {
    if (!schema_.is_asserting(m) || !concerns(schema_.keyword(m), schema_.type_of(value))) continue;
    Verdict one = Verdict::kOpen;
    SOTTO_TRY(keyword_holds(m, value, depth - 1, &one));
    if (one == Verdict::kTrue) continue;
    *verdict = one;
    if (one == Verdict::kFalse) break;
  }
  return Status::kOk;
}

Status Conjunction::keyword_holds(uint32_t member, uint32_t value, uint32_t depth, Verdict* verdict) {
  const Keyword keyword = schema_.keyword(member);
  *verdict = Verdict::kOpen;
  switch (keyword) {
    case Keyword::kType:
    case Keyword::kFormat:
      return TypeVerdicts(schema_, schema_.type_of(value)).of_keyword(member, verdict);
    case Keyword::kEnum:
    case Keyword::kConst:
      *verdict = Verdict::kFalse;
      for (const uint32_t v : document_.values(member, keyword == Keyword::kEnum)) {
        const bool is_composite =
            schema_.type_of(v) >= JsonType::kArray && schema_.type_of(v) == schema_.type_of(value);
        if (is_composite) *verdict = Verdict::kOpen;
        if (v == value || schema_.same_value(v, value)) *verdict = Verdict::kTrue;
        if (*verdict == Verdict::kTrue) break;
      }
      return Status::kOk;
    case Keyword::kPattern: {
      if (document_.kind(member) != JsonKind::kString) return schema_.reject(member, "must be a string");
      CharacterAutomaton automaton;
      SOTTO_TRY(patterns_.automaton(member, &automaton));
      *verdict = automaton.matches(document_.text(value)) ? Verdict::kTrue : Verdict::kFalse;
      return Status::kOk;
    }
    case Keyword::kRef: {
      uint32_t target = kNoIndex;
      SOTTO_TRY(schema_.resolve(member, &target));
      return holds(target, value, depth, verdict);
    }
    case Keyword::kNot:
      SOTTO_TRY(holds(member, value, depth, verdict));
      if (*verdict != Verdict::kOpen) *verdict = *verdict == Verdict::kTrue ? Verdict::kFalse : Verdict::kTrue;
      return Status::kOk;
    case Keyword::kAllOf:
    case Keyword::kAnyOf: {
      const Verdict decisive = keyword == Keyword::kAllOf ? Verdict::kFalse : Verdict::kTrue;
      *verdict = keyword == Keyword::kAllOf ? Verdict::kTrue : Verdict::kFalse;
      for (const uint32_t child : document_.children(member)) {
        Verdict one = Verdict::kOpen;
        SOTTO_TRY(holds(child, value, depth, &one));
        if (one == Verdict::kOpen) *verdict = one;
        if (one != decisive) continue;
        *verdict = one;
        break;
      }
      return Status::kOk;
    }
    default:
      return Status::kOk;
  }
}

}  // namespace sotto
