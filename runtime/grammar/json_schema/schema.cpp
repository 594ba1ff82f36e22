#include "runtime/grammar/json_schema/schema.h"

#include <algorithm>
#include <bit>
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
  bool modern;  // true if the keyword was introduced in 2019-09 or later
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

// Bounds the time of compiling to about a second.
constexpr uint64_t kMaxSchemaSteps = 100'000'000;

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
  read_names();
}

Keyword Schema::keyword(uint32_t member) const {
  spend(1);
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

Status Schema::check_limits() const {
  if (workspace_.exhausted()) return fail_too_large(error_);
  if (steps_ <= kMaxSchemaSteps) return Status::kOk;
  return fail(error_, Status::kGrammarUnsupported, "the schema takes too many steps to compile");
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
  spend(1);
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

// Collects the identifiers and anchors of the root schema and those inside it. Only keywords that contain schemas lead
// to them: the values of enum, const and unknown keywords are not schemas, even if they look like it.
void Schema::read_names() {
  uint32_t end = root_ + 1;
  while (end < document_.count() && document_[end].parent != kNoIndex && document_[end].parent >= root_) ++end;
  resource_of_ = workspace_.take<uint32_t>(end - root_);
  auto* const places = workspace_.take<Place>(end - root_);
  if (resource_of_ == nullptr || places == nullptr) return;
  resources_.push({root_, without_fragment(identifier_of(root_))});
  for (uint32_t node = root_; node < end; ++node) {
    const uint32_t parent = document_[node].parent;
    const bool is_root = node == root_;
    const Place place = is_root ? Place::kSchema : place_of_child(places[parent - root_], node);
    uint32_t resource = is_root ? 0 : resource_of_[parent - root_];
    places[node - root_] = place;
    if (place == Place::kSchema || place == Place::kSchemaOrList) {
      const std::string_view identifier = without_fragment(identifier_of(node));
      if (!identifier.empty()) {
        const std::string_view base = is_root ? std::string_view() : resources_[resource].base;
        named_.push({node, 0, false, base, identifier});
        if (!is_root) resource = resources_.push({node, has_scheme(identifier) ? identifier : base});
      }
      for (const std::string_view keyword : {"$anchor", "$dynamicAnchor", "$id", "id"}) {
        const uint32_t anchor = document_.member(node, keyword);
        if (anchor == kNoIndex || document_.kind(anchor) != JsonKind::kString) continue;
        std::string_view name = document_.text(anchor);
        if (keyword == "$id" || keyword == "id") {
          if (name.empty() || name[0] != '#') continue;
          name.remove_prefix(1);
        }
        named_.push({node, resource, true, {}, name});
      }
    }
    resource_of_[node - root_] = resource;
  }
  const uint32_t slot_count = std::bit_ceil(named_.size() + named_.size() / 2 + 1);
  auto* const slots = workspace_.take<uint32_t>(slot_count);
  if (slots == nullptr) return;
  names_.use(slots, slot_count);
  for (uint32_t i = 0; i < named_.size() && steps_ <= kMaxSchemaSteps; ++i) {
    if (find_name(named_[i]) == kNoIndex) names_.insert(hash_of(named_[i]), i);  // the first of equal names counts
  }
}

Schema::Place Schema::place_of(std::string_view keyword) {
  for (const std::string_view name :
       {"additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if", "not", "propertyNames",
        "then", "unevaluatedItems", "unevaluatedProperties"}) {
    if (name == keyword) return Place::kSchema;
  }
  for (const std::string_view name : {"allOf", "anyOf", "oneOf", "prefixItems"}) {
    if (name == keyword) return Place::kList;
  }
  for (const std::string_view name :
       {"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"}) {
    if (name == keyword) return Place::kMap;
  }
  return keyword == "items" ? Place::kSchemaOrList : Place::kNone;
}

Schema::Place Schema::place_of_child(Place parent, uint32_t child) const {
  const bool is_element = document_.kind(document_[child].parent) == JsonKind::kArray;
  switch (parent) {
    case Place::kSchemaOrList:
      return is_element ? Place::kSchema : place_of(document_.name(child));
    case Place::kSchema:
      return is_element ? Place::kNone : place_of(document_.name(child));
    case Place::kList:
      return is_element ? Place::kSchema : Place::kNone;
    case Place::kMap:
      return is_element ? Place::kNone : Place::kSchema;
    default:
      return Place::kNone;
  }
}

// Returns the identifier of a schema, or an empty text if it has none or it is only a fragment.
std::string_view Schema::identifier_of(uint32_t schema) const {
  if (!modern_ && document_.member(schema, "$ref") != kNoIndex) return {};
  for (const std::string_view name : {"$id", "id"}) {
    if (modern_ && name == "id") continue;  // the name of draft 4
    const uint32_t id = document_.member(schema, name);
    if (id == kNoIndex || document_.kind(id) != JsonKind::kString) continue;
    if (!document_.text(id).empty() && document_.text(id)[0] != '#') return document_.text(id);
  }
  return {};
}

uint32_t Schema::hash_of(const NamedSchema& named) const {
  const Resolved name(named.base, named.name);
  spend(name.size());
  uint64_t hash = 14695981039346656037u ^ named.resource;  // FNV-1a
  for (size_t i = 0; i < name.size(); ++i) hash = (hash ^ static_cast<uint8_t>(name.at(i))) * 1099511628211u;
  return static_cast<uint32_t>(hash ^ hash >> 32);
}

// Returns the first schema in the document with this name, or kNoIndex.
uint32_t Schema::find_name(const NamedSchema& wanted) const {
  const uint32_t found = names_.find(hash_of(wanted), [&](uint32_t i) {
    const NamedSchema& known = named_[i];
    spend(1);
    return known.is_anchor == wanted.is_anchor && known.resource == wanted.resource &&
           Resolved(known.base, known.name) == Resolved(wanted.base, wanted.name);
  });
  return found == HashIndex::kAbsent ? kNoIndex : named_[found].node;
}

uint32_t Schema::child_of(uint32_t node, std::string_view token) const {
  if (document_.kind(node) == JsonKind::kArray) return document_.element(node, index_of(token));
  const size_t mark = workspace_.size();
  char* const name = workspace_.take<char>(token.size());
  if (name == nullptr) return kNoIndex;  // check_limits() reports that the workspace is exhausted
  size_t size = 0;
  while (!token.empty()) name[size++] = take_unescaped(&token);
  const uint32_t child = document_.member(node, {name, size});
  workspace_.release(mark);
  return child;
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
  SOTTO_TRY(check_limits());
  uint32_t resource = resource_of_[member - root_];
  *target = resources_[resource].node;
  const std::string_view path = without_fragment(uri);
  if (!path.empty()) {
    *target = find_name({0, 0, false, resources_[resource].base, path});
    if (*target == kNoIndex) return unsupported(member, "references to other documents are not supported");
    resource = resource_of_[*target - root_];
  }
  if (uri.size() > path.size() + 1) {
    const std::string_view fragment(uri.data() + path.size() + 1, uri.size() - path.size() - 1);
    const bool is_pointer = fragment[0] == '/';
    *target = is_pointer ? follow_pointer(*target, fragment) : find_name({0, resource, true, {}, fragment});
  }
  if (*target != kNoIndex) return Status::kOk;
  SOTTO_TRY(check_limits());
  return reject(member, "must refer to a place in this document");
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
    schema_.spend(1);
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
  SOTTO_TRY(schema_.check_limits());
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
