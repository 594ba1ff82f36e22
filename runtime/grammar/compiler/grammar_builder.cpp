#include "runtime/grammar/compiler/grammar_builder.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "runtime/base/xxhash64.h"

namespace sotto {
namespace {

constexpr uint32_t kSizeLimit = 1u << 30;

uint32_t add_sizes(uint64_t a, uint64_t b) { return static_cast<uint32_t>(std::min<uint64_t>(a + b, kSizeLimit)); }

uint32_t multiply_sizes(uint64_t a, uint64_t b) { return static_cast<uint32_t>(std::min<uint64_t>(a * b, kSizeLimit)); }

// Returns the product of two repetition counts, or kNoIndex if it exceeds kMaxRepetitions.
uint32_t multiply_counts(uint64_t a, uint64_t b) {
  if (a == 0 || b == 0) return 0;
  if (a == kUnbounded || b == kUnbounded) return kUnbounded;
  return a * b > kMaxRepetitions ? kNoIndex : static_cast<uint32_t>(a * b);
}

// Returns whether (x{inner}){outer} equals a single repetition of x, between the products of the bounds. This is true
// if the ranges of k * inner for consecutive k are adjacent or overlap. The gap between two ranges is widest for the
// minimum of outer, so only the first two are compared.
bool joins(const Expression& inner, uint32_t minimum, uint32_t maximum) {
  if (minimum == maximum) return true;
  if (minimum == 0) return inner.minimum <= 1;
  if (inner.maximum == kUnbounded) return true;
  const uint64_t k = minimum;
  return (k + 1) * inner.minimum <= k * inner.maximum + 1;
}

}  // namespace

GrammarBuilder::GrammarBuilder(Workspace& workspace)
    : workspace_(workspace),
      expressions_(workspace),
      intervals_(workspace),
      members_(workspace),
      texts_(workspace),
      names_(workspace),
      rules_(workspace) {}

std::span<const char> GrammarBuilder::rule_name(uint32_t rule) const {
  return names_.span(rules_[rule].name, rules_[rule].name_size);
}

std::span<const char> GrammarBuilder::bytes(const Expression& text) const {
  return texts_.span(text.first, text.count);
}

std::span<const Interval> GrammarBuilder::intervals(const Expression& expression) const {
  return intervals_.span(expression.first, expression.count);
}

std::span<const SetMember> GrammarBuilder::members(const Expression& expression) const {
  return members_.span(expression.first, expression.count);
}

uint32_t GrammarBuilder::hash_of(std::span<const char> name) {
  return static_cast<uint32_t>(xxhash64(name.data(), name.size()));
}

bool GrammarBuilder::rehash(uint32_t slot_count) {
  auto* slots = workspace_.take<uint32_t>(slot_count);
  if (slots == nullptr) return false;
  names_index_.rehash(slots, slot_count, [&](uint32_t rule) { return hash_of(rule_name(rule)); });
  return true;
}

uint32_t GrammarBuilder::find_rule(std::span<const char> name) const {
  if (named_rules_ == 0) return kNoIndex;
  return names_index_.find(hash_of(name), [&](uint32_t rule) {
    const auto other = rule_name(rule);
    return std::equal(name.begin(), name.end(), other.begin(), other.end());
  });
}

uint32_t GrammarBuilder::rule(std::span<const char> name, uint64_t source_offset) {
  assert(!name.empty());
  if (const uint32_t known = find_rule(name); known != kNoIndex) return known;
  const uint32_t wanted = names_index_.wanted_slots(named_rules_);
  if (wanted != 0 && !rehash(wanted)) return 0;
  const uint32_t begin = names_.size();
  for (const char byte : name) names_.push(byte);
  if (names_.size() != begin + name.size()) return 0;
  const uint32_t before = rules_.size();
  const uint32_t index =
      rules_.push({begin, static_cast<uint32_t>(name.size()), kNoIndex, source_offset, source_offset});
  if (rules_.size() == before) return 0;
  names_index_.insert(hash_of(name), index);
  ++named_rules_;
  return index;
}

void GrammarBuilder::forget_names() {
  for (; forgotten_rules_ < rules_.size(); ++forgotten_rules_) rules_[forgotten_rules_].name_size = 0;
  names_index_ = {};
  named_rules_ = 0;
}

uint32_t GrammarBuilder::anonymous_rule(uint32_t body) { return rules_.push({0, 0, body, 0, 0}); }

void GrammarBuilder::define(uint32_t rule, uint32_t body, uint64_t source_offset) {
  rules_[rule].body = body;
  rules_[rule].defined = source_offset;
}

uint32_t GrammarBuilder::add(const Expression& expression) { return expressions_.push(expression); }

uint32_t GrammarBuilder::empty() { return add({ExpressionKind::kEmpty, 0, 0, 0, 0, kNoIndex, 0}); }

uint32_t GrammarBuilder::text(std::span<const char> bytes) {
  if (bytes.empty()) return empty();
  const uint32_t begin = texts_.size();
  for (const char byte : bytes) texts_.push(byte);
  const uint32_t count = texts_.size() - begin;
  return add({ExpressionKind::kText, begin, count, 0, 0, kNoIndex, count});
}

uint32_t GrammarBuilder::reference(uint32_t rule) {
  return add({ExpressionKind::kReference, rule, 0, 0, 0, kNoIndex, 1});
}

uint32_t GrammarBuilder::characters(uint32_t begin, bool complement) {
  normalize_code_points(intervals_, begin);
  if (complement) complement_code_points(intervals_, begin);
  const uint32_t count = intervals_.size() - begin;
  if (count == 0) return kNoIndex;
  const uint32_t size = intervals_[intervals_.size() - 1].last < 0x80 ? 1 : 4;
  return add({ExpressionKind::kCharacters, begin, count, 0, 0, kNoIndex, size});
}

uint32_t GrammarBuilder::tokens(uint32_t begin) {
  normalize_intervals(intervals_, begin);
  return add({ExpressionKind::kTokens, begin, intervals_.size() - begin, 0, 0, kNoIndex, 1});
}

uint32_t GrammarBuilder::repeat(uint32_t expression, uint32_t minimum, uint32_t maximum) {
  if (maximum == 0) return empty();
  if (minimum == 1 && maximum == 1) return expression;
  Expression& inner = expressions_[expression];
  if (inner.kind == ExpressionKind::kEmpty) return expression;
  if (inner.kind == ExpressionKind::kRepeat && joins(inner, minimum, maximum)) {
    const uint32_t new_minimum = multiply_counts(inner.minimum, minimum);
    const uint32_t new_maximum = multiply_counts(inner.maximum, maximum);
    const bool bounded = inner.maximum != kUnbounded && maximum != kUnbounded;
    if (new_minimum != kNoIndex && (!bounded || new_maximum != kNoIndex)) {
      inner.minimum = new_minimum;
      inner.maximum = new_maximum;
      const uint32_t body_size = expressions_[inner.first].size;
      inner.size = multiply_sizes(body_size, new_maximum == kUnbounded ? new_minimum + 1ull : new_maximum);
      return expression;
    }
  }
  const uint64_t copies = maximum == kUnbounded ? minimum + 1ull : maximum;
  return add({ExpressionKind::kRepeat, expression, 0, minimum, maximum, kNoIndex, multiply_sizes(inner.size, copies)});
}

uint32_t GrammarBuilder::any_order(std::span<const SetMember> members) {
  const uint32_t first = members_.size();
  for (const SetMember& member : members) members_.push(member);
  const uint32_t count = members_.size() - first;
  return add({ExpressionKind::kAnyOrder, first, count, 0, 0, kNoIndex, count});
}

void GrammarBuilder::append(List& list, uint32_t expression) {
  if (list.first == kNoIndex) {
    list.first = expression;
  } else {
    expressions_[list.last].next = expression;
  }
  list.last = expression;
  list.size = add_sizes(list.size, expressions_[expression].size + 1);
}

uint32_t GrammarBuilder::group(const List& list, ExpressionKind kind) {
  if (list.first == kNoIndex) return empty();
  if (list.first == list.last) return list.first;
  return add({kind, list.first, 0, 0, 0, kNoIndex, list.size});
}

uint32_t GrammarBuilder::sequence(const List& list) { return group(list, ExpressionKind::kSequence); }

uint32_t GrammarBuilder::choice(const List& list) { return group(list, ExpressionKind::kChoice); }

Status fail_too_large(Error* error) {
  return fail(error, Status::kGrammarTooLarge, "the grammar does not fit the memory for compiling");
}

}  // namespace sotto
