// Regular expressions of the formats that a JSON Schema may name.
//
// date-time, date and time follow RFC 3339 and allow only days that exist. A leap second is allowed only at 23:59:60
// UTC, written with an offset of whole quarter hours. No other offset has been in use since 1972, when leap seconds
// were introduced. uri, uri-reference, iri, iri-reference and email follow the grammars of RFC 3986, 3987 and 5321,
// including IPv6 addresses. A hostname has at most 3 labels of up to 63 characters, 4 of up to 62, 8 of up to 30, or 16
// of up to 14. No label is an A-label ("xn--"). A regex has no back-references, named groups or look-around, and its
// groups are nested at most four deep.
#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/base/status.h"
#include "runtime/grammar/regex/parser.h"

namespace sotto {

// Returns whether the standard defines the format. Other formats are annotations.
bool is_known_format(std::string_view name);

// Parses the regular expression of a format, which matches whole strings. Returns false if the format is known but not
// supported.
bool parse_format(std::string_view name, RegexTree& tree, Workspace& workspace);

}  // namespace sotto
