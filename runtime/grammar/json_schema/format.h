// The formats of strings, as regular expressions.
//
// date-time, date and time follow RFC 3339, with calendar days that exist. A leap second is allowed only as 23:59:60 in
// UTC, written with offsets of whole quarter hours: no other offset has been in use since leap seconds began in 1972.
// uri, uri-reference, iri, iri-reference and email follow the grammars of RFC 3986, 3987 and 5321, including IPv6
// addresses. A hostname has up to 3 labels of 63 characters, 4 of 62, 8 of 30 or 16 of 14, none of them an A-label
// ("xn--").
#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/base/status.h"
#include "runtime/grammar/regex/parser.h"

namespace sotto {

// Returns whether the standard names the format. Other names are annotations.
bool is_known_format(std::string_view name);

// Parses the regular expression of a format, which matches whole strings. Returns false if the format is known but not
// supported.
bool parse_format(std::string_view name, RegexTree& tree, Workspace& workspace);

}  // namespace sotto
