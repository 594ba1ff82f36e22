// The keywords of JSON Schema that assert something, and which values they concern.
#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/grammar/json_schema/json_grammar.h"

namespace sotto {

enum class Keyword : uint8_t {
  kAnnotation,  // anything that asserts nothing
  kType,
  kEnum,
  kConst,
  kMultipleOf,
  kMaximum,
  kExclusiveMaximum,
  kMinimum,
  kExclusiveMinimum,
  kMaxLength,
  kMinLength,
  kPattern,
  kFormat,
  kItems,
  kAdditionalItems,
  kPrefixItems,
  kMaxItems,
  kMinItems,
  kUniqueItems,
  kContains,
  kMinContains,
  kMaxContains,
  kMaxProperties,
  kMinProperties,
  kRequired,
  kProperties,
  kPatternProperties,
  kAdditionalProperties,
  kUnevaluatedItems,
  kUnevaluatedProperties,
  kPropertyNames,
  kDependencies,
  kDependentRequired,
  kDependentSchemas,
  kAllOf,
  kAnyOf,
  kOneOf,
  kNot,
  kIf,
  kThen,
  kElse,
  kRef,
  kUnsupported,  // assertions that are refused
};

// `modern`: not declared to be of draft 7 or before, which lack some keywords.
Keyword find_keyword(std::string_view name, bool modern);

// False: every value of this type satisfies the keyword.
bool concerns(Keyword keyword, JsonType type);

}  // namespace sotto
