// The formats of strings, as regular expressions.
//
// date-time, date and time are RFC 3339's, with calendar days that exist; a leap second only as
// 23:59:60 in UTC, at offsets of whole quarter hours: there are no others since 1972, when leap
// seconds began. uri, uri-reference, iri, iri-reference and email follow the grammars of
// RFC 3986, 3987 and 5321, IPv6 addresses inside them, too. A hostname has up to 3 labels of
// 63 characters, 4 of 62, 8 of 30 or 16 of 14, none of them an A-label ("xn--").
#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/base/status.h"
#include "runtime/grammar/regex/parser.h"

namespace sotto {

// Whether the standard names the format: other names are annotations.
bool is_known_format(std::string_view name);

// Parses the format's expression; its matches are whole strings. False: the format is known
// but not supported.
bool parse_format(std::string_view name, RegexTree& tree, Workspace& workspace);

}  // namespace sotto
