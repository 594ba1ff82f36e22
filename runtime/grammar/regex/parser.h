// The parser of regular expressions, which builds a tree. The dialect is ECMA-262 with the u flag, as JSON Schema
// recommends, and the parts of Annex B that existing patterns need (a literal '{', '[\w-.]').
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "runtime/base/status.h"
#include "runtime/grammar/automata/code_points.h"
#include "runtime/grammar/compiler/grammar_builder.h"

namespace sotto {

// The kinds of nodes.
enum class RegexKind : uint8_t {
  kEmpty,
  kCharacters,  // a character from one of the intervals; matches nothing if there are none
  kSequence,
  kChoice,
  kRepeat,
  kBegin,           // ^
  kEnd,             // $
  kWordBoundary,    // \b; the intervals are the word characters
  kNoWordBoundary,  // \B, likewise
  kLookAhead,       // (?=...)
  kNoLookAhead,     // (?!...)
};

// A node of the tree.
struct RegexNode {
  RegexKind kind;
  uint32_t first;  // first interval or first child
  uint32_t count;  // number of intervals
  uint32_t minimum;
  uint32_t maximum;
  uint32_t next;
};

// A parsed regular expression.
struct RegexTree {
  explicit RegexTree(Workspace& workspace) : nodes(workspace), intervals(workspace) {}

  std::span<const Interval> characters(const RegexNode& node) const { return intervals.span(node.first, node.count); }
  const RegexNode& operator[](uint32_t node) const { return nodes[node]; }

  GrowingArray<RegexNode> nodes;
  GrowingArray<Interval> intervals;
  uint32_t root = kNoIndex;
  bool has_assertions = false;  // true if there is look-ahead or a word boundary
};

// Parses a pattern. Rejects look-behind, back-references, inline flags and unknown escapes, with a message that names
// them and their line and column. Treats lazy quantifiers as greedy ones, because the language is the same.
Status parse_regex(std::span<const char> pattern, RegexTree& tree, Workspace& workspace, Error* error);

}  // namespace sotto
