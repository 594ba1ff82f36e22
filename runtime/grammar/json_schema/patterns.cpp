#include "runtime/grammar/json_schema/patterns.h"

#include "runtime/grammar/json_schema/format.h"

namespace sotto {

Status Patterns::parse(uint32_t node, RegexTree& tree) const {
  const bool is_text = document_.kind(node) == JsonKind::kString;
  if (is_text && schema_.keyword(node) == Keyword::kFormat) {
    if (parse_format(document_.text(node), tree, workspace_)) return schema_.check_limits();
    SOTTO_TRY(schema_.check_limits());
    return schema_.unsupported(node, "the format is not supported");
  }
  // The pattern is the text of a keyword, or the name of a member of patternProperties.
  const std::string_view pattern = is_text ? document_.text(node) : document_.name(node);
  Error inner;
  const Status status = parse_regex(pattern, tree, workspace_, &inner);
  if (status == Status::kOk || workspace_.exhausted()) return schema_.check_limits();
  return schema_.fail_at_node(status, node, inner.message);
}

Status Patterns::automaton(uint32_t node, CharacterAutomaton* automaton) {
  for (const Known& known : known_.span()) {
    if (known.node != node) continue;
    *automaton = known.automaton;
    return Status::kOk;
  }
  RegexTree tree(workspace_);
  SOTTO_TRY(parse(node, tree));
  const bool search = document_.kind(node) != JsonKind::kString || schema_.keyword(node) != Keyword::kFormat;
  SOTTO_TRY(schema_.check_combined(automaton_of_regex(tree, search, workspace_, automaton), node,
                                   "the pattern is too large to be combined with other keywords"));
  known_.push({node, *automaton});
  return schema_.check_limits();
}

}  // namespace sotto
