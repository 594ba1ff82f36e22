#include "converters/tokenizers/pattern.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>

#include "converters/file.h"
#include "converters/tokenizers/characters.h"
#include "runtime/base/utf8.h"
#include "runtime/text/splitter.h"

namespace sotto {
namespace {

constexpr uint32_t kUnlimited = UINT32_MAX;
constexpr uint32_t kMaxRepetitions = 1000;
constexpr size_t kMaxPositions = 20000;
constexpr size_t kMaxStates = 5000;

// Names of properties for the converter's own patterns: word characters of the pre-tokenizer Whitespace, punctuation of
// BertPreTokenizer, and the parts of grapheme clusters, in the order of their bits.
constexpr std::string_view kTokenizersWord = "tokenizers_word";
constexpr std::string_view kTokenizersPunctuation = "tokenizers_punctuation";
constexpr std::string_view kClusterParts[] = {"cluster_extend", "cluster_prepend", "cluster_pictograph",
                                              "cluster_control"};

// Returns the characters of a category such as "Lu", or of all categories that begin with a letter.
CharacterSet category_set(std::string_view name) {
  if (name == kTokenizersWord) return set_of([](uint32_t properties) { return (properties & kWordBit) != 0; });
  if (name == kTokenizersPunctuation) {
    return set_of([](uint32_t properties) { return (properties & kPunctuationBit) != 0; });
  }
  for (size_t i = 0; i < std::size(kClusterParts); ++i) {
    const auto is_part = [i](uint32_t parts) { return (parts >> i & 1) != 0; };
    if (name == kClusterParts[i]) return set_of(is_part, kClusterRanges);
  }
  CharacterSet set = set_of(
      [&](uint32_t properties) { return std::string_view(kCategories[properties & kCategoryBits]).starts_with(name); });
  if (name.empty() || name.size() > 2 || set.empty()) {
    throw std::runtime_error("unknown character property: " + in_quotes(std::string(name)));
  }
  return set;
}

CharacterSet space_set() { return unite(category_set("Z"), unite(range_set(0x09, 0x0D), range_set(0x85, 0x85))); }

struct Node;
using NodePointer = std::unique_ptr<Node>;

struct Node {
  enum Kind { kCharacters, kSequence, kChoice, kRepeat, kLookAhead };
  Kind kind;
  CharacterSet set = {};
  std::vector<NodePointer> children = {};
  uint32_t minimum = 0;
  uint32_t maximum = 0;
  bool is_lazy = false;
  bool is_possessive = false;
  bool is_negated = false;
};

NodePointer make_node(Node::Kind kind, CharacterSet set = {}) {
  auto node = std::make_unique<Node>();
  node->kind = kind;
  node->set = std::move(set);
  return node;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  NodePointer parse() {
    NodePointer node = choice(false);
    if (at_ < text_.size()) fail("unexpected )");
    return node;
  }

 private:
  [[noreturn]] void fail(const std::string& message) const {
    throw std::runtime_error(message + " at byte " + std::to_string(at_) + " of the pattern");
  }
  bool take(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  uint32_t code_point() {
    const Utf8Character character = decode_utf8(text_.data() + at_, text_.size() - at_);
    if (at_ == text_.size() || !character.valid) fail("incomplete expression");
    at_ += character.size;
    return character.code_point;
  }

  uint32_t number() {
    if (peek() < '0' || peek() > '9') fail("missing repetition count");
    uint32_t value = 0;
    while (peek() >= '0' && peek() <= '9') {
      value = std::min(10 * value + static_cast<uint32_t>(text_[at_++] - '0'), kMaxRepetitions + 1);
    }
    if (value > kMaxRepetitions) fail("repetition count exceeds 1000");
    return value;
  }

  NodePointer choice(bool ignore_case) {
    if (++depth_ > 100) fail("nesting deeper than 100");
    NodePointer node = make_node(Node::kChoice);
    do {
      node->children.push_back(sequence(ignore_case));
    } while (take("|"));
    --depth_;
    return node;
  }

  NodePointer sequence(bool ignore_case) {
    NodePointer node = make_node(Node::kSequence);
    char previous = '\0';  // the preceding letter if case is ignored, otherwise 0
    while (at_ < text_.size() && peek() != '|' && peek() != ')') {
      const char first = peek();
      NodePointer item = atom(ignore_case);
      if (ignore_case && item->kind == Node::kCharacters) check_folding(previous, first);
      previous = first;
      node->children.push_back(repeated(std::move(item)));
    }
    return node;
  }

  // Rejects pairs of letters that also match a single character if case is ignored: "fi" matches U+FB01.
  void check_folding(char previous, char letter) const {
    const std::string pair{static_cast<char>(previous | 0x20), static_cast<char>(letter | 0x20)};
    for (const char* folded : {"ss", "ff", "fi", "fl", "st"}) {
      if (pair == folded) fail("unsupported (?i:" + pair + ")");
    }
  }

  NodePointer repeated(NodePointer item) {
    constexpr size_t kMaxRepeatedRepeats = 10;  // operators after the first one, as in a*?*
    for (size_t count = 0;; ++count) {
      uint32_t minimum = 0;
      uint32_t maximum = kUnlimited;
      bool is_interval = false;
      if (take("+")) {
        minimum = 1;
      } else if (take("?")) {
        maximum = 1;
      } else if (take("{")) {
        is_interval = true;
        if (peek() != ',') minimum = number();
        maximum = minimum;
        if (take(",")) maximum = peek() == '}' ? kUnlimited : number();
        if (!take("}") || minimum > maximum) fail("unsupported repetition");
      } else if (!take("*")) {
        return item;
      }
      if (count == kMaxRepeatedRepeats) fail("more than 10 repetitions of repetitions");
      NodePointer repeat = make_node(Node::kRepeat);
      repeat->minimum = minimum;
      repeat->maximum = maximum;
      repeat->is_lazy = take("?");
      // After an interval such as {2,3}, "+" is another repetition, not the possessive mark.
      if (!repeat->is_lazy && !is_interval) repeat->is_possessive = take("+");
      if (repeat->is_lazy && is_interval && minimum == maximum) fail("unsupported lazy repetition of a fixed number");
      if (repeat->is_possessive && item->kind != Node::kCharacters) {
        fail("unsupported possessive repetition of a group");
      }
      repeat->children.push_back(std::move(item));
      item = std::move(repeat);
    }
  }

  NodePointer atom(bool ignore_case) {
    if (take("(")) return group(ignore_case);
    if (take("[")) return make_node(Node::kCharacters, without_case(bracket(), ignore_case));
    if (take(".")) return make_node(Node::kCharacters, complement(range_set('\n', '\n')));
    if (peek() == '\\') return make_node(Node::kCharacters, without_case(escape(), ignore_case));
    if (std::string_view("^$*+?{").find(peek()) != std::string_view::npos) {
      fail(std::string("unsupported '") + peek() + "'");
    }
    const uint32_t character = code_point();
    return make_node(Node::kCharacters, without_case(range_set(character, character), ignore_case));
  }

  // Returns the set with the other cases of its letters if case is ignored. Two ASCII letters have a third form: U+017F
  // for s and U+212A for k.
  CharacterSet without_case(CharacterSet set, bool ignore_case) const {
    if (!ignore_case) return set;
    const bool is_character = set.size() == 2 && set.back() == set.front() + 1;
    if (!is_character || set.front() >= 0x80) fail("unsupported set inside (?i:");
    const uint32_t character = set.front();
    const uint32_t lower = character | 0x20;
    if (lower < 'a' || lower > 'z') return set;
    set = unite(range_set(lower, lower), range_set(lower - 0x20, lower - 0x20));
    if (lower == 's') set = unite(set, range_set(0x17F, 0x17F));
    if (lower == 'k') set = unite(set, range_set(0x212A, 0x212A));
    return set;
  }

  NodePointer group(bool ignore_case) {
    if (take("?!")) return look_ahead(true);
    if (take("?=")) return look_ahead(false);
    if (take("?i:")) {
      ignore_case = true;
    } else if (!take("?:") && peek() == '?') {
      fail("unsupported group");
    }
    NodePointer node = choice(ignore_case);
    if (!take(")")) fail("missing closing )");
    return node;
  }

  NodePointer look_ahead(bool is_negated) {
    const NodePointer inner = choice(false);
    if (!take(")")) fail("missing closing )");
    const bool is_character = inner->children.size() == 1 && inner->children[0]->children.size() == 1 &&
                              inner->children[0]->children[0]->kind == Node::kCharacters;
    if (!is_character) fail("unsupported look-ahead at more than one character");
    NodePointer node = make_node(Node::kLookAhead, inner->children[0]->children[0]->set);
    node->is_negated = is_negated;
    return node;
  }

  CharacterSet escape() {
    ++at_;
    const uint32_t kind = code_point();
    switch (kind) {
      case 'n':
        return range_set('\n', '\n');
      case 'r':
        return range_set('\r', '\r');
      case 't':
        return range_set('\t', '\t');
      case 'v':
        return range_set('\v', '\v');
      case 'f':
        return range_set('\f', '\f');
      case 's':
        return space_set();
      case 'S':
        return complement(space_set());
      case 'd':
        return category_set("Nd");
      case 'D':
        return complement(category_set("Nd"));
      case 'p':
      case 'P':
        return property(kind == 'P');
      case 'x':
      case 'u':
        return hexadecimal(kind == 'u');
      default:
        break;
    }
    if (kind < 0x80 && (std::isalnum(static_cast<int>(kind)) != 0)) {
      fail(std::string("unsupported escape sequence \\") + static_cast<char>(kind));
    }
    return range_set(kind, kind);
  }

  CharacterSet property(bool is_negated) {
    if (!take("{")) fail("missing { after \\p");
    is_negated ^= take("^");
    const size_t end = text_.find('}', at_);
    if (end == std::string_view::npos) fail("missing closing }");
    const CharacterSet set = category_set(text_.substr(at_, end - at_));
    at_ = end + 1;
    return is_negated ? complement(set) : set;
  }

  CharacterSet hexadecimal(bool is_short) {
    const bool has_braces = !is_short && take("{");
    const size_t max_digits = has_braces ? 8 : is_short ? 4 : 2;
    uint32_t value = 0;
    size_t count = 0;
    for (; count < max_digits && std::isxdigit(static_cast<unsigned char>(peek())) != 0; ++count) {
      value = value << 4 | static_cast<uint32_t>(std::stoi(std::string(1, text_[at_++]), nullptr, 16));
    }
    if ((has_braces ? count == 0 || !take("}") : count != max_digits) || value >= kCodePointEnd ||
        (!has_braces && !is_short && value >= 0x80)) {
      fail("unsupported hexadecimal escape");
    }
    return range_set(value, value);
  }

  CharacterSet bracket() {
    const bool is_negated = take("^");
    CharacterSet set;
    for (bool first = true; first || !take("]"); first = false) {
      if (peek() == '[' || text_.substr(at_).starts_with("&&") || (first && peek() == ']')) {
        fail("unsupported set inside a set");
      }
      const CharacterSet low = peek() == '\\' ? escape() : single();
      if (peek() != '-' || text_.substr(at_).starts_with("-]")) {
        set = unite(set, low);
        continue;
      }
      ++at_;
      const CharacterSet high = peek() == '\\' ? escape() : single();
      if (low.size() != 2 || high.size() != 2 || *low.rbegin() != *low.begin() + 1 ||
          *high.rbegin() != *high.begin() + 1 || *high.begin() < *low.begin()) {
        fail("unsupported range");
      }
      set = unite(set, range_set(*low.begin(), *high.begin()));
    }
    return is_negated ? complement(set) : set;
  }
  CharacterSet single() {
    const uint32_t character = code_point();
    return range_set(character, character);
  }

  std::string_view text_;
  size_t at_ = 0;
  size_t depth_ = 0;
};

// An instruction of a Pike VM (Thompson 1968; Pike 1987). The VM follows all alternatives at once in their order of
// preference. Look-ahead is an instruction that restricts the class of the next character.
struct Instruction {
  enum Kind { kCharacters, kLookAhead, kFork, kMatch };
  Kind kind;
  uint32_t set = 0;  // index of the set
  uint32_t next = 0;
  uint32_t other = 0;  // second alternative of a fork
};

class Program {
 public:
  explicit Program(const Node& root) {
    const uint32_t start = add({Instruction::kFork});
    const uint32_t end = compile(root, start);
    code[end] = {Instruction::kMatch};
  }

  struct Possessive {
    uint32_t set;
    uint32_t exit;
  };

  std::vector<Instruction> code;
  std::vector<CharacterSet> sets;
  std::vector<bool> allows_end;  // for each set, whether a look-ahead at it also succeeds at the end of the text
  std::vector<Possessive> possessives;

 private:
  uint32_t add(const Instruction& instruction) {
    if (code.size() > kMaxPositions) throw std::runtime_error("the pattern is too large");
    code.push_back(instruction);
    return static_cast<uint32_t>(code.size() - 1);
  }
  uint32_t add_set(const CharacterSet& set, bool allow_end) {
    sets.push_back(set);
    allows_end.push_back(allow_end);
    return static_cast<uint32_t>(sets.size() - 1);
  }
  // Writes a jump to `target` as the instruction `at`, which must be free.
  void jump(uint32_t at, uint32_t target) { code[at] = {Instruction::kFork, 0, target, target}; }

  // Compiles a node, beginning with the free instruction `at`. Returns the free instruction that follows a match of the
  // node.
  uint32_t compile(const Node& node, uint32_t at) {
    switch (node.kind) {
      case Node::kCharacters: {
        const uint32_t end = add({Instruction::kFork});
        code[at] = {Instruction::kCharacters, add_set(node.set, false), end};
        return end;
      }
      case Node::kLookAhead: {
        const uint32_t end = add({Instruction::kFork});
        const CharacterSet allowed = node.is_negated ? complement(node.set) : node.set;
        code[at] = {Instruction::kLookAhead, add_set(allowed, node.is_negated), end};
        return end;
      }
      case Node::kSequence:
        for (const NodePointer& child : node.children) at = compile(*child, at);
        return at;
      case Node::kChoice:
        return choice(node, at);
      case Node::kRepeat:
        return repeat(node, at);
    }
    return at;
  }

  uint32_t choice(const Node& node, uint32_t at) {
    if (node.children.size() == 1) return compile(*node.children[0], at);
    const uint32_t end = add({Instruction::kFork});
    for (size_t i = 0; i < node.children.size(); ++i) {
      uint32_t first = at;
      if (i + 1 < node.children.size()) {
        first = add({Instruction::kFork});
        const uint32_t rest = add({Instruction::kFork});
        code[at] = {Instruction::kFork, 0, first, rest};
        at = rest;
      }
      jump(compile(*node.children[i], first), end);
    }
    return end;
  }

  uint32_t repeat(const Node& node, uint32_t at) {
    const Node& body = *node.children[0];
    for (uint32_t i = 0; i < node.minimum; ++i) {
      const uint32_t end = compile(body, at);
      if (end == at) break;  // the body is empty, and repeating it could take forever
      at = end;
    }
    if (node.maximum == node.minimum) return at;
    const uint32_t end = add({Instruction::kFork});
    const auto fork = [&](uint32_t from, uint32_t into) {
      code[from] =
          node.is_lazy ? Instruction{Instruction::kFork, 0, end, into} : Instruction{Instruction::kFork, 0, into, end};
    };
    if (node.maximum == kUnlimited) {
      const uint32_t into = add({Instruction::kFork});
      fork(at, into);
      jump(compile(body, into), at);
    } else {
      for (uint32_t i = node.minimum; i < node.maximum; ++i) {
        const uint32_t into = add({Instruction::kFork});
        fork(at, into);
        at = compile(body, into);
      }
      jump(at, end);
    }
    if (node.is_possessive) possessives.push_back({add_set(body.set, false), end});
    return end;
  }
};

// Converts a program to a DFA by subset construction (Rabin and Scott 1959). A state is a list of positions in the
// order of preference.
class Determinizer {
 public:
  explicit Determinizer(const Program& program) : program_(program) { find_classes(); }

  void run() {
    std::vector<uint32_t> start;
    begin_round();
    collect(0, kUnknown, &start);
    (void)state_of(start);
    for (uint32_t state = 0; state < lists_.size(); ++state) {
      if (lists_.size() > kMaxStates) throw std::runtime_error("the pattern is too large");
      for (uint32_t symbol = 0; symbol <= class_count(); ++symbol) transitions.push_back(step(state, symbol));
    }
    check_possessives();
    check_empty_matches();
    check_look_ahead();
  }

  uint32_t class_count() const { return static_cast<uint32_t>(class_sets_.size()); }
  uint32_t state_count() const { return static_cast<uint32_t>(lists_.size()); }

  std::vector<uint32_t> range_starts;
  std::vector<uint32_t> range_classes;
  std::vector<uint32_t> transitions;

 private:
  // Partitions the characters into classes. Each class lies completely inside or outside of every set.
  void find_classes() {
    std::set<uint32_t> points = {0};
    for (const CharacterSet& set : program_.sets) points.insert(set.begin(), set.end());
    std::map<std::vector<bool>, uint32_t> numbers;
    std::vector<bool> membership(program_.sets.size());
    for (const uint32_t point : points) {
      if (point >= kCodePointEnd) break;
      for (size_t i = 0; i < program_.sets.size(); ++i) {
        if (std::binary_search(program_.sets[i].begin(), program_.sets[i].end(), point)) membership[i] = !membership[i];
      }
      const auto [entry, is_new] = numbers.try_emplace(membership, static_cast<uint32_t>(numbers.size()));
      if (is_new) class_sets_.push_back(membership);
      if (class_sets_.size() > kMaxSplitClasses) throw std::runtime_error("the pattern has too many character classes");
      if (!range_classes.empty() && range_classes.back() == entry->second) continue;
      range_starts.push_back(point);
      range_classes.push_back(entry->second);
    }
  }

  bool allows(uint32_t set, uint32_t symbol) const {
    return symbol == class_count() ? program_.allows_end[set] : class_sets_[symbol][set];
  }

  void begin_round() { visited_.assign(program_.code.size(), false); }

  // Appends the positions that `at` reaches without reading a character. If the class of the next character is known,
  // look-ahead is resolved; otherwise the look-ahead itself becomes a position.
  static constexpr uint32_t kUnknown = UINT32_MAX;
  void collect(uint32_t at, uint32_t symbol, std::vector<uint32_t>* list) {
    std::vector<uint32_t> pending = {at};
    while (!pending.empty()) {
      const uint32_t position = pending.back();
      pending.pop_back();
      if (visited_[position]) continue;
      visited_[position] = true;
      const Instruction& instruction = program_.code[position];
      if (instruction.kind == Instruction::kFork) {
        pending.push_back(instruction.other);
        pending.push_back(instruction.next);
      } else if (instruction.kind == Instruction::kLookAhead && symbol != kUnknown) {
        if (allows(instruction.set, symbol)) pending.push_back(instruction.next);
      } else {
        list->push_back(position);
      }
    }
  }

  uint32_t state_of(const std::vector<uint32_t>& list) {
    if (list.empty()) return SplitStep::kDead;
    const auto [entry, is_new] = states_.try_emplace(list, static_cast<uint32_t>(lists_.size()));
    if (is_new) lists_.push_back(list);
    return entry->second;
  }

  uint32_t step(uint32_t state, uint32_t symbol) {
    std::vector<uint32_t> list;
    begin_round();
    for (const uint32_t position : lists_[state]) collect(position, symbol, &list);
    std::vector<uint32_t> next;
    uint32_t match = 0;
    begin_round();
    for (const uint32_t position : list) {
      const Instruction& instruction = program_.code[position];
      if (instruction.kind == Instruction::kMatch) {
        match = SplitStep::kMatch;
        break;  // the positions after this one are less preferred
      }
      if (symbol < class_count() && allows(instruction.set, symbol)) collect(instruction.next, kUnknown, &next);
    }
    return match | state_of(next);
  }

  // Checks that every possessive repetition is equivalent to a greedy one, because it is compiled as one. It is if
  // nothing that can follow it begins with one of its characters: then no match gives any of them back.
  void check_possessives() {
    for (const Program::Possessive& possessive : program_.possessives) {
      std::vector<uint32_t> pending;
      begin_round();
      collect(possessive.exit, kUnknown, &pending);
      while (!pending.empty()) {
        const Instruction instruction = program_.code[pending.back()];
        pending.pop_back();
        if (instruction.kind == Instruction::kMatch) continue;
        if (instruction.kind == Instruction::kLookAhead) {
          throw std::runtime_error("look-ahead after a possessive repetition is not supported");
        }
        for (const std::vector<bool>& sets : class_sets_) {
          if (!sets[instruction.set] || !sets[possessive.set]) continue;
          throw std::runtime_error("a possessive repetition before characters that it may contain is not supported");
        }
      }
    }
  }

  void check_empty_matches() const {
    for (uint32_t symbol = 0; symbol <= class_count(); ++symbol) {
      if ((transitions[symbol] & SplitStep::kMatch) == 0) continue;
      throw std::runtime_error("a pattern that matches the empty text is not supported");
    }
  }

  // Checks that the search takes linear time: it must not read far beyond a match, except in a few states, for which
  // the runtime records failures (FailedSearches).
  void check_look_ahead() const {
    const uint32_t width = class_count() + 1;
    std::vector<uint32_t> distance(state_count(), 0);  // longest path without a match that ends in the state
    std::vector<bool> is_loop(state_count(), false);
    bool changed = true;
    for (size_t round = 0; round <= kMaxSplitLookahead && changed; ++round) {
      changed = false;
      for (uint32_t state = 0; state < state_count(); ++state) {
        for (uint32_t symbol = 0; symbol < class_count(); ++symbol) {
          const uint32_t transition = transitions[state * width + symbol];
          if ((transition & SplitStep::kMatch) != 0 || transition == SplitStep::kDead) continue;
          if (transition == state) is_loop[state] = true;
          if (transition == state || distance[transition] > distance[state]) continue;
          distance[transition] = distance[state] + 1;
          changed = true;
        }
      }
    }
    const bool is_far = *std::max_element(distance.begin(), distance.end()) > kMaxSplitLookahead;
    if (!changed && !is_far && static_cast<size_t>(std::count(is_loop.begin(), is_loop.end(), true)) <= kMaxLoopStates)
      return;
    throw std::runtime_error("a pattern that reads far beyond its match is not supported");
  }

  const Program& program_;
  std::vector<std::vector<bool>> class_sets_;  // for each class, the sets that contain it
  std::vector<std::vector<uint32_t>> lists_;   // for each state, its positions
  std::map<std::vector<uint32_t>, uint32_t> states_;
  std::vector<bool> visited_;
};

}  // namespace

void append_split_step(const SplitRule& rule, std::vector<uint32_t>* steps) {
  const NodePointer tree = Parser(rule.pattern).parse();
  const Program program(*tree);
  Determinizer automaton(program);
  automaton.run();

  steps->push_back((rule.keep_matches ? SplitStep::kKeepMatches : 0u) | (rule.keep_gaps ? SplitStep::kKeepGaps : 0u) |
                   (rule.bare_matches ? SplitStep::kBareMatches : 0u));
  steps->push_back(automaton.class_count());
  steps->push_back(static_cast<uint32_t>(automaton.range_starts.size()));
  steps->push_back(automaton.state_count());
  std::array<uint32_t, SplitStep::kAsciiSize> ascii = {};
  for (uint32_t character = 0; character < 128; ++character) {
    const auto after = std::upper_bound(automaton.range_starts.begin(), automaton.range_starts.end(), character);
    const auto range = static_cast<size_t>(after - automaton.range_starts.begin()) - 1;
    ascii[character / 4] |= automaton.range_classes[range] << character % 4 * 8;
  }
  steps->insert(steps->end(), ascii.begin(), ascii.end());
  steps->insert(steps->end(), automaton.range_starts.begin(), automaton.range_starts.end());
  steps->insert(steps->end(), automaton.range_classes.begin(), automaton.range_classes.end());
  steps->insert(steps->end(), automaton.transitions.begin(), automaton.transitions.end());
}

}  // namespace sotto
