#include "runtime/grammar/json_schema/schema.h"

#include <algorithm>
#include <cstring>

#include "runtime/base/ascii.h"
#include "runtime/grammar/json_schema/format.h"
#include "runtime/grammar/json_schema/number.h"

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
  bool modern;  // whether the keyword was introduced in 2019-09 or later
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

constexpr std::string_view kIdentifiers[] = {"$id", "id"};  // "id" is that of draft 4

// Returns the first `size` characters, or all of them if there are fewer. Replaces substr(), which can throw.
std::string_view first(std::string_view text, size_t size) { return {text.data(), std::min(size, text.size())}; }

std::string_view without_fragment(std::string_view uri) { return first(uri, uri.find('#')); }

bool has_scheme(std::string_view uri) {
  const size_t colon = uri.find(':');
  return colon != std::string_view::npos && uri.find('/') > colon;
}

// Compares two references after resolving each against a base, without composing the results. An absolute reference
// replaces the base, a reference that begins with '/' replaces its path, and any other replaces its last segment.
struct Resolved {
  std::string_view base;
  std::string_view reference;

  Resolved(std::string_view base_uri, std::string_view uri) : reference(uri) {
    if (has_scheme(uri)) return;
    const size_t authority = base_uri.find("//");
    const size_t path = authority == std::string_view::npos ? 0 : base_uri.find('/', authority + 2);
    if (!uri.empty() && uri[0] == '/') {
      base = first(base_uri, path);
      return;
    }
    const size_t slash = base_uri.rfind('/');
    if (uri.empty()) {
      base = base_uri;
    } else if (slash != std::string_view::npos) {
      base = first(base_uri, slash + 1);
    }
  }
  size_t size() const { return base.size() + reference.size(); }
  char at(size_t i) const { return i < base.size() ? base[i] : reference[i - base.size()]; }
  bool operator==(const Resolved& other) const {
    if (size() != other.size()) return false;
    for (size_t i = 0; i < size(); ++i) {
      if (at(i) != other.at(i)) return false;
    }
    return true;
  }
};

// Removes the first character of a non-empty token and decodes its percent-encoding.
char take_character(std::string_view* token) {
  const std::string_view text = *token;
  const bool is_escaped = text.size() > 2 && text[0] == '%' && hex_value(text[1]) >= 0 && hex_value(text[2]) >= 0;
  token->remove_prefix(is_escaped ? 3 : 1);
  return is_escaped ? static_cast<char>(hex_value(text[1]) << 4 | hex_value(text[2])) : text[0];
}

// Does the same, and then decodes the escapes of JSON pointers.
char take_unescaped(std::string_view* token) {
  const char c = take_character(token);
  if (c != '~' || token->empty()) return c;
  std::string_view rest = *token;
  const char kind = take_character(&rest);
  if (kind != '0' && kind != '1') return c;
  *token = rest;
  return kind == '0' ? '~' : '/';
}

// Returns whether a token of a JSON pointer is the name of the member.
bool names(std::string_view token, std::string_view name) {
  for (const char c : name) {
    if (token.empty() || take_unescaped(&token) != c) return false;
  }
  return token.empty();
}

// Returns the index of an element, or kNoIndex if the token is not an index.
uint32_t index_of(std::string_view token) {
  if (token.empty()) return kNoIndex;
  uint64_t index = 0;
  for (bool is_first = true; !token.empty(); is_first = false) {
    const char c = take_character(&token);
    const bool leads_with_zero = !is_first && index == 0;
    if (c < '0' || c > '9' || leads_with_zero) return kNoIndex;
    index = index * 10 + static_cast<uint64_t>(c - '0');
    if (index >= kNoIndex) return kNoIndex;
  }
  return static_cast<uint32_t>(index);
}

constexpr uint32_t kMaxReferences = 32;

// Returns a value in the form in which messages show it.
std::string_view quoted_value(const JsonDocument& document, uint32_t node) {
  switch (document.kind(node)) {
    case JsonKind::kString:
    case JsonKind::kNumber:
      return document.text(node);
    case JsonKind::kArray:
      return document[node].count == 0 ? "an empty array" : "an array";
    case JsonKind::kObject:
      return "an object";
    case JsonKind::kTrue:
      return "true";
    case JsonKind::kFalse:
      return "false";
    case JsonKind::kNull:
      return "null";
  }
  return "";
}

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

void Schema::set_root(uint32_t node) {
  root_ = node;
  const uint32_t draft = document_.member(node, "$schema");
  if (draft != kNoIndex && document_.kind(draft) == JsonKind::kString) {
    modern_ = document_.text(draft).find("/draft-0") == std::string_view::npos;
  }
  keywords_ = workspace_.take<uint8_t>(document_.count());
  if (keywords_ != nullptr) std::memset(keywords_, 0, document_.count());
}

Keyword Schema::keyword(uint32_t member) const {
  if (keywords_ == nullptr) return find_keyword(document_.name(member), modern_);
  uint8_t& known = keywords_[member];
  if (known == 0) known = static_cast<uint8_t>(1 + static_cast<uint8_t>(find_keyword(document_.name(member), modern_)));
  return static_cast<Keyword>(known - 1);
}

Status Schema::fail_at_node(Status status, uint32_t node, const char* what) const {
  char pointer[120];
  const size_t size = document_.pointer(node, pointer, sizeof pointer);
  return fail_at(error_, status, document_[node].offset, std::span<const char>(pointer, size), ": ", what);
}

Status Schema::fail_at_value(Status status, uint32_t node, const char* subject, const char* what) const {
  constexpr size_t kShown = 40;
  char pointer[120];
  const size_t size = document_.pointer(node, pointer, sizeof pointer);
  const JsonKind kind = document_.kind(node);
  const char* const quote = kind == JsonKind::kString ? "\"" : "";
  const std::string_view value = quoted_value(document_, node);
  return fail_at(error_, status, document_[node].offset, std::span<const char>(pointer, size), " is ", quote,
                 first(value, kShown), value.size() > kShown ? "..." : "", quote, "; ", subject, what);
}

Status Schema::unsupported(uint32_t node, const char* what) const {
  const JsonKind kind = document_.kind(node);
  const bool is_short = kind == JsonKind::kString || kind == JsonKind::kNumber;
  if (is_short) return fail_at_value(Status::kGrammarUnsupported, node, "", what);
  return fail_at_node(Status::kGrammarUnsupported, node, what);
}

Status Schema::reject(uint32_t node, const char* what) const {
  return fail_at_value(Status::kGrammarSyntax, node, "it ", what);
}

Status Schema::check_memory() const {
  if (!workspace_.exhausted()) return Status::kOk;
  return fail_too_large(error_);
}

bool Schema::is_asserting(uint32_t member) const {
  const Keyword keyword = this->keyword(member);
  if (keyword == Keyword::kAnnotation) return false;
  if (keyword == Keyword::kRef || modern_) return true;
  return document_.member(document_[member].parent, "$ref") == kNoIndex;
}

uint32_t Schema::assertion(uint32_t schema, Keyword keyword) const {
  if (document_.kind(schema) != JsonKind::kObject) return kNoIndex;
  for (const uint32_t node : document_.children(schema)) {
    if (this->keyword(node) == keyword && is_asserting(node)) return node;
  }
  return kNoIndex;
}

Status Schema::count_of(uint32_t node, uint32_t* count) const {
  Decimal decimal(workspace_);
  if (document_.kind(node) != JsonKind::kNumber || !decimal.parse(document_.text(node)) || decimal.negative() ||
      !decimal.is_integer()) {
    return reject(node, "must be an integer of 0 or more");
  }
  *count = static_cast<uint32_t>(std::min<uint64_t>(decimal.to_integer(), kMaxRepetitions - 1));
  return Status::kOk;
}

bool Schema::same_value(uint32_t a, uint32_t b) const {
  if (document_.kind(a) != document_.kind(b)) return false;
  switch (document_.kind(a)) {
    case JsonKind::kString:
      return document_.text(a) == document_.text(b);
    case JsonKind::kNumber:
      return same_number(document_.text(a), document_.text(b), workspace_);
    case JsonKind::kArray:
    case JsonKind::kObject:
      return false;
    default:
      return true;
  }
}

Schema::Tuple Schema::tuple_of(uint32_t schema) const {
  Tuple tuple;
  const uint32_t prefix = assertion(schema, Keyword::kPrefixItems);
  const uint32_t items = assertion(schema, Keyword::kItems);
  if (prefix != kNoIndex) tuple.list = prefix;
  if (items != kNoIndex && document_.kind(items) == JsonKind::kArray) {
    tuple.list = items;
    tuple.rest = assertion(schema, Keyword::kAdditionalItems);
  } else {
    tuple.rest = items;
  }
  if (tuple.rest == kNoIndex) tuple.rest = assertion(schema, Keyword::kUnevaluatedItems);
  if (tuple.list != kNoIndex) tuple.count = document_[tuple.list].count;
  return tuple;
}

uint32_t Schema::additional_of(uint32_t schema) const {
  const uint32_t additional = assertion(schema, Keyword::kAdditionalProperties);
  return additional != kNoIndex ? additional : assertion(schema, Keyword::kUnevaluatedProperties);
}

bool Schema::is_seen_through(uint32_t schema) const {
  for (const Keyword keyword : {Keyword::kRef, Keyword::kAllOf, Keyword::kAnyOf, Keyword::kOneOf, Keyword::kIf,
                                Keyword::kDependencies, Keyword::kDependentSchemas, Keyword::kContains}) {
    if (assertion(schema, keyword) != kNoIndex) return true;
  }
  return false;
}

// Returns the innermost schema with an identifier that contains `node` or is it, or the root.
uint32_t Schema::resource_of(uint32_t node) const {
  for (; node != kNoIndex && node != root_; node = document_[node].parent) {
    if (identifier_of(node) != kNoIndex) return node;
  }
  return root_;
}

// Returns the member of a schema that is its identifier, unless that is only a fragment.
uint32_t Schema::identifier_of(uint32_t node) const {
  if (document_.kind(node) != JsonKind::kObject) return kNoIndex;
  if (!modern_ && document_.member(node, "$ref") != kNoIndex) return kNoIndex;
  for (const std::string_view name : kIdentifiers) {
    if (modern_ && name == "id") continue;
    const uint32_t id = document_.member(node, name);
    if (id == kNoIndex || document_.kind(id) != JsonKind::kString) continue;
    if (!document_.text(id).empty() && document_.text(id)[0] != '#') return is_schema_place(node) ? id : kNoIndex;
  }
  return kNoIndex;
}

// Returns whether a schema may be at the place of a node. A node inside enum or const values is no schema.
bool Schema::is_schema_place(uint32_t node) const {
  while (node != root_ && node != 0) {
    const uint32_t parent = document_[node].parent;
    if (document_.kind(parent) == JsonKind::kArray) {
      node = parent;
      continue;
    }
    const std::string_view name = document_.name(node);
    if (name == "const" || name == "enum" || name == "default" || name == "examples") {
      // Unless it is the name of a property.
      const uint32_t grandparent = document_[parent].parent;
      const std::string_view holder = grandparent == kNoIndex ? std::string_view() : document_.name(parent);
      if (holder != "properties" && holder != "$defs" && holder != "definitions") return false;
    }
    node = parent;
  }
  return true;
}

std::string_view Schema::base_uri(uint32_t resource) const {
  const uint32_t id = identifier_of(resource);
  return id == kNoIndex ? std::string_view() : without_fragment(document_.text(id));
}

// Returns the absolute identifier against which relative ones are resolved: the one of the innermost schema around
// `resource` that has one.
std::string_view Schema::absolute_base(uint32_t resource) const {
  while (resource != root_) {
    if (has_scheme(base_uri(resource))) return base_uri(resource);
    resource = resource_of(document_[resource].parent);
  }
  return base_uri(root_);
}

uint32_t Schema::find_identifier(std::string_view uri, uint32_t from) const {
  const Resolved wanted(absolute_base(from), uri);
  for (uint32_t node = 0; node < document_.count(); ++node) {
    const uint32_t id = identifier_of(node);
    if (id == kNoIndex) continue;
    const std::string_view own = without_fragment(document_.text(id));
    const std::string_view base =
        node == root_ ? std::string_view() : absolute_base(resource_of(document_[node].parent));
    if (Resolved(base, own) == wanted) return node;
  }
  return kNoIndex;
}

uint32_t Schema::find_anchor(uint32_t resource, std::string_view name) const {
  for (uint32_t node = 0; node < document_.count(); ++node) {
    if (document_.kind(node) != JsonKind::kObject || resource_of(node) != resource) continue;
    for (const std::string_view keyword : {"$anchor", "$dynamicAnchor", "$id", "id"}) {
      const uint32_t anchor = document_.member(node, keyword);
      if (anchor == kNoIndex || document_.kind(anchor) != JsonKind::kString) continue;
      std::string_view text = document_.text(anchor);
      if (keyword == "$id" || keyword == "id") {
        if (text.empty() || text[0] != '#') continue;
        text.remove_prefix(1);
      }
      if (text == name && is_schema_place(node)) return node;
    }
  }
  return kNoIndex;
}

uint32_t Schema::child_of(uint32_t node, std::string_view token) const {
  if (document_.kind(node) == JsonKind::kArray) return document_.element(node, index_of(token));
  if (document_.kind(node) != JsonKind::kObject) return kNoIndex;
  for (const uint32_t child : document_.children(node)) {
    if (names(token, document_.name(child))) return child;
  }
  return kNoIndex;
}

uint32_t Schema::follow_pointer(uint32_t from, std::string_view pointer) const {
  while (!pointer.empty() && from != kNoIndex) {
    pointer.remove_prefix(1);  // removes the '/'
    const std::string_view token = first(pointer, pointer.find('/'));
    pointer.remove_prefix(token.size());
    from = child_of(from, token);
  }
  return from;
}

Status Schema::resolve(uint32_t member, uint32_t* target) const {
  if (document_.kind(member) != JsonKind::kString) return reject(member, "must be a string");
  const std::string_view uri = document_.text(member);
  uint32_t resource = resource_of(member);
  const std::string_view path = without_fragment(uri);
  if (!path.empty()) {
    resource = find_identifier(path, resource);
    if (resource == kNoIndex) return unsupported(member, "references to other documents are not supported");
  }
  *target = resource;
  if (uri.size() > path.size() + 1) {
    const std::string_view fragment(uri.data() + path.size() + 1, uri.size() - path.size() - 1);
    *target = fragment[0] == '/' ? follow_pointer(resource, fragment) : find_anchor(resource, fragment);
  }
  if (*target == kNoIndex) return reject(member, "must refer to a place in this document");
  return Status::kOk;
}

Status Schema::skip_references(uint32_t* schema) const {
  for (uint32_t i = 0; i < kMaxReferences; ++i) {
    if (document_.kind(*schema) != JsonKind::kObject) return Status::kOk;
    uint32_t reference = kNoIndex;
    for (const uint32_t m : document_.children(*schema)) {
      if (!is_asserting(m)) continue;
      if (keyword(m) != Keyword::kRef) return Status::kOk;
      reference = m;
    }
    if (reference == kNoIndex) return Status::kOk;
    SOTTO_TRY(resolve(reference, schema));
  }
  return Status::kOk;
}

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

// A keyword that is handled with another one counts as true.
Status TypeVerdicts::of_keyword(uint32_t member, Verdict* verdict) const {
  const Keyword keyword = schema_.keyword(member);
  const uint32_t schema = document_[member].parent;
  const JsonKind kind = document_.kind(member);
  const auto has = [&](Keyword other) { return schema_.assertion(schema, other) != kNoIndex; };
  *verdict = Verdict::kTrue;
  if (!schema_.is_asserting(member) || !concerns(keyword, type_)) return Status::kOk;
  *verdict = Verdict::kOpen;
  bool idle = false;
  switch (keyword) {
    case Keyword::kType:
      return of_type_keyword(member, verdict);
    case Keyword::kEnum:
    case Keyword::kConst: {
      const bool is_const = keyword == Keyword::kConst;
      if (!is_const && kind != JsonKind::kArray) return schema_.reject(member, "must be an array");
      *verdict = Verdict::kFalse;
      for (const uint32_t v : document_.values(member, !is_const)) {
        if (schema_.type_of(v) == type_) *verdict = type_ < JsonType::kNumber ? Verdict::kTrue : Verdict::kOpen;
      }
      return Status::kOk;
    }
    case Keyword::kFormat:
      idle = !schema_.options().assert_formats || kind != JsonKind::kString || !is_known_format(document_.text(member));
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
      idle = true;  // handled with "contains"
      break;
    case Keyword::kPatternProperties:
      idle = has(Keyword::kProperties);
      break;
    case Keyword::kAdditionalProperties:
      idle = kind == JsonKind::kTrue || has(Keyword::kProperties) || has(Keyword::kPatternProperties);
      break;
    case Keyword::kUnevaluatedProperties:
      idle = kind == JsonKind::kTrue || has(Keyword::kAdditionalProperties);
      if (!idle && !schema_.is_seen_through(schema))
        idle = has(Keyword::kProperties) || has(Keyword::kPatternProperties);
      break;
    case Keyword::kUnevaluatedItems:
      idle = kind == JsonKind::kTrue ||
             (has(Keyword::kItems) && document_.kind(schema_.assertion(schema, Keyword::kItems)) != JsonKind::kArray);
      if (!idle && !schema_.is_seen_through(schema)) idle = has(Keyword::kPrefixItems) || has(Keyword::kItems);
      break;
    case Keyword::kItems:
      idle = has(Keyword::kPrefixItems);
      break;
    case Keyword::kAdditionalItems:
      idle = true;  // handled with "items"
      break;
    case Keyword::kUniqueItems:
      idle = kind == JsonKind::kFalse;
      break;
    case Keyword::kExclusiveMinimum:
    case Keyword::kExclusiveMaximum:
      idle = kind == JsonKind::kFalse || kind == JsonKind::kTrue;  // draft 4: handled with the bound
      break;
    default:
      break;
  }
  if (idle) *verdict = Verdict::kTrue;
  return Status::kOk;
}

// If only integers are allowed, the verdict on numbers is open.
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

bool TypeVerdicts::is_finite(uint32_t schema, JsonDocument::Range* values) const {
  const uint32_t value = schema_.assertion(schema, Keyword::kConst);
  const uint32_t list = schema_.assertion(schema, Keyword::kEnum);
  const bool is_list = value == kNoIndex && list != kNoIndex && document_.kind(list) == JsonKind::kArray;
  if (value == kNoIndex && !is_list) return false;
  *values = document_.values(is_list ? list : value, is_list);
  return true;
}

bool TypeVerdicts::values_disjoint(uint32_t a, uint32_t b) const {
  JsonDocument::Range values_a = document_.children(kNoIndex);
  JsonDocument::Range values_b = values_a;
  if (!is_finite(a, &values_a) || !is_finite(b, &values_b)) return false;
  for (const uint32_t v : values_a) {
    for (const uint32_t w : values_b) {
      const bool composite = schema_.type_of(v) >= JsonType::kArray && schema_.type_of(v) == schema_.type_of(w);
      if (composite || schema_.same_value(v, w)) return false;
    }
  }
  return true;
}

bool TypeVerdicts::requires_name(uint32_t schema, std::string_view name) const {
  const uint32_t required = schema_.assertion(schema, Keyword::kRequired);
  if (required == kNoIndex || document_.kind(required) != JsonKind::kArray) return false;
  for (const uint32_t n : document_.children(required)) {
    if (document_.kind(n) == JsonKind::kString && document_.text(n) == name) return true;
  }
  return false;
}

// Sets `*result` to true if both schemas require a property that cannot satisfy both of them.
Status TypeVerdicts::properties_disjoint(uint32_t a, uint32_t b, bool* result) const {
  const uint32_t properties = schema_.assertion(a, Keyword::kProperties);
  const uint32_t others = schema_.assertion(b, Keyword::kProperties);
  for (const uint32_t p : document_.children(properties)) {
    const std::string_view name = document_.name(p);
    uint32_t q = document_.member(others, name);
    if (q == kNoIndex || (!requires_name(a, name) && !requires_name(b, name))) continue;
    uint32_t value = p;
    SOTTO_TRY(schema_.skip_references(&value));
    SOTTO_TRY(schema_.skip_references(&q));
    if (values_disjoint(value, q)) *result = true;
    bool common = false;
    for (uint32_t t = 0; t < kJsonTypeCount; ++t) {
      const TypeVerdicts of_type(schema_, static_cast<JsonType>(t));
      Verdict first = Verdict::kOpen;
      Verdict second = Verdict::kOpen;
      SOTTO_TRY(of_type.of_schema(value, &first));
      SOTTO_TRY(of_type.of_schema(q, &second));
      common = common || (first != Verdict::kFalse && second != Verdict::kFalse);
    }
    if (!common) *result = true;
    if (*result) return Status::kOk;
  }
  const uint32_t additional = schema_.assertion(b, Keyword::kAdditionalProperties);
  const bool closed = additional != kNoIndex && document_.kind(additional) == JsonKind::kFalse &&
                      schema_.assertion(b, Keyword::kPatternProperties) == kNoIndex;
  const uint32_t required = schema_.assertion(a, Keyword::kRequired);
  if (!closed || required == kNoIndex) return Status::kOk;
  for (const uint32_t n : document_.children(required)) {
    if (document_.kind(n) == JsonKind::kString && document_.member(others, document_.text(n)) == kNoIndex)
      *result = true;
  }
  return Status::kOk;
}

Status TypeVerdicts::disjoint(uint32_t a, uint32_t b, bool* result) const {
  *result = false;
  SOTTO_TRY(schema_.skip_references(&a));
  SOTTO_TRY(schema_.skip_references(&b));
  for (const uint32_t schema : {a, b}) {
    Verdict verdict = Verdict::kOpen;
    SOTTO_TRY(of_schema(schema, &verdict));
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
