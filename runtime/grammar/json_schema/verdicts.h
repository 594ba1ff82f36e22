// Verdicts on schemas, found without expanding them. There are three verdicts for a JSON type: a schema holds for all
// values, a schema holds for none, or several schemas have no value in common. Where a verdict is certain, the
// expansion (expansion.h) needs no branch.
//
// Example: {"minimum": 3} holds for all strings, because "minimum" asserts something only about numbers; and {"const":
// 1} and {"const": 2} have no value in common.
#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/grammar/json_schema/patterns.h"
#include "runtime/grammar/json_schema/schema.h"

namespace sotto {

enum class Verdict : uint8_t { kFalse, kTrue, kOpen };

// Verdicts on the values of one type.
class TypeVerdicts {
 public:
  TypeVerdicts(const Schema& schema, JsonType type) : schema_(schema), document_(schema.document()), type_(type) {}

  Status of_schema(uint32_t schema, Verdict* verdict) const;
  Status of_keyword(uint32_t member, Verdict* verdict) const;

 private:
  Status of_type_keyword(uint32_t member, Verdict* verdict) const;
  bool is_idle(uint32_t member) const;

  const Schema& schema_;
  const JsonDocument& document_;
  JsonType type_;
};

// Schemas that one value must satisfy together.
class Conjunction {
 public:
  Conjunction(const Schema& schema, Patterns& patterns)
      : schema_(schema), document_(schema.document()), patterns_(patterns) {}

  // Adds a schema and those that it contains by $ref and allOf.
  Status add(uint32_t schema);
  // Sets `*result` to true if certainly no value of the type satisfies all schemas, and to false otherwise. Examines
  // properties up to the given depth.
  Status is_empty(JsonType type, uint32_t depth, bool* result);

 private:
  // Maximum number of schemas. Further ones are ignored, which is safe but leaves more results open.
  static constexpr uint32_t kMaxSchemas = 24;

  std::span<const uint32_t> schemas() const { return {schemas_, count_}; }
  Status values_rejected(JsonType type, bool* result);
  Status members_rejected(uint32_t depth, bool* result);
  Status member_rejected(std::string_view name, uint32_t depth, bool* result);
  Status holds(uint32_t schema, uint32_t value, uint32_t depth, Verdict* verdict);
  Status keyword_holds(uint32_t member, uint32_t value, uint32_t depth, Verdict* verdict);
  bool requires_name(std::string_view name) const;
  bool excludes_required(uint32_t schema) const;

  const Schema& schema_;
  const JsonDocument& document_;
  Patterns& patterns_;
  uint32_t schemas_[kMaxSchemas];
  uint32_t count_ = 0;
};

}  // namespace sotto
