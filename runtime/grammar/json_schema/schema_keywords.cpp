#include "runtime/grammar/json_schema/schema_keywords.h"

namespace sotto {
namespace {

constexpr uint8_t bit(JsonType type) { return static_cast<uint8_t>(1u << static_cast<uint32_t>(type)); }
constexpr uint8_t kAny = 0x7F;
constexpr uint8_t kNumbers = bit(JsonType::kNumber);
constexpr uint8_t kStrings = bit(JsonType::kString);
constexpr uint8_t kArrays = bit(JsonType::kArray);
constexpr uint8_t kObjects = bit(JsonType::kObject);

struct Entry {
  std::string_view name;
  Keyword keyword;
  uint8_t types;
  bool modern;  // since 2019-09
};

constexpr Entry kKeywords[] = {
    {"type", Keyword::kType, kAny, false},
    {"enum", Keyword::kEnum, kAny, false},
    {"const", Keyword::kConst, kAny, false},
    {"multipleOf", Keyword::kMultipleOf, kNumbers, false},
    {"maximum", Keyword::kMaximum, kNumbers, false},
    {"exclusiveMaximum", Keyword::kExclusiveMaximum, kNumbers, false},
    {"minimum", Keyword::kMinimum, kNumbers, false},
    {"exclusiveMinimum", Keyword::kExclusiveMinimum, kNumbers, false},
    {"maxLength", Keyword::kMaxLength, kStrings, false},
    {"minLength", Keyword::kMinLength, kStrings, false},
    {"pattern", Keyword::kPattern, kStrings, false},
    {"format", Keyword::kFormat, kStrings, false},
    {"items", Keyword::kItems, kArrays, false},
    {"additionalItems", Keyword::kAdditionalItems, kArrays, false},
    {"prefixItems", Keyword::kPrefixItems, kArrays, true},
    {"maxItems", Keyword::kMaxItems, kArrays, false},
    {"minItems", Keyword::kMinItems, kArrays, false},
    {"uniqueItems", Keyword::kUniqueItems, kArrays, false},
    {"contains", Keyword::kContains, kArrays, false},
    {"minContains", Keyword::kMinContains, kArrays, true},
    {"maxContains", Keyword::kMaxContains, kArrays, true},
    {"maxProperties", Keyword::kMaxProperties, kObjects, false},
    {"minProperties", Keyword::kMinProperties, kObjects, false},
    {"required", Keyword::kRequired, kObjects, false},
    {"properties", Keyword::kProperties, kObjects, false},
    {"patternProperties", Keyword::kPatternProperties, kObjects, false},
    {"additionalProperties", Keyword::kAdditionalProperties, kObjects, false},
    {"propertyNames", Keyword::kPropertyNames, kObjects, false},
    {"dependencies", Keyword::kDependencies, kObjects, false},
    {"dependentRequired", Keyword::kDependentRequired, kObjects, true},
    {"dependentSchemas", Keyword::kDependentSchemas, kObjects, true},
    {"allOf", Keyword::kAllOf, kAny, false},
    {"anyOf", Keyword::kAnyOf, kAny, false},
    {"oneOf", Keyword::kOneOf, kAny, false},
    {"not", Keyword::kNot, kAny, false},
    {"if", Keyword::kIf, kAny, false},
    {"then", Keyword::kThen, kAny, false},
    {"else", Keyword::kElse, kAny, false},
    {"$ref", Keyword::kRef, kAny, false},
    {"$dynamicRef", Keyword::kUnsupported, kAny, true},
    {"$recursiveRef", Keyword::kUnsupported, kAny, true},
    {"unevaluatedItems", Keyword::kUnevaluatedItems, kArrays, true},
    {"unevaluatedProperties", Keyword::kUnevaluatedProperties, kObjects, true},
};

}  // namespace

Keyword find_keyword(std::string_view name, bool modern) {
  for (const Entry& entry : kKeywords) {
    if (entry.name == name && (modern || !entry.modern)) return entry.keyword;
  }
  return Keyword::kAnnotation;
}

bool concerns(Keyword keyword, JsonType type) {
  for (const Entry& entry : kKeywords) {
    if (entry.keyword != keyword) continue;
    if (keyword == Keyword::kUnsupported) return true;
    return (entry.types & bit(type)) != 0;
  }
  return false;
}

}  // namespace sotto
