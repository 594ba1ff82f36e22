// The named sets of characters of regular expressions.
#include "runtime/grammar/regex/regex_tables.h"
#include "runtime/grammar/regex/regex_tree.h"

namespace sotto {
namespace {

void add_property(const RegexProperty& property, GrowingArray<Interval>& intervals) {
  const uint8_t* at = kRegexPropertyIntervals + property.first;
  const uint8_t* end = at + property.size;
  const auto number = [&] {
    uint32_t value = 0;
    for (uint32_t shift = 0;; shift += 7) {
      value |= static_cast<uint32_t>(*at & 0x7F) << shift;
      if ((*at++ & 0x80) == 0) return value;
    }
  };
  uint32_t free = 0;
  while (at < end) {
    const uint32_t first = free + number();
    const uint32_t last = first + number();
    intervals.push({first, last});
    free = last + 1;
  }
}

}  // namespace

bool add_regex_property(std::string_view name, GrowingArray<Interval>& intervals) {
  bool any_kind = true;
  RegexPropertyKind kind = RegexPropertyKind::kCategory;
  if (const size_t equals = name.find('='); equals != std::string_view::npos) {
    const std::string_view property = name.substr(0, equals);
    name.remove_prefix(equals + 1);
    any_kind = false;
    if (property == "Script" || property == "sc" || property == "Script_Extensions" || property == "scx") {
      if (property.size() == 3 || property.size() > 6) return false;  // extensions: no table
      kind = RegexPropertyKind::kScript;
    } else if (property != "General_Category" && property != "gc") {
      return false;
    }
  } else if (name == "Any" || name == "ASCII") {
    intervals.push({0, name == "Any" ? kMaxCodePoint : 0x7F});
    return true;
  }
  for (const RegexProperty& property : kRegexProperties) {
    if (any_kind ? property.kind == RegexPropertyKind::kScript : property.kind != kind) continue;
    if (name != property.short_name && name != property.name) continue;
    add_property(property, intervals);
    return true;
  }
  return false;
}

void add_regex_class(char name, GrowingArray<Interval>& intervals) {
  if (name == 'd' || name == 'w') intervals.push({'0', '9'});
  if (name == 'w') {
    intervals.push({'A', 'Z'});
    intervals.push({'_', '_'});
    intervals.push({'a', 'z'});
  }
  if (name == 's') {
    // White space and line ends of ECMA-262 12.2 and 12.3.
    for (const Interval space :
         {Interval{0x09, 0x0D}, Interval{0x20, 0x20}, Interval{0xA0, 0xA0}, Interval{0x1680, 0x1680},
          Interval{0x2000, 0x200A}, Interval{0x2028, 0x2029}, Interval{0x202F, 0x202F}, Interval{0x205F, 0x205F},
          Interval{0x3000, 0x3000}, Interval{0xFEFF, 0xFEFF}}) {
      intervals.push(space);
    }
  }
}

}  // namespace sotto
