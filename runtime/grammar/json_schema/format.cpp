#include "runtime/grammar/json_schema/format.h"

namespace sotto {
namespace {

#define GROUP(x) "(?:" x ")"
#define UCS                                                                                 \
  "\\u{A0}-\\u{D7FF}\\u{F900}-\\u{FDCF}\\u{FDF0}-\\u{FFEF}\\u{10000}-\\u{1FFFD}\\u{20000}-" \
  "\\u{2FFFD}\\u{30000}-\\u{3FFFD}\\u{40000}-\\u{4FFFD}\\u{50000}-\\u{5FFFD}\\u{60000}-"    \
  "\\u{6FFFD}\\u{70000}-\\u{7FFFD}\\u{80000}-\\u{8FFFD}\\u{90000}-\\u{9FFFD}\\u{A0000}-"    \
  "\\u{AFFFD}\\u{B0000}-\\u{BFFFD}\\u{C0000}-\\u{CFFFD}\\u{D0000}-\\u{DFFFD}\\u{E1000}-\\u{EFFFD}"
#define PRIVATE "\\u{E000}-\\u{F8FF}\\u{F0000}-\\u{FFFFD}\\u{100000}-\\u{10FFFD}"

// RFC 3339, section 5.6, with the lengths of the months.
#define DATE \
  GROUP("\\d{4}-" GROUP("(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|"              \
                        "(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|"                      \
                        "02-(?:0[1-9]|1\\d|2[0-8])") "|"                            \
        "(?:\\d\\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29")
#define FRACTION "(?:\\.\\d+)?"
#define TIME \
  "(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d" FRACTION "(?:[Zz]|[+-](?:[01]\\d|2[0-3]):[0-5]\\d)|23:59:60" FRACTION "[Zz]"
// RFC 3339, appendix A
#define MONTHS "\\d+M(?:\\d+D)?"
#define DURATION_TIME "T(?:\\d+H(?:\\d+M(?:\\d+S)?)?|\\d+M(?:\\d+S)?|\\d+S)"
#define DURATION "P(?:(?:\\d+Y(?:" MONTHS ")?|" MONTHS "|\\d+D)(?:" DURATION_TIME ")?|" DURATION_TIME "|\\d+W)"

// RFC 3986, section 3.2.2.
#define OCTET "(?:\\d|[1-9]\\d|1\\d\\d|2[0-4]\\d|25[0-5])"
#define IPV4 GROUP(OCTET "\\." OCTET "\\." OCTET "\\." OCTET)
#define H16 "[0-9A-Fa-f]{1,4}"
#define LS32 "(?:" H16 ":" H16 "|" IPV4 ")"
#define UP_TO(n) "(?:(?:" H16 ":){0," n "}" H16 ")?::"
#define IPV6                                                                                           \
  GROUP("(?:" H16 ":){6}" LS32 "|::(?:" H16 ":){5}" LS32 "|(?:" H16 ")?::(?:" H16 ":){4}" LS32         \
        "|" UP_TO("1") "(?:" H16 ":){3}" LS32 "|" UP_TO("2") "(?:" H16 ":){2}" LS32 "|" UP_TO("3") H16 \
        ":" LS32 "|" UP_TO("4") LS32 "|" UP_TO("5") H16 "|" UP_TO("6"))

// RFC 3986, appendix A, or RFC 3987 with `ucs` and `private` characters.
#define ENCODED "%[0-9A-Fa-f]{2}"
#define UNRESERVED "A-Za-z0-9\\-._~"
#define DELIMITERS "!$&'()*+,;="
#define PCHAR(ucs) "(?:[" UNRESERVED DELIMITERS ":@" ucs "]|" ENCODED ")"
#define SEGMENTS(ucs) "(?:/" PCHAR(ucs) "*)*"
#define AUTHORITY(ucs)                                           \
  "(?:(?:[" UNRESERVED DELIMITERS ":" ucs "]|" ENCODED           \
  ")*@)?"                                                        \
  "(?:\\[(?:" IPV6 "|[vV][0-9A-Fa-f]+\\.[" UNRESERVED DELIMITERS \
  ":]+)\\]|"                                                     \
  "(?:[" UNRESERVED DELIMITERS ucs "]|" ENCODED ")*)(?::\\d*)?"
#define ENDING(ucs, private) "(?:\\?(?:" PCHAR(ucs) "|[/?" private "])*)?(?:#(?:" PCHAR(ucs) "|[/?])*)?"
#define ROOTED(ucs) "//" AUTHORITY(ucs) SEGMENTS(ucs) "|/(?:" PCHAR(ucs) "+" SEGMENTS(ucs) ")?"
#define URI(ucs, private) \
  "[A-Za-z][A-Za-z0-9+\\-.]*:(?:" ROOTED(ucs) "|" PCHAR(ucs) "+" SEGMENTS(ucs) "|)" ENDING(ucs, private)
#define REFERENCE(ucs, private)                                                                 \
  "(?:" URI(ucs, private) "|(?:" ROOTED(ucs) "|(?:[" UNRESERVED DELIMITERS "@" ucs "]|" ENCODED \
                                             ")+" SEGMENTS(ucs) "|)" ENDING(ucs, private) ")"

// RFC 1123 and 5891: no label has "--" as its third and fourth characters.
#define ALNUM "[A-Za-z0-9]"
#define INNER "[A-Za-z0-9\\-]"
#define LABEL(n)                                                                                                      \
  "(?:" ALNUM "(?:" INNER "?" ALNUM ")?|" ALNUM INNER "(?:" ALNUM ALNUM "|-" ALNUM ")|" ALNUM INNER "(?:" ALNUM INNER \
  "|-" ALNUM ")" INNER "{0," n "}" ALNUM ")"
#define LABELS(n, more) LABEL(n) "(?:\\." LABEL(n) "){0," more "}"
#define HOSTNAME LABELS("58", "2") "|" LABELS("57", "3") "|" LABELS("25", "7") "|" LABELS("9", "15")
#define DOMAIN_NAME                                 \
  "[A-Za-z0-9](?:[A-Za-z0-9\\-]{0,61}[A-Za-z0-9])?" \
  "(?:\\.[A-Za-z0-9](?:[A-Za-z0-9\\-]{0,61}[A-Za-z0-9])?)*"
// RFC 5321, section 4.1.2.
#define ATOM "[A-Za-z0-9!#$%&'*+\\-/=?^_`{|}~]+"
#define EMAIL                                                          \
  "(?:" ATOM "(?:\\." ATOM                                             \
  ")*|\"(?:[\\x20\\x21\\x23-\\x5B\\x5D-\\x7E]|\\\\[\\x20-\\x7E])*\")@" \
  "(?:" DOMAIN_NAME "|\\[(?:" IPV4 "|IPv6:" IPV6 ")\\])"

#define POINTER "(?:/(?:[^/~]|~[01])*)*"
// RFC 6570.
#define VARIABLE "(?:[A-Za-z0-9_]|" ENCODED ")(?:\\.?(?:[A-Za-z0-9_]|" ENCODED "))*(?::[1-9]\\d{0,3}|\\*)?"
#define TEMPLATE "(?:[!#$&-;=?-\\[\\]_a-z~" UCS PRIVATE "]|" ENCODED "|\\{[+#./;?&]?" VARIABLE "(?:," VARIABLE ")*\\})*"

// Regular expressions of ECMA-262 that every dialect reads alike: no back-references, named groups or look-around, and
// groups nested at most four deep.
#define REGEX_ESCAPE "\\\\(?:[dDwWsStnrvf.^$*+?()\\[\\]{}|/\\\\]|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4})"
#define REGEX_CLASS "\\[\\^?-?(?:0-9|1-9|0-7|a-z|A-Z|a-f|A-F|" REGEX_ESCAPE "|[^\\]\\[\\\\^\\-\\x00-\\x1F])+-?\\]"
#define REGEX_BOUNDS                                                                                          \
  "\\{(?:\\d{1,3},?|[01],[1-9]|2,[2-9]|3,[3-9]|4,[4-9]|5,[5-9]|6,[6-9]|7,[7-9]|8,[89]|9,9|\\d,[1-9]\\d{1,2}|" \
  "[1-9]\\d,[1-9]\\d\\d)\\}"
#define REGEX_QUANTIFIER "(?:(?:[*+?]|" REGEX_BOUNDS ")(?:\\?)?)?"
#define REGEX_TERM \
  "(?:[^\\\\^$.*+?()\\[\\]{}|\\x00-\\x1F]|\\.|" REGEX_ESCAPE "|" REGEX_CLASS ")" REGEX_QUANTIFIER "|[\\^$]|\\\\[bB]"
#define REGEX_OF(groups) "(?:" REGEX_TERM "|\\|" groups ")*"
#define REGEX_GROUP(inner) "|\\((?:\\?:)?" inner "\\)" REGEX_QUANTIFIER
#define REGEX_NESTED REGEX_OF(REGEX_GROUP(REGEX_OF(REGEX_GROUP(REGEX_OF("")))))
#define REGEX REGEX_OF(REGEX_GROUP(REGEX_OF(REGEX_GROUP(REGEX_NESTED))))

// A format and its regular expression.
struct Format {
  std::string_view name;
  std::string_view expression;  // empty if the format is not supported or is "time"
  bool then_time = false;
};

constexpr Format kFormats[] = {
    {"date-time", DATE "[Tt]", true},
    {"date", DATE},
    {"time", "", true},
    {"duration", DURATION},
    {"email", EMAIL},
    {"idn-email", ""},
    {"hostname", HOSTNAME},
    {"idn-hostname", ""},
    {"ipv4", IPV4},
    {"ipv6", IPV6},
    {"uri", URI("", "")},
    {"uri-reference", REFERENCE("", "")},
    {"iri", URI(UCS, PRIVATE)},
    {"iri-reference", REFERENCE(UCS, PRIVATE)},
    {"uuid", "[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}"},
    {"uri-template", TEMPLATE},
    {"json-pointer", POINTER},
    {"relative-json-pointer", "(?:0|[1-9]\\d*)(?:#|" POINTER ")"},
    {"regex", REGEX},
};

constexpr uint32_t kMinutesOfDay = 24 * 60;

void append(std::string_view text, GrowingArray<char>& pattern) {
  for (const char c : text) pattern.push(c);
}

void append_clock(uint32_t minutes, GrowingArray<char>& pattern) {
  const auto digit = [](uint32_t value) { return static_cast<char>('0' + value % 10); };
  const uint32_t hour = minutes % kMinutesOfDay / 60;
  const uint32_t minute = minutes % 60;
  const char text[] = {digit(hour / 10), digit(hour), ':', digit(minute / 10), digit(minute)};
  append({text, sizeof(text)}, pattern);
}

// Appends the times of day. 23:59:60 UTC is included with every offset of whole quarter hours.
void append_time(GrowingArray<char>& pattern) {
  append("(?:" TIME, pattern);
  for (uint32_t local = 14; local < kMinutesOfDay; local += 15) {
    append("|", pattern);
    append_clock(local, pattern);
    append(":60" FRACTION "(?:-", pattern);
    append_clock(kMinutesOfDay - 1 - local, pattern);
    append("|\\+", pattern);
    append_clock(local + 1, pattern);
    append(")", pattern);
  }
  append(")", pattern);
}

}  // namespace

bool is_known_format(std::string_view name) {
  for (const Format& format : kFormats) {
    if (format.name == name) return true;
  }
  return false;
}

bool parse_format(std::string_view name, RegexTree& tree, Workspace& workspace) {
  for (const Format& format : kFormats) {
    if (format.name != name || (format.expression.empty() && !format.then_time)) continue;
    GrowingArray<char> pattern(workspace);
    append(format.expression, pattern);
    if (format.then_time) append_time(pattern);
    return parse_regex(pattern.span(), tree, workspace, nullptr) == Status::kOk;
  }
  return false;
}

}  // namespace sotto
