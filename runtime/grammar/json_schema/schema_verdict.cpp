// What can be said of a schema at a glance: that it holds for all values of a type, or none,
// or that two schemas have no value in common.
#include "runtime/grammar/json_schema/schema_compiler.h"
#include "runtime/grammar/json_schema/schema_format.h"

namespace sotto {
namespace {

constexpr uint32_t kMaxReferences = 32;

}  // namespace

Status SchemaCompiler::skip_references(uint32_t* schema) {
  for (uint32_t i = 0; i < kMaxReferences; ++i) {
    if (document_.kind(*schema) != JsonKind::kObject) return Status::kOk;
    uint32_t reference = kNone;
    for (uint32_t m = document_[*schema].first; m != kNone; m = document_[m].next) {
      if (!is_asserting(m)) continue;
      if (keyword(m) != Keyword::kRef) return Status::kOk;
      reference = m;
    }
    if (reference == kNone) return Status::kOk;
    SOTTO_TRY(resolve(reference, schema));
  }
  return Status::kOk;
}

Status SchemaCompiler::verdict(uint32_t schema, Verdict* verdict) {
  SOTTO_TRY(skip_references(&schema));
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
      return reject(schema, "a schema must be an object or a boolean");
  }
  for (uint32_t m = document_[schema].first; m != kNone; m = document_[m].next) {
    Verdict one = Verdict::kTrue;
    SOTTO_TRY(keyword_verdict(m, &one));
    if (one == Verdict::kOpen) *verdict = one;
    if (one == Verdict::kFalse) {
      *verdict = one;
      return Status::kOk;
    }
  }
  return Status::kOk;
}

Status SchemaCompiler::keyword_verdict(uint32_t member, Verdict* verdict) {
  const Keyword keyword = this->keyword(member);
  const uint32_t schema = document_[member].parent;
  const JsonKind kind = document_.kind(member);
  const auto has = [&](Keyword other) { return assertion(schema, other) != kNone; };
  *verdict = Verdict::kTrue;
  if (!is_asserting(member) || !concerns(keyword, type_)) return Status::kOk;
  *verdict = Verdict::kOpen;
  bool idle = false;
  switch (keyword) {
    case Keyword::kType:
      return type_verdict(member, verdict);
    case Keyword::kEnum:
    case Keyword::kConst: {
      const bool is_const = keyword == Keyword::kConst;
      if (!is_const && kind != JsonKind::kArray) return reject(member, "must be an array");
      *verdict = Verdict::kFalse;
      for (uint32_t v = is_const ? member : document_[member].first; v != kNone;
           v = is_const ? kNone : document_[v].next) {
        if (type_of(v) == type_) *verdict = type_ < JsonType::kNumber ? Verdict::kTrue : Verdict::kOpen;
      }
      return Status::kOk;
    }
    case Keyword::kFormat:
      idle = !options_.assert_formats || kind != JsonKind::kString || !is_known_format(document_.text(member));
      break;
    case Keyword::kThen:
    case Keyword::kElse:
      idle = true;
      break;
    case Keyword::kIf:
      idle = !has(Keyword::kThen) && !has(Keyword::kElse);
      break;
    case Keyword::kMinContains:
    case Keyword::kMaxContains:
      idle = true;  // said together with "contains"
      break;
    case Keyword::kPatternProperties:
      idle = has(Keyword::kProperties);
      break;
    case Keyword::kAdditionalProperties:
      idle = kind == JsonKind::kTrue || has(Keyword::kProperties) || has(Keyword::kPatternProperties);
      break;
    case Keyword::kUnevaluatedProperties:
      idle = kind == JsonKind::kTrue || has(Keyword::kAdditionalProperties);
      if (!idle && !is_seen_through(schema)) idle = has(Keyword::kProperties) || has(Keyword::kPatternProperties);
      break;
    case Keyword::kUnevaluatedItems:
      idle = kind == JsonKind::kTrue ||
             (has(Keyword::kItems) && document_.kind(assertion(schema, Keyword::kItems)) != JsonKind::kArray);
      if (!idle && !is_seen_through(schema)) idle = has(Keyword::kPrefixItems) || has(Keyword::kItems);
      break;
    case Keyword::kItems:
      idle = has(Keyword::kPrefixItems);
      break;
    case Keyword::kAdditionalItems:
      idle = true;  // said together with "items"
      break;
    case Keyword::kUniqueItems:
      idle = kind == JsonKind::kFalse;
      break;
    case Keyword::kExclusiveMinimum:
    case Keyword::kExclusiveMaximum:
      idle = kind == JsonKind::kFalse || kind == JsonKind::kTrue;  // draft 4: said with the bound
      break;
    default:
      break;
  }
  if (idle) *verdict = Verdict::kTrue;
  return Status::kOk;
}

// Whether keywords of other schemas about the same value count as beside these.
bool SchemaCompiler::is_seen_through(uint32_t schema) const {
  for (const Keyword keyword : {Keyword::kRef, Keyword::kAllOf, Keyword::kAnyOf, Keyword::kOneOf, Keyword::kIf,
                                Keyword::kDependencies, Keyword::kDependentSchemas, Keyword::kContains}) {
    if (assertion(schema, keyword) != kNone) return true;
  }
  return false;
}

Status SchemaCompiler::type_verdict(uint32_t member, Verdict* verdict) {
  uint32_t mask = 0;
  bool integers = false;
  const bool is_list = document_.kind(member) == JsonKind::kArray;
  for (uint32_t name = is_list ? document_[member].first : member; name != kNone;
       name = is_list ? document_[name].next : kNone) {
    if (document_.kind(name) != JsonKind::kString) return reject(name, "must be the name of a type");
    const std::string_view text = document_.text(name);
    constexpr std::string_view kNames[] = {"null", "boolean", "boolean", "number", "string", "array", "object"};
    bool known = text == "integer";
    integers = integers || known;
    for (uint32_t i = 0; i < kJsonTypeCount; ++i) {
      if (text != kNames[i]) continue;
      mask |= 1u << i;
      known = true;
    }
    if (!known) return reject(name, "must be the name of a type");
  }
  *verdict = (mask >> static_cast<uint32_t>(type_) & 1) != 0 ? Verdict::kTrue : Verdict::kFalse;
  if (type_ == JsonType::kNumber && *verdict == Verdict::kFalse && integers) *verdict = Verdict::kOpen;
  return Status::kOk;
}

uint32_t SchemaCompiler::finite_values(uint32_t schema, bool* is_list) const {
  *is_list = false;
  const uint32_t value = assertion(schema, Keyword::kConst);
  if (value != kNone) return value;
  const uint32_t values = assertion(schema, Keyword::kEnum);
  *is_list = values != kNone && document_.kind(values) == JsonKind::kArray;
  return *is_list ? values : kNone;
}

bool SchemaCompiler::values_disjoint(uint32_t a, uint32_t b) const {
  bool list_a = false;
  bool list_b = false;
  const uint32_t values_a = finite_values(a, &list_a);
  const uint32_t values_b = finite_values(b, &list_b);
  if (values_a == kNone || values_b == kNone) return false;
  for (uint32_t v = list_a ? document_[values_a].first : values_a; v != kNone; v = list_a ? document_[v].next : kNone) {
    for (uint32_t w = list_b ? document_[values_b].first : values_b; w != kNone;
         w = list_b ? document_[w].next : kNone) {
      const bool composite = type_of(v) >= JsonType::kArray && type_of(v) == type_of(w);
      if (composite || same_value(v, w)) return false;
    }
  }
  return true;
}

bool SchemaCompiler::requires_name(uint32_t schema, std::string_view name) const {
  const uint32_t required = assertion(schema, Keyword::kRequired);
  if (required == kNone || document_.kind(required) != JsonKind::kArray) return false;
  for (uint32_t n = document_[required].first; n != kNone; n = document_[n].next) {
    if (document_.kind(n) == JsonKind::kString && document_.text(n) == name) return true;
  }
  return false;
}

// Both schemas want a property that cannot satisfy both.
Status SchemaCompiler::properties_disjoint(uint32_t a, uint32_t b, bool* result) {
  const uint32_t properties = assertion(a, Keyword::kProperties);
  const uint32_t others = assertion(b, Keyword::kProperties);
  for (uint32_t p = properties == kNone ? kNone : document_[properties].first; p != kNone; p = document_[p].next) {
    const std::string_view name = document_.name(p);
    uint32_t q = document_.member(others, name);
    if (q == kNone || (!requires_name(a, name) && !requires_name(b, name))) continue;
    uint32_t value = p;
    SOTTO_TRY(skip_references(&value));
    SOTTO_TRY(skip_references(&q));
    if (values_disjoint(value, q)) *result = true;
    bool common = false;
    const JsonType type = type_;
    for (uint32_t t = 0; t < kJsonTypeCount; ++t) {
      type_ = static_cast<JsonType>(t);
      Verdict first = Verdict::kOpen;
      Verdict second = Verdict::kOpen;
      Status status = verdict(value, &first);
      if (status == Status::kOk) status = verdict(q, &second);
      if (status != Status::kOk) return status;
      common = common || (first != Verdict::kFalse && second != Verdict::kFalse);
    }
    type_ = type;
    if (!common) *result = true;
    if (*result) return Status::kOk;
  }
  const uint32_t additional = assertion(b, Keyword::kAdditionalProperties);
  const bool closed = additional != kNone && document_.kind(additional) == JsonKind::kFalse &&
                      assertion(b, Keyword::kPatternProperties) == kNone;
  const uint32_t required = assertion(a, Keyword::kRequired);
  if (!closed || required == kNone) return Status::kOk;
  for (uint32_t n = document_[required].first; n != kNone; n = document_[n].next) {
    if (document_.kind(n) == JsonKind::kString && document_.member(others, document_.text(n)) == kNone) *result = true;
  }
  return Status::kOk;
}

Status SchemaCompiler::disjoint(uint32_t a, uint32_t b, bool* result) {
  *result = false;
  SOTTO_TRY(skip_references(&a));
  SOTTO_TRY(skip_references(&b));
  for (const uint32_t schema : {a, b}) {
    Verdict verdict = Verdict::kOpen;
    SOTTO_TRY(this->verdict(schema, &verdict));
    if (verdict == Verdict::kFalse) *result = true;
  }
  if (*result) return Status::kOk;
  *result = values_disjoint(a, b);
  if (*result || type_ != JsonType::kObject) return Status::kOk;
  SOTTO_TRY(properties_disjoint(a, b, result));
  if (!*result) SOTTO_TRY(properties_disjoint(b, a, result));
  return Status::kOk;
}

}  // namespace sotto
