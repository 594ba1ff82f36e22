// The formats of strings, as regular expressions.
//
// date-time, date and time are RFC 3339's, with calendar days that exist; a leap second only
// as 23:59:60 in UTC. uri, uri-reference, iri, iri-reference and email follow the grammars of
// RFC 3986, 3987 and 5321; IPv6 addresses inside them, too. A hostname has at most 63
// characters, or three labels; so has none of the others a limit.
#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/base/status.h"
#include "runtime/grammar/regex_tree.h"

namespace sotto {

// Whether the standard names the format: other names are annotations.
bool is_known_format(std::string_view name);

// Parses the format's expression; its matches are whole strings. False: the format is known
// but not supported.
bool parse_format(std::string_view name, RegexTree& tree, Workspace& workspace);

}  // namespace sotto
