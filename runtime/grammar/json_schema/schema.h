// A JSON Schema document: its keywords, its references, and what can be said about its schemas without expanding them.
//
// The document stays as it was parsed: schemas, keywords and values are all node numbers. Schema answers questions
// about nodes: which keyword a member is, whether it asserts anything, which schema a $ref refers to, and what a
// keyword means for the values of one JSON type. The expansion (expansion.h) and the builders use it.
#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/grammar/json_schema/json_grammar.h"

namespace sotto {

// The keywords of JSON Schema.
enum class Keyword : uint8_t {
  kAnnotation,  // all keywords that assert nothing
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
  kUnsupported,  // assertions that are rejected
};

inline constexpr uint32_t kNewestDraft = 2020;

// Finds a keyword of a draft: 4, 6, 7, or the year of a later one. A keyword that the draft does not define yet is an
// annotation.
Keyword find_keyword(std::string_view name, uint32_t draft);

// Returns false if every value of this type satisfies the keyword.
bool concerns(Keyword keyword, JsonType type);

class Schema {
 public:
  Schema(const JsonDocument& document, const GrammarParams& options, Workspace& workspace, Error* error)
      : document_(document),
        options_(options),
        workspace_(workspace),
        error_(error),
        draft_(options.schema_draft),
        resources_(workspace),
        named_(workspace) {}

  // Sets the root schema. Its $schema may name the draft.
  void set_root(uint32_t node);

  const JsonDocument& document() const { return document_; }
  const GrammarParams& options() const { return options_; }
  Workspace& workspace() const { return workspace_; }
  Error* error() const { return error_; }

  // Each of these functions returns a failure. unsupported() says that no exact grammar is known for the keyword, and
  // reject() that its value is invalid. `what` completes the message; for reject() it follows "it".
  Status unsupported(uint32_t node, const char* what) const;
  Status reject(uint32_t node, const char* what) const;
  // As unsupported(), for a count above a limit of this compiler.
  Status unsupported_count(uint32_t node, const char* what, uint32_t count, uint32_t limit) const;
  Status fail_at_node(Status status, uint32_t node, const char* what) const;
  // Counts steps of work that can grow faster than the document.
  void spend(uint64_t steps) const { steps_ += steps; }
  // Fails if the workspace is exhausted, or if more than max_schema_steps were spent. In the second case, the error has
  // an offset, because more memory would not help.
  Status check_limits() const;
  // Fails if keywords could not be combined to one automaton: as check_limits(), or else as unsupported(node, what).
  Status check_combined(bool is_combined, uint32_t node, const char* what) const;

  // Warns about members of schemas that look like assertions but assert nothing: unknown keywords and formats, and
  // keywords that the draft does not define.
  void warn() const;

  Keyword keyword(uint32_t member) const;
  bool is_asserting(uint32_t member) const;
  // Returns the member of a schema with this keyword, or kNoIndex.
  uint32_t assertion(uint32_t schema, Keyword keyword) const;
  Status count_of(uint32_t node, uint32_t* count) const;
  JsonType type_of(uint32_t value) const { return static_cast<JsonType>(document_.kind(value)); }
  // Returns whether two values are equal. Returns false for arrays and objects.
  bool same_value(uint32_t a, uint32_t b) const;

  // The meaning of "items" and its related keywords: schemas of the first elements, and the schema of all other
  // elements.
  struct Tuple {
    uint32_t list = kNoIndex;
    uint32_t count = 0;
    uint32_t rest = kNoIndex;
  };
  Tuple tuple_of(uint32_t schema) const;
  // Returns additionalProperties, or unevaluatedProperties if it means the same in this schema.
  uint32_t additional_of(uint32_t schema) const;
  // Returns whether unevaluatedProperties and unevaluatedItems must also consider the keywords of schemas to which this
  // schema refers.
  bool is_seen_through(uint32_t schema) const;

  // Finds the schema that a $ref refers to, by JSON pointer, anchor or identifier, within the document.
  Status resolve(uint32_t member, uint32_t* target) const;
  // Follows schemas that consist only of a $ref, and returns the target of the last $ref.
  Status skip_references(uint32_t* schema) const;

 private:
  Status fail_at_value(Status status, uint32_t node, const char* subject, const char* what, Error* error) const;
  // Returns whether the draft is later than 7. In earlier drafts, $ref hides its siblings.
  bool is_modern() const { return draft_ > 7; }
  // A schema with an identifier, or the root. `base` is its absolute identifier, against which relative ones inside it
  // are resolved.
  struct Resource {
    uint32_t node;
    std::string_view base;
  };
  // A schema that references can name: by an identifier relative to `base`, or by an anchor of the resource.
  struct NamedSchema {
    uint32_t node;
    uint32_t resource;
    bool is_anchor;
    std::string_view base;
    std::string_view name;
  };
  // The kinds of content that a node may have: no schema, a schema, or a list or an object of schemas.
  enum class Place : uint8_t { kNone, kSchema, kSchemaOrList, kList, kMap };

  void read_names();
  const char* warning_of(uint32_t member) const;
  static Place place_of(std::string_view keyword);
  Place place_of_child(Place parent, uint32_t child) const;
  std::string_view identifier_of(uint32_t schema) const;
  uint32_t hash_of(const NamedSchema& named) const;
  uint32_t find_name(const NamedSchema& wanted) const;
  uint32_t child_of(uint32_t node, std::string_view token) const;
  uint32_t follow_pointer(uint32_t from, std::string_view pointer) const;

  const JsonDocument& document_;
  const GrammarParams& options_;
  Workspace& workspace_;
  Error* error_;
  uint32_t root_ = 0;
  uint32_t node_count_ = 0;  // number of nodes of the root schema
  uint32_t draft_;
  // For each node, 1 + the keyword that its name is, or 0 before the first look-up.
  uint8_t* keywords_ = nullptr;
  Place* places_ = nullptr;          // for each node of the root schema
  uint32_t* resource_of_ = nullptr;  // for each node of the root schema, the number of the innermost resource around it
  GrowingArray<Resource> resources_;
  GrowingArray<NamedSchema> named_;
  HashIndex names_;  // index of named_
  mutable uint64_t steps_ = 0;
};

}  // namespace sotto
