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
  kBegin,  // ^
  kEnd,    // $
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
  // Look-ahead at the beginning of the text: it must (or, if negated, must not) begin with a match of `root`.
  struct Condition {
    uint32_t root;
    bool negated;
  };

  explicit RegexTree(Workspace& workspace) : nodes(workspace), intervals(workspace), conditions(workspace) {}

  std::span<const Interval> characters(const RegexNode& node) const { return intervals.span(node.first, node.count); }
  const RegexNode& operator[](uint32_t node) const { return nodes[node]; }

  GrowingArray<RegexNode> nodes;
  GrowingArray<Interval> intervals;
  GrowingArray<Condition> conditions;
  uint32_t root = kNoIndex;
};

// Parses a pattern. Rejects look-around other than look-ahead after a leading ^, back-references, word boundaries,
// inline flags and unknown escapes, with a message that names them and their line and column. Treats lazy quantifiers
// as greedy ones, because the language is the same.
Status parse_regex(std::span<const char> pattern, RegexTree& tree, Workspace& workspace, Error* error);

}  // namespace sotto
