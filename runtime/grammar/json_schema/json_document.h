// A strict reader of JSON (RFC 8259). A document is an array of nodes in a workspace, and a node refers to its text by
// offset.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "runtime/base/hash_index.h"
#include "runtime/base/status.h"
#include "runtime/base/workspace.h"
#include "runtime/grammar/compiler/grammar_builder.h"

namespace sotto {

enum class JsonKind : uint8_t { kNull, kFalse, kTrue, kNumber, kString, kArray, kObject };

// A value of the document, with its name if it is a member.
struct JsonNode {
  JsonKind kind;
  uint32_t text;  // offset of a string, unescaped, or of a number as it is written
  uint32_t text_size;
  uint32_t name;  // offset of a member's name, unescaped
  uint32_t name_size;
  uint32_t first;  // first child
  uint32_t last;
  uint32_t count;  // number of children
  uint32_t next;   // next sibling
  uint32_t parent;
  uint32_t index;  // index among its siblings
  uint64_t offset;
};

class JsonDocument {
 public:
  explicit JsonDocument(Workspace& workspace) : workspace_(workspace), nodes_(workspace), texts_(workspace) {}

  // Parses a document. Its root is node 0. Unpaired surrogates and duplicate names in an object are errors. `text` need
  // not outlive the call.
  Status parse(std::span<const char> text, Error* error);

  const JsonNode& operator[](uint32_t node) const { return nodes_[node]; }
  uint32_t count() const { return nodes_.size(); }
  JsonKind kind(uint32_t node) const { return nodes_[node].kind; }
  std::string_view text(uint32_t node) const {
    return {texts_.span().data() + nodes_[node].text, nodes_[node].text_size};
  }
  std::string_view name(uint32_t node) const {
    return {texts_.span().data() + nodes_[node].name, nodes_[node].name_size};
  }
  // Sibling nodes, for use in loops: `for (const uint32_t member : document.children(object))`.
  class Range {
   public:
    class Iterator {
     public:
      Iterator(const JsonDocument& document, uint32_t node) : document_(&document), node_(node) {}
      uint32_t operator*() const { return node_; }
      Iterator& operator++() {
        node_ = (*document_)[node_].next;
        return *this;
      }
      bool operator==(const Iterator& other) const { return node_ == other.node_; }

     private:
      const JsonDocument* document_;
      uint32_t node_;
    };

    Range(const JsonDocument& document, uint32_t first, uint32_t end)
        : document_(&document), first_(first), end_(end) {}
    Iterator begin() const { return {*document_, first_}; }
    Iterator end() const { return {*document_, end_}; }

   private:
    const JsonDocument* document_;
    uint32_t first_;
    uint32_t end_;
  };
  // Returns the elements of an array or the members of an object. For other values and for kNoIndex, the range is
  // empty.
  Range children(uint32_t node) const { return {*this, node == kNoIndex ? kNoIndex : nodes_[node].first, kNoIndex}; }
  // Returns the elements of a list, or the node itself if it is not a list.
  Range values(uint32_t node, bool is_list) const {
    return is_list ? children(node) : Range{*this, node, nodes_[node].next};
  }
  // Returns the member with this name, or kNoIndex if there is none or `object` is not an object.
  uint32_t member(uint32_t object, std::string_view name) const;
  // Returns the element at this index, or kNoIndex if there is none or `array` is not an array.
  uint32_t element(uint32_t array, uint32_t index) const;
  // Writes the JSON pointer of `node` as a fragment ("#/a/0"), truncated to `capacity`, and returns its size.
  size_t pointer(uint32_t node, char* out, size_t capacity) const;
  // Fails with the message "POINTER: what" and the offset of `node`.
  Status fail(uint32_t node, Status status, const char* what, Error* error) const;

 private:
  friend class JsonReader;

  Status build_index(Error* error);

  Workspace& workspace_;
  GrowingArray<JsonNode> nodes_;
  GrowingArray<char> texts_;
  HashIndex children_;  // all nodes but the root, by parent and name or index
};

}  // namespace sotto
