// $ref: JSON pointers, anchors and identifiers inside the document.
#include <algorithm>
#include <cstring>

#include "runtime/grammar/json_schema/schema_compiler.h"

namespace sotto {
namespace {

constexpr std::string_view kIdentifiers[] = {"$id", "id"};  // the latter in draft 4

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

std::string_view without_fragment(std::string_view uri) { return uri.substr(0, uri.find('#')); }

bool has_scheme(std::string_view uri) {
  const size_t colon = uri.find(':');
  return colon != std::string_view::npos && uri.find('/') > colon;
}

// Compares "base + reference" with "base + reference" without building either: an absolute
// reference is itself, one that begins with '/' replaces the path, another the last segment.
struct Resolved {
  std::string_view base;
  std::string_view reference;

  Resolved(std::string_view base_uri, std::string_view uri) : reference(uri) {
    if (has_scheme(uri)) return;
    const size_t authority = base_uri.find("//");
    const size_t path = authority == std::string_view::npos ? 0 : base_uri.find('/', authority + 2);
    if (!uri.empty() && uri[0] == '/') {
      base = base_uri.substr(0, path);
      return;
    }
    const size_t slash = base_uri.rfind('/');
    if (uri.empty()) {
      base = base_uri;
    } else if (slash != std::string_view::npos) {
      base = base_uri.substr(0, slash + 1);
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

// Takes the next character of a token, which is not empty; undoes its escape of URIs.
char take_character(std::string_view* token) {
  const std::string_view text = *token;
  const bool is_escaped = text.size() > 2 && text[0] == '%' && hex_value(text[1]) >= 0 && hex_value(text[2]) >= 0;
  token->remove_prefix(is_escaped ? 3 : 1);
  return is_escaped ? static_cast<char>(hex_value(text[1]) << 4 | hex_value(text[2])) : text[0];
}

// Escapes of pointers are undone after those of URIs.
char take_unescaped(std::string_view* token) {
  const char c = take_character(token);
  if (c != '~' || token->empty()) return c;
  std::string_view rest = *token;
  const char kind = take_character(&rest);
  if (kind != '0' && kind != '1') return c;
  *token = rest;
  return kind == '0' ? '~' : '/';
}

// Whether a pointer's token is the member's name.
bool names(std::string_view token, std::string_view name) {
  for (const char c : name) {
    if (token.empty() || take_unescaped(&token) != c) return false;
  }
  return token.empty();
}

// Of an element; kNone: the token is no index.
uint32_t index_of(std::string_view token) {
  if (token.empty()) return kNone;
  uint64_t index = 0;
  for (bool is_first = true; !token.empty(); is_first = false) {
    const char c = take_character(&token);
    const bool leads_with_zero = !is_first && index == 0;
    if (c < '0' || c > '9' || leads_with_zero) return kNone;
    index = index * 10 + static_cast<uint64_t>(c - '0');
    if (index >= kNone) return kNone;
  }
  return static_cast<uint32_t>(index);
}

}  // namespace

// The schema with an identifier that is `node` or encloses it most closely; else the document.
uint32_t SchemaCompiler::resource_of(uint32_t node) const {
  for (; node != kNone && node != root_; node = document_[node].parent) {
    if (identifier_of(node) != kNone) return node;
  }
  return root_;
}

// The member that gives a schema an identifier other than a fragment.
uint32_t SchemaCompiler::identifier_of(uint32_t node) const {
  if (document_.kind(node) != JsonKind::kObject) return kNone;
  if (!modern_ && document_.member(node, "$ref") != kNone) return kNone;
  for (const std::string_view name : kIdentifiers) {
    if (modern_ && name == "id") continue;
    const uint32_t id = document_.member(node, name);
    if (id == kNone || document_.kind(id) != JsonKind::kString) continue;
    if (!document_.text(id).empty() && document_.text(id)[0] != '#') return is_schema_place(node) ? id : kNone;
  }
  return kNone;
}

// Whether a schema can stand here: not in values, nor in what no keyword knows.
bool SchemaCompiler::is_schema_place(uint32_t node) const {
  while (node != root_ && node != 0) {
    const uint32_t parent = document_[node].parent;
    if (document_.kind(parent) == JsonKind::kArray) {
      node = parent;
      continue;
    }
    const std::string_view name = document_.name(node);
    if (name == "const" || name == "enum" || name == "default" || name == "examples") {
      // Unless that is a property's name.
      const uint32_t grandparent = document_[parent].parent;
      const std::string_view holder = grandparent == kNone ? std::string_view() : document_.name(parent);
      if (holder != "properties" && holder != "$defs" && holder != "definitions") return false;
    }
    node = parent;
  }
  return true;
}

std::string_view SchemaCompiler::base_uri(uint32_t resource) const {
  const uint32_t id = identifier_of(resource);
  return id == kNone ? std::string_view() : without_fragment(document_.text(id));
}

uint32_t SchemaCompiler::find_identifier(std::string_view uri, uint32_t from) const {
  // Relative identifiers resolve against the nearest absolute one around them.
  const auto absolute_base = [&](uint32_t resource) {
    while (resource != root_) {
      if (has_scheme(base_uri(resource))) return base_uri(resource);
      resource = resource_of(document_[resource].parent);
    }
    return base_uri(root_);
  };
  const Resolved wanted(absolute_base(from), uri);
  for (uint32_t node = 0; node < document_.count(); ++node) {
    const uint32_t id = identifier_of(node);
    if (id == kNone) continue;
    const std::string_view own = without_fragment(document_.text(id));
    const std::string_view base =
        node == root_ ? std::string_view() : absolute_base(resource_of(document_[node].parent));
    if (Resolved(base, own) == wanted) return node;
  }
  return kNone;
}

uint32_t SchemaCompiler::find_anchor(uint32_t resource, std::string_view name) const {
  for (uint32_t node = 0; node < document_.count(); ++node) {
    if (document_.kind(node) != JsonKind::kObject || resource_of(node) != resource) continue;
    for (const std::string_view keyword : {"$anchor", "$dynamicAnchor", "$id", "id"}) {
      const uint32_t anchor = document_.member(node, keyword);
      if (anchor == kNone || document_.kind(anchor) != JsonKind::kString) continue;
      std::string_view text = document_.text(anchor);
      if (keyword == "$id" || keyword == "id") {
        if (text.empty() || text[0] != '#') continue;
        text.remove_prefix(1);
      }
      if (text == name && is_schema_place(node)) return node;
    }
  }
  return kNone;
}

uint32_t SchemaCompiler::child_of(uint32_t node, std::string_view token) const {
  if (document_.kind(node) == JsonKind::kArray) return document_.element(node, index_of(token));
  if (document_.kind(node) != JsonKind::kObject) return kNone;
  uint32_t child = document_[node].first;
  while (child != kNone && !names(token, document_.name(child))) child = document_[child].next;
  return child;
}

uint32_t SchemaCompiler::follow_pointer(uint32_t from, std::string_view pointer) const {
  while (!pointer.empty() && from != kNone) {
    pointer.remove_prefix(1);  // '/'
    const std::string_view token = pointer.substr(0, pointer.find('/'));
    pointer.remove_prefix(token.size());
    from = child_of(from, token);
  }
  return from;
}

Status SchemaCompiler::resolve(uint32_t member, uint32_t* target) {
  if (document_.kind(member) != JsonKind::kString) return reject(member, "must be a string");
  const std::string_view uri = document_.text(member);
  uint32_t resource = resource_of(member);
  const std::string_view path = without_fragment(uri);
  if (!path.empty()) {
    resource = find_identifier(path, resource);
    if (resource == kNone) return refuse(member, "reference to another document");
  }
  *target = resource;
  if (uri.size() > path.size() + 1) {
    const std::string_view fragment = uri.substr(path.size() + 1);
    *target = fragment[0] == '/' ? follow_pointer(resource, fragment) : find_anchor(resource, fragment);
  }
  if (*target == kNone) return reject(member, "reference to nothing in this document");
  return Status::kOk;
}

}  // namespace sotto
