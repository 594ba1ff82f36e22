#include "runtime/grammar/compiler/structural_tag.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "runtime/grammar/compiler/grammar_source.h"
#include "runtime/grammar/compiler/source_error.h"
#include "runtime/grammar/compiler/triggers.h"
#include "runtime/grammar/json_schema/compiler.h"
#include "runtime/grammar/json_schema/json_document.h"
#include "runtime/grammar/regex/grammar.h"

namespace sotto {
namespace {

// std::string_view::starts_with refers to a function that throws, unless it is optimized.
bool has_prefix(std::string_view text, std::string_view prefix) {
  return text.size() >= prefix.size() && std::string_view(text.data(), prefix.size()) == prefix;
}

// Returns the text after its first `size` bytes.
std::string_view after(std::string_view text, size_t size) { return {text.data() + size, text.size() - size}; }

// Builds one rule per format. Formats inside other formats wait in a list, so the builder does not recurse.
class StructuralTags {
 public:
  StructuralTags(std::span<const char> source, const GrammarParams& options, GrammarBuilder& builder, Error* error)
      : source_(source),
        options_(options),
        builder_(builder),
        error_(error),
        document_(builder.workspace()),
        pending_(builder.workspace()) {
    options_.allow_surrounding_whitespace = false;
  }

  Status build(std::span<const char> name) {
    SOTTO_TRY(document_.parse(source_, error_));
    SOTTO_TRY(check_members(0, {"type", "format"}));
    if (document_.text(document_.member(0, "type")) != "structural_tag") {
      return reject(document_.member(0, "type"), "expected \"structural_tag\"");
    }
    const uint32_t root = builder_.anonymous_rule(kNoIndex);
    pending_.push({document_.member(0, "format"), kNoIndex, root});
    for (uint32_t i = 0; i < pending_.size(); ++i) {
      const PendingRule pending = pending_[i];
      GrammarBuilder::List list;
      SOTTO_TRY(append_format(list, pending.format, pending.end));
      builder_.define(pending.rule, builder_.sequence(list), 0);
      if (builder_.workspace().exhausted()) return fail_too_large(error_);
    }
    builder_.define(builder_.rule(name, 0), builder_.reference(root), 0);
    return Status::kOk;
  }

 private:
  // A format whose rule has no body yet, and the string that ends the tag around it, or kNoIndex if there is no tag.
  struct PendingRule {
    uint32_t format;
    uint32_t end;
    uint32_t rule;
  };
  struct FormatType {
    std::string_view name;
    std::array<std::string_view, 5> members;  // the first `needed` ones are required
    uint32_t needed;
    Status (StructuralTags::*append)(GrammarBuilder::List& list, uint32_t format, uint32_t end);
  };
  static const FormatType kTypes[];
  static constexpr uint64_t kMaxSteps = 8000000;  // limits the time of comparing triggers

  // Fails because of an error in a grammar or pattern inside the tag.
  Status fail_inside(uint32_t node, Status status, const Error& inner) {
    if (builder_.workspace().exhausted()) return fail_too_large(error_);
    return document_.fail(node, status, inner.message, error_);
  }

  Status reject(uint32_t node, std::string_view what, Status status = Status::kGrammarSyntax) {
    return fail_in_source(error_, source_, document_[node].offset, what, status);
  }

  // Checks that a node is an object with all of the needed members and no others.
  Status check_members(uint32_t node, std::span<const std::string_view> members, size_t needed) {
    if (document_.kind(node) != JsonKind::kObject) return reject(node, "expected an object");
    for (const uint32_t member : document_.children(node)) {
      const std::string_view name = document_.name(member);
      if (name.empty() || std::find(members.begin(), members.end(), name) == members.end()) {
        return fail_at_name(error_, source_, document_[member].offset, "unknown key", name);
      }
    }
    for (const std::string_view name : members.first(needed)) {
      if (document_.member(node, name) == kNoIndex) {
        return fail_at_name(error_, source_, document_[node].offset, "missing key", name);
      }
    }
    return Status::kOk;
  }
  Status check_members(uint32_t node, std::initializer_list<std::string_view> members) {
    return check_members(node, {members.begin(), members.size()}, members.size());
  }

  Status check_text(uint32_t node, bool may_be_empty) {
    if (document_.kind(node) != JsonKind::kString) return reject(node, "expected a string");
    return may_be_empty || !document_.text(node).empty() ? Status::kOk
                                                         : reject(node, "expected a string that is not empty");
  }
  Status check_list(uint32_t node) {
    const bool is_list = document_.kind(node) == JsonKind::kArray && document_[node].count > 0;
    return is_list ? Status::kOk : reject(node, "expected a list that is not empty");
  }
  // Reads a member that is true or false, or false if it is absent.
  Status read_flag(uint32_t format, std::string_view name, bool* flag) {
    const uint32_t node = document_.member(format, name);
    *flag = node != kNoIndex && document_.kind(node) == JsonKind::kTrue;
    const bool is_flag = node == kNoIndex || *flag || document_.kind(node) == JsonKind::kFalse;
    return is_flag ? Status::kOk : reject(node, "expected true or false");
  }

  void append_text(GrammarBuilder::List& list, std::string_view text) {
    if (!text.empty()) builder_.append(list, builder_.text(text));
  }
  void append_end(GrammarBuilder::List& list, uint32_t end) {
    if (end != kNoIndex) append_text(list, document_.text(end));
  }
  uint32_t empty_rule() { return builder_.anonymous_rule(builder_.empty()); }
  // Returns a rule for the format and the end after it.
  uint32_t later(uint32_t format, uint32_t end) {
    const uint32_t rule = builder_.anonymous_rule(kNoIndex);
    pending_.push({format, end, rule});
    return rule;
  }

  Status append_format(GrammarBuilder::List& list, uint32_t format, uint32_t end) {
    const uint32_t type = document_.member(format, "type");
    if (type == kNoIndex) return reject(format, "expected an object with a \"type\"");
    for (const FormatType* row = kTypes; !row->name.empty(); ++row) {
      if (document_.kind(type) != JsonKind::kString || document_.text(type) != row->name) continue;
      SOTTO_TRY(check_members(format, row->members, row->needed));
      return (this->*row->append)(list, format, end);
    }
    return reject(type, "unknown format type");
  }

  Status append_const_string(GrammarBuilder::List& list, uint32_t format, uint32_t end) {
    const uint32_t value = document_.member(format, "value");
    SOTTO_TRY(check_text(value, true));
    append_text(list, document_.text(value));
    append_end(list, end);
    return Status::kOk;
  }

  Status append_schema(GrammarBuilder::List& list, uint32_t format, uint32_t end) {
    SchemaCompiler compiler(document_, options_, builder_, error_);
    uint32_t value = kNoIndex;
    SOTTO_TRY(compiler.compile(document_.member(format, "json_schema"), &value));
    builder_.append(list, value);
    append_end(list, end);
    return Status::kOk;
  }

  Status append_regex(GrammarBuilder::List& list, uint32_t format, uint32_t end) {
    const uint32_t pattern = document_.member(format, "pattern");
    SOTTO_TRY(check_text(pattern, true));
    uint32_t expression = kNoIndex;
    Error inner;
    const Status status = build_regex(document_.text(pattern), builder_, &expression, &inner);
    if (status != Status::kOk) return fail_inside(pattern, status, inner);
    builder_.append(list, expression);
    append_end(list, end);
    return Status::kOk;
  }

  Status append_grammar(GrammarBuilder::List& list, uint32_t format, uint32_t end) {
    const uint32_t source = document_.member(format, "grammar");
    SOTTO_TRY(check_text(source, false));
    Error inner;
    const Status status = parse_gbnf(document_.text(source), token_names(options_.vocabulary), builder_, &inner);
    if (status != Status::kOk) return fail_inside(source, status, inner);
    const uint32_t root = builder_.find_rule(std::string_view("root"));
    builder_.forget_names();
    if (root == kNoIndex) {
      return document_.fail(source, Status::kGrammarSyntax, "undefined start rule: root", error_);
    }
    builder_.append(list, builder_.reference(root));
    append_end(list, end);
    return Status::kOk;
  }

  Status append_any_text(GrammarBuilder::List& list, uint32_t, uint32_t end) {
    GrowingArray<Stop> stops(builder_.workspace());
    if (end != kNoIndex) stops.push({document_.text(end), empty_rule()});
    return append_free_text(list, stops.span(), end == kNoIndex);
  }

  Status append_free_text(GrammarBuilder::List& list, std::span<const Stop> stops, bool may_end) {
    uint32_t rule = kNoIndex;
    SOTTO_TRY(build_free_text(stops, may_end, builder_, &rule, error_));
    builder_.append(list, builder_.reference(rule));
    return Status::kOk;
  }

  Status append_sequence(GrammarBuilder::List& list, uint32_t format, uint32_t end) {
    const uint32_t elements = document_.member(format, "elements");
    SOTTO_TRY(check_list(elements));
    for (const uint32_t element : document_.children(elements)) {
      const bool is_last = document_[element].next == kNoIndex;
      builder_.append(list, builder_.reference(later(element, is_last ? end : kNoIndex)));
    }
    return Status::kOk;
  }

  Status append_or(GrammarBuilder::List& list, uint32_t format, uint32_t end) {
    const uint32_t elements = document_.member(format, "elements");
    SOTTO_TRY(check_list(elements));
    GrammarBuilder::List choices;
    for (const uint32_t element : document_.children(elements)) {
      builder_.append(choices, builder_.reference(later(element, end)));
    }
    builder_.append(list, builder_.choice(choices));
    return Status::kOk;
  }

  Status append_tag(GrammarBuilder::List& list, uint32_t tag, uint32_t end) {
    uint32_t rest = kNoIndex;
    SOTTO_TRY(read_tag(tag, &rest));
    append_text(list, document_.text(document_.member(tag, "begin")));
    builder_.append(list, builder_.reference(rest));
    append_end(list, end);
    return Status::kOk;
  }

  // Checks a tag, and makes the rule of what follows its begin.
  Status read_tag(uint32_t tag, uint32_t* rest) {
    SOTTO_TRY(check_members(tag, {"type", "begin", "content", "end"}));
    if (document_.text(document_.member(tag, "type")) != "tag") return reject(tag, "expected a tag");
    const uint32_t end = document_.member(tag, "end");
    SOTTO_TRY(check_text(document_.member(tag, "begin"), true));
    SOTTO_TRY(check_text(end, true));
    *rest = later(document_.member(tag, "content"), document_.text(end).empty() ? kNoIndex : end);
    return Status::kOk;
  }

  // Checks a list of tags, and makes the rules of what follows their begins.
  Status read_tags(uint32_t tags, GrowingArray<uint32_t>& rests) {
    SOTTO_TRY(check_list(tags));
    for (const uint32_t tag : document_.children(tags)) {
      uint32_t rest = kNoIndex;
      SOTTO_TRY(read_tag(tag, &rest));
      rests.push(rest);
    }
    return Status::kOk;
  }

  Status append_triggered(GrammarBuilder::List& list, uint32_t format, uint32_t end) {
    bool needs_one = false;
    bool stops_after_one = false;
    SOTTO_TRY(read_flag(format, "at_least_one", &needs_one));
    SOTTO_TRY(read_flag(format, "stop_after_first", &stops_after_one));
    const uint32_t tags = document_.member(format, "tags");
    const uint32_t triggers = document_.member(format, "triggers");
    GrowingArray<uint32_t> rests(builder_.workspace());
    SOTTO_TRY(read_tags(tags, rests));
    SOTTO_TRY(check_list(triggers));
    SOTTO_TRY(count_steps(format, uint64_t{document_[triggers].count} * document_[tags].count));
    for (const uint32_t trigger : document_.children(triggers)) SOTTO_TRY(check_trigger(trigger, end));
    for (const uint32_t tag : document_.children(tags)) {
      const std::string_view begin = document_.text(document_.member(tag, "begin"));
      bool is_triggered = false;
      for (const uint32_t trigger : document_.children(triggers)) {
        is_triggered = is_triggered || has_prefix(begin, document_.text(trigger));
      }
      if (!is_triggered) return reject(tag, "the tag does not begin with any trigger");
    }
    // After a tag comes the end, or free text and more tags.
    const uint32_t next = builder_.anonymous_rule(kNoIndex);
    GrowingArray<Stop> stops(builder_.workspace());
    for (const uint32_t trigger : document_.children(triggers)) {
      GrammarBuilder::List choices;
      for (const uint32_t tag : document_.children(tags)) {
        std::string_view begin = document_.text(document_.member(tag, "begin"));
        const std::string_view text = document_.text(trigger);
        if (!has_prefix(begin, text)) continue;
        begin.remove_prefix(text.size());
        GrammarBuilder::List parts;
        append_text(parts, begin);
        builder_.append(parts, builder_.reference(rests[document_[tag].index]));
        builder_.append(parts, builder_.reference(next));
        builder_.append(choices, builder_.sequence(parts));
      }
      if (choices.first == kNoIndex) return reject(trigger, "no tag begins with the trigger");
      stops.push({document_.text(trigger), builder_.anonymous_rule(builder_.choice(choices))});
    }
    if (needs_one) {
      // The required tag comes first, as in XGrammar.
      GrammarBuilder::List choices;
      for (const uint32_t tag : document_.children(tags)) {
        GrammarBuilder::List parts;
        append_text(parts, document_.text(document_.member(tag, "begin")));
        builder_.append(parts, builder_.reference(rests[document_[tag].index]));
        builder_.append(choices, builder_.sequence(parts));
      }
      builder_.append(list, builder_.choice(choices));
      builder_.append(list, builder_.reference(next));
    } else {
      SOTTO_TRY(append_text_before_tag(list, stops.span(), end));
    }
    GrammarBuilder::List after;
    if (stops_after_one) {
      append_end(after, end);
    } else {
      SOTTO_TRY(append_text_before_tag(after, stops.span(), end));
    }
    builder_.define(next, builder_.sequence(after), 0);
    return Status::kOk;
  }

  Status count_steps(uint32_t format, uint64_t steps) {
    steps_ += steps;
    if (steps_ <= kMaxSteps) return Status::kOk;
    return reject(format,
                  "comparing the triggers with the tags and the end takes too many steps; use fewer or shorter ones",
                  Status::kGrammarTooLarge);
  }

  // Checks that a trigger is a string that can occur: the text stops at the end of the tag around it.
  Status check_trigger(uint32_t trigger, uint32_t end) {
    SOTTO_TRY(check_text(trigger, false));
    if (end == kNoIndex) return Status::kOk;
    const std::string_view text = document_.text(trigger);
    const std::string_view tag_end = document_.text(end);
    SOTTO_TRY(count_steps(trigger, uint64_t{text.size()} * tag_end.size()));
    const size_t at = text.find(tag_end);
    const bool is_hidden = at != std::string_view::npos && (at == 0 || at + tag_end.size() < text.size());
    return is_hidden ? reject(trigger, "the trigger contains the end of the tag around it") : Status::kOk;
  }

  // Appends free text up to a trigger and a string of its rule, or up to the end. A trigger and the end may overlap,
  // like < and </a>. The text then continues after the trigger with a tag or with the rest of the end.
  Status append_text_before_tag(GrammarBuilder::List& list, std::span<const Stop> triggers, uint32_t end) {
    if (end == kNoIndex) return append_free_text(list, triggers, true);
    GrowingArray<Stop> stops(builder_.workspace());
    const std::string_view text = document_.text(end);
    // The shortest beginning of the end that contains a trigger is a stop of its own. If several triggers end there,
    // the longest one counts.
    Stop inner = {text, kNoIndex};
    size_t inner_trigger = 0;
    for (const Stop& trigger : triggers) {
      stops.push({trigger.text, tag_or_end(trigger, text)});
      const size_t at = text.find(trigger.text);
      if (at == std::string_view::npos) continue;
      const size_t size = at + trigger.text.size();
      if (size > inner.text.size() || (size == inner.text.size() && trigger.text.size() <= inner_trigger)) continue;
      inner = {std::string_view(text.data(), size), trigger.rule};
      inner_trigger = trigger.text.size();
    }
    const bool is_longer = inner.text.size() > inner_trigger && inner.text.size() < text.size();
    if (is_longer) stops.push({inner.text, tag_or_end(inner, text)});
    stops.push({text, empty_rule()});
    return append_free_text(list, stops.span(), false);
  }

  // Returns the rule of the text after a stop: a string of the stop's rule, or the rest of an end that begins in the
  // stop.
  uint32_t tag_or_end(const Stop& stop, std::string_view end) {
    GrammarBuilder::List choices;
    builder_.append(choices, builder_.reference(stop.rule));
    const auto begins_in_stop = [&](size_t size) {
      return after(stop.text, stop.text.size() - size) == std::string_view(end.data(), size);
    };
    const size_t most = std::min(stop.text.size(), end.size() - 1);
    for (size_t size = most; size > 0; --size) {
      if (!begins_in_stop(size)) continue;
      // No other end may be complete earlier.
      const std::string_view rest = after(end, size);
      bool ends_earlier = false;
      for (size_t longer = size + 1; longer <= most && !ends_earlier; ++longer) {
        ends_earlier = begins_in_stop(longer) && has_prefix(rest, after(end, longer));
      }
      if (!ends_earlier) append_text(choices, rest);
    }
    return builder_.anonymous_rule(builder_.choice(choices));
  }

  Status append_separated(GrammarBuilder::List& list, uint32_t format, uint32_t end) {
    bool needs_one = false;
    bool stops_after_one = false;
    SOTTO_TRY(read_flag(format, "at_least_one", &needs_one));
    SOTTO_TRY(read_flag(format, "stop_after_first", &stops_after_one));
    const uint32_t separator = document_.member(format, "separator");
    SOTTO_TRY(check_text(separator, true));
    const uint32_t tags = document_.member(format, "tags");
    SOTTO_TRY(check_list(tags));
    GrammarBuilder::List choices;
    for (const uint32_t tag : document_.children(tags)) {
      GrammarBuilder::List parts;
      SOTTO_TRY(append_tag(parts, tag, kNoIndex));
      builder_.append(choices, builder_.sequence(parts));
    }
    const uint32_t tag = builder_.anonymous_rule(builder_.choice(choices));
    GrammarBuilder::List all;
    builder_.append(all, builder_.reference(tag));
    if (!stops_after_one) {
      GrammarBuilder::List more;
      append_text(more, document_.text(separator));
      builder_.append(more, builder_.reference(tag));
      builder_.append(all, builder_.repeat(builder_.sequence(more), 0, kUnbounded));
    }
    builder_.append(list, builder_.repeat(builder_.sequence(all), needs_one ? 1 : 0, 1));
    append_end(list, end);
    return Status::kOk;
  }

  std::span<const char> source_;
  GrammarParams options_;
  GrammarBuilder& builder_;
  Error* error_;
  JsonDocument document_;
  GrowingArray<PendingRule> pending_;
  uint64_t steps_ = 0;
};

constexpr StructuralTags::FormatType StructuralTags::kTypes[] = {
    {"const_string", {"type", "value"}, 2, &StructuralTags::append_const_string},
    {"json_schema", {"type", "json_schema"}, 2, &StructuralTags::append_schema},
    {"regex", {"type", "pattern"}, 2, &StructuralTags::append_regex},
    {"grammar", {"type", "grammar"}, 2, &StructuralTags::append_grammar},
    {"any_text", {"type"}, 1, &StructuralTags::append_any_text},
    {"sequence", {"type", "elements"}, 2, &StructuralTags::append_sequence},
    {"or", {"type", "elements"}, 2, &StructuralTags::append_or},
    {"tag", {"type", "begin", "content", "end"}, 4, &StructuralTags::append_tag},
    {"triggered_tags",
     {"type", "triggers", "tags", "at_least_one", "stop_after_first"},
     3,
     &StructuralTags::append_triggered},
    {"tags_with_separator",
     {"type", "tags", "separator", "at_least_one", "stop_after_first"},
     3,
     &StructuralTags::append_separated},
    {}};

}  // namespace

Status build_structural_tag(std::span<const char> source, const GrammarParams& options, std::span<const char> name,
                            GrammarBuilder& builder, Error* error) {
  return StructuralTags(source, options, builder, error).build(name);
}

}  // namespace sotto
