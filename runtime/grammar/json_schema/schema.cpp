#include "runtime/grammar/json_schema/schema.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "runtime/base/ascii.h"
#include "runtime/grammar/json_schema/decimal.h"
#include "runtime/grammar/json_schema/format.h"

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
  uint32_t since;  // the draft that introduced the keyword: 4 also stands for earlier ones
};

constexpr Entry kKeywords[] = {
    {"type", Keyword::kType, kAny, 4},
    {"enum", Keyword::kEnum, kAny, 4},
    {"const", Keyword::kConst, kAny, 6},
    {"multipleOf", Keyword::kMultipleOf, kNumbers, 4},
    {"maximum", Keyword::kMaximum, kNumbers, 4},
    {"exclusiveMaximum", Keyword::kExclusiveMaximum, kNumbers, 4},
    {"minimum", Keyword::kMinimum, kNumbers, 4},
    {"exclusiveMinimum", Keyword::kExclusiveMinimum, kNumbers, 4},
    {"maxLength", Keyword::kMaxLength, kStrings, 4},
    {"minLength", Keyword::kMinLength, kStrings, 4},
    {"pattern", Keyword::kPattern, kStrings, 4},
    {"format", Keyword::kFormat, kStrings, 4},
    {"items", Keyword::kItems, kArrays, 4},
    {"additionalItems", Keyword::kAdditionalItems, kArrays, 4},
    {"prefixItems", Keyword::kPrefixItems, kArrays, 2019},
    {"maxItems", Keyword::kMaxItems, kArrays, 4},
    {"minItems", Keyword::kMinItems, kArrays, 4},
    {"uniqueItems", Keyword::kUniqueItems, kArrays, 4},
    {"contains", Keyword::kContains, kArrays, 6},
    {"minContains", Keyword::kMinContains, kArrays, 2019},
    {"maxContains", Keyword::kMaxContains, kArrays, 2019},
    {"maxProperties", Keyword::kMaxProperties, kObjects, 4},
    {"minProperties", Keyword::kMinProperties, kObjects, 4},
    {"required", Keyword::kRequired, kObjects, 4},
    {"properties", Keyword::kProperties, kObjects, 4},
    {"patternProperties", Keyword::kPatternProperties, kObjects, 4},
    {"additionalProperties", Keyword::kAdditionalProperties, kObjects, 4},
    {"propertyNames", Keyword::kPropertyNames, kObjects, 6},
    {"dependencies", Keyword::kDependencies, kObjects, 4},
    {"dependentRequired", Keyword::kDependentRequired, kObjects, 2019},
    {"dependentSchemas", Keyword::kDependentSchemas, kObjects, 2019},
    {"allOf", Keyword::kAllOf, kAny, 4},
    {"anyOf", Keyword::kAnyOf, kAny, 4},
    {"oneOf", Keyword::kOneOf, kAny, 4},
    {"not", Keyword::kNot, kAny, 4},
    {"if", Keyword::kIf, kAny, 7},
    {"then", Keyword::kThen, kAny, 7},
    {"else", Keyword::kElse, kAny, 7},
    {"$ref", Keyword::kRef, kAny, 4},
    {"$dynamicRef", Keyword::kUnsupported, kAny, 2019},
    {"$recursiveRef", Keyword::kUnsupported, kAny, 2019},
    {"unevaluatedItems", Keyword::kUnevaluatedItems, kArrays, 2019},
    {"unevaluatedProperties", Keyword::kUnevaluatedProperties, kObjects, 2019},
};

// Keywords of the standard that assert nothing.
constexpr std::string_view kAnnotations[] = {
    "$schema",         "$id",           "id",       "$anchor",     "$dynamicAnchor", "$recursiveAnchor",
    "$vocabulary",     "$comment",      "$defs",    "definitions", "title",          "description",
    "default",         "examples",      "readOnly", "writeOnly",   "deprecated",     "contentMediaType",
    "contentEncoding", "contentSchema",
};

// Returns the first `size` characters, or all of them if there are fewer. Unlike substr(), it never throws.
std::string_view first(std::string_view text, size_t size) { return {text.data(), std::min(size, text.size())}; }

std::string_view without_fragment(std::string_view uri) { return first(uri, uri.find('#')); }

bool has_scheme(std::string_view uri) {
  const size_t colon = uri.find(':');
  return colon != std::string_view::npos && uri.find('/') > colon;
}

// Compares two references, each resolved against its base, without storing the results. An absolute reference replaces
// the base. A reference that begins with '/' replaces the path of the base, and any other reference replaces its last
// segment.
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

// Like take_character(), but also decodes the escapes of JSON pointers.
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

// Returns a value as messages show it.
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

namespace {

// Returns the draft that a $schema names: the number of an early draft, or the newest draft.
uint32_t draft_of(std::string_view uri) {
  constexpr std::string_view kEarly = "/draft-0";
  const size_t at = uri.find(kEarly);
  if (at == std::string_view::npos || at + kEarly.size() == uri.size()) return kNewestDraft;
  const char digit = uri[at + kEarly.size()];
  return digit >= '0' && digit <= '9' ? std::max(4u, static_cast<uint32_t>(digit - '0')) : kNewestDraft;
}

}  // namespace

Keyword find_keyword(std::string_view name, uint32_t draft) {
  for (const Entry& entry : kKeywords) {
    if (entry.name == name && entry.since <= draft) return entry.keyword;
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
    draft_ = draft_of(document_.text(draft));
  }
  keywords_ = workspace_.take<uint8_t>(document_.count());
  if (keywords_ != nullptr) std::memset(keywords_, 0, document_.count());
  read_names();
}

Keyword Schema::keyword(uint32_t member) const {
  spend(1);
  if (keywords_ == nullptr) return find_keyword(document_.name(member), draft_);
  uint8_t& known = keywords_[member];
  if (known == 0) known = static_cast<uint8_t>(1 + static_cast<uint8_t>(find_keyword(document_.name(member), draft_)));
  return static_cast<Keyword>(known - 1);
}

Status Schema::fail_at_node(Status status, uint32_t node, const char* what) const {
  return document_.fail(node, status, what, error_);
}

Status Schema::fail_at_value(Status status, uint32_t node, const char* subject, const char* what, Error* error) const {
  constexpr size_t kShown = 40;  // number of characters of the value that the message shows
  char pointer[120];
  const size_t size = document_.pointer(node, pointer, sizeof pointer);
  const JsonKind kind = document_.kind(node);
  const char* const quote = kind == JsonKind::kString ? "\"" : "";
  const std::string_view value = quoted_value(document_, node);
  return fail_at(error, status, document_[node].offset, std::span<const char>(pointer, size), " is ", quote,
                 first(value, kShown), value.size() > kShown ? "..." : "", quote, "; ", subject, what);
}

Status Schema::unsupported(uint32_t node, const char* what) const {
  const JsonKind kind = document_.kind(node);
  const bool is_short = kind == JsonKind::kString || kind == JsonKind::kNumber;
  if (is_short) return fail_at_value(Status::kGrammarUnsupported, node, "", what, error_);
  return fail_at_node(Status::kGrammarUnsupported, node, what);
}

Status Schema::unsupported_count(uint32_t node, const char* what, uint32_t count, uint32_t limit) const {
  char pointer[120];
  const size_t size = document_.pointer(node, pointer, sizeof pointer);
  return fail_at(error_, Status::kGrammarUnsupported, document_[node].offset, std::span<const char>(pointer, size),
                 ": ", what, ": ", count, "; at most ", limit, " are supported");
}

Status Schema::reject(uint32_t node, const char* what) const {
  return fail_at_value(Status::kGrammarSyntax, node, "it ", what, error_);
}

Status Schema::check_limits() const {
  if (workspace_.exhausted()) return fail_too_large(error_);
  if (steps_ <= options_.max_schema_steps) return Status::kOk;
  return fail_at(error_, Status::kGrammarTooLarge, document_[root_].offset, "max_schema_steps is ",
                 options_.max_schema_steps, "; the schema takes more steps");
}

Status Schema::check_combined(bool is_combined, uint32_t node, const char* what) const {
  if (is_combined) return Status::kOk;
  SOTTO_TRY(check_limits());
  return unsupported(node, what);
}

void Schema::warn() const {
  if (options_.log == nullptr) return;
  for (uint32_t i = 1; i < node_count_; ++i) {
    const uint32_t member = root_ + i;
    const uint32_t schema = document_[member].parent;
    const Place place = places_[schema - root_];
    const bool is_keyword = place == Place::kSchema || place == Place::kSchemaOrList;
    if (!is_keyword || document_.kind(schema) != JsonKind::kObject) continue;
    const char* const what = warning_of(member);
    if (what == nullptr) continue;
    Error text;
    (void)fail_at_value(Status::kGrammarUnsupported, member, "", what, &text);
    options_.log(options_.log_user_data, kLogWarning, text.message);
  }
}

// Returns a warning about a member of a schema, or null.
const char* Schema::warning_of(uint32_t member) const {
  const std::string_view name = document_.name(member);
  const Keyword known = find_keyword(name, kNewestDraft);
  if (known != Keyword::kAnnotation && keyword(member) == Keyword::kAnnotation) {
    return "the draft of the schema does not define the keyword, so it is ignored";
  }
  if (known == Keyword::kFormat && document_.kind(member) == JsonKind::kString) {
    return is_known_format(document_.text(member)) ? nullptr : "the format is not known, so it is not enforced";
  }
  const bool is_extension = name.size() > 1 && name[0] == 'x' && name[1] == '-';
  if (known != Keyword::kAnnotation || is_extension) return nullptr;
  for (const std::string_view annotation : kAnnotations) {
    if (annotation == name) return nullptr;
  }
  return "the keyword is not known, so it is ignored";
}

bool Schema::is_asserting(uint32_t member) const {
  const Keyword keyword = this->keyword(member);
  if (keyword == Keyword::kAnnotation) return false;
  if (keyword == Keyword::kRef || is_modern()) return true;
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

// Collects the identifiers and anchors of the root schema and of the schemas in it. The search descends only by
// keywords that contain schemas: the values of enum, const and unknown keywords are not schemas, even if they look like
// it.
void Schema::read_names() {
  uint32_t end = root_ + 1;
  while (end < document_.count() && document_[end].parent != kNoIndex && document_[end].parent >= root_) ++end;
  resource_of_ = workspace_.take<uint32_t>(end - root_);
  places_ = workspace_.take<Place>(end - root_);
  if (resource_of_ == nullptr || places_ == nullptr) return;
  node_count_ = end - root_;
  resources_.push({root_, without_fragment(identifier_of(root_))});
  for (uint32_t node = root_; node < end; ++node) {
    const uint32_t parent = document_[node].parent;
    const bool is_root = node == root_;
    const Place place = is_root ? Place::kSchema : place_of_child(places_[parent - root_], node);
    uint32_t resource = is_root ? 0 : resource_of_[parent - root_];
    places_[node - root_] = place;
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
  for (uint32_t i = 0; i < named_.size() && steps_ <= options_.max_schema_steps; ++i) {
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
  if (!is_modern() && document_.member(schema, "$ref") != kNoIndex) return {};
  for (const std::string_view name : {"$id", "id"}) {
    if (is_modern() && name == "id") continue;  // the name of draft 4
    const uint32_t id = document_.member(schema, name);
    if (id == kNoIndex || document_.kind(id) != JsonKind::kString) continue;
    if (!document_.text(id).empty() && document_.text(id)[0] != '#') return document_.text(id);
  }
  return {};
}

uint32_t Schema::hash_of(const NamedSchema& named) const {
  const Resolved name(named.base, named.name);
  spend(name.size());
  uint64_t hash = named.resource;
  for (size_t i = 0; i < name.size(); ++i) hash = mix_hash(hash, static_cast<uint8_t>(name.at(i)));
  return static_cast<uint32_t>(hash);
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

}  // namespace sotto
