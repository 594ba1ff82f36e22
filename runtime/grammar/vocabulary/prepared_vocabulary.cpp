#include "runtime/grammar/vocabulary/prepared_vocabulary.h"

#include <algorithm>
#include <cstring>

namespace sotto {
namespace {

// What summarize() makes of a text, a byte at a time: tables in place of its decisions.
class KindSteps {
 public:
  struct Prefix {
    uint8_t state = 0;
    uint8_t classes = 0;
    uint8_t characters = 0;  // at most kMostCharacters
  };

  KindSteps() {
    for (uint32_t byte = 0; byte < 256; ++byte) {
      sorts_[byte] = char_class_of(static_cast<uint8_t>(byte));
      for (uint32_t state = 0; state < kUtf8States; ++state) {
        const uint8_t next = utf8_step(state, static_cast<uint8_t>(byte));
        next_[state][byte] = next == kUtf8Reject ? uint8_t{kUtf8States} : next;
      }
      next_[kUtf8States][byte] = kUtf8States;
    }
    char text[kMostCharacters];
    std::memset(text, 'a', sizeof text);
    for (size_t count = 0; count <= kMostCharacters; ++count) {
      constexpr uint8_t kClassBits = (1u << kCharClassCount) - 1;
      lengths_[count] = summarize({text, count}) & static_cast<uint8_t>(~kClassBits);
    }
  }

  Prefix step(const Prefix& from, uint8_t byte) const {
    const bool begins = from.state == 0;
    const auto characters = static_cast<uint8_t>(from.characters + (begins ? 1 : 0));
    return {next_[from.state][byte], static_cast<uint8_t>(from.classes | (begins ? sorts_[byte] : 0)),
            std::min(characters, kMostCharacters)};
  }
  TextSummary kind(const Prefix& text) const {
    if (text.state == kUtf8States) return kOutsidePrefilters;
    return static_cast<TextSummary>(lengths_[text.characters] | text.classes);
  }

 private:
  // From here on all lengths are of one class.
  static constexpr uint8_t kMostCharacters = kLengthCharacters[kLengthCount - 2] + 1;

  uint8_t next_[kUtf8States + 1][256];  // the last is where dead ends lead
  uint8_t sorts_[256];
  TextSummary lengths_[kMostCharacters + 1];
};

// Walks the trie along the bytes of its texts: nodes are opened in order and closed where
// their subtrees end.
class TrieCheck {
 public:
  TrieCheck(const VocabularySource& source, const VocabularyArrays& arrays, uint32_t node_count, uint32_t text_count)
      : source_(source), arrays_(arrays), node_count_(node_count), text_count_(text_count) {}

  // True: it is the trie of all texts.
  bool run() {
    for (uint32_t node = 0; node < node_count_; ++node) {
      if (!open(node) || !take_tokens(node)) return false;
    }
    const TrieNode& end = arrays_.nodes[node_count_];
    return close(0, node_count_) && rank_ == text_count_ && end.next() == node_count_ &&
           end.first_token() == text_count_ && end.depth() == 0 && end.byte() == 0;
  }
  uint32_t longest() const { return longest_; }
  uint32_t inside_count() const { return inside_count_; }

 private:
  struct Open {
    uint32_t node;
    TextSummary kind;  // of the tokens met in the subtree so far
    KindSteps::Prefix prefix;
  };

  // Siblings ascend.
  bool open(uint32_t node) {
    const TrieNode opened = arrays_.nodes[node];
    const uint32_t depth = opened.depth();
    if (depth == 0 || depth > depth_ + 1 || opened.first_token() != rank_) return false;
    if (depth <= depth_ && opened.byte() <= static_cast<uint8_t>(text_[depth - 1])) return false;
    if (!close(depth - 1, node)) return false;
    text_[depth - 1] = static_cast<char>(opened.byte());
    open_[depth] = {node, 0, steps_.step(open_[depth - 1].prefix, opened.byte())};
    depth_ = depth;
    longest_ = std::max(longest_, depth);
    return true;
  }

  // Every subtree has tokens.
  bool close(uint32_t depth, uint32_t next) {
    for (; depth_ > depth; --depth_) {
      const Open& closed = open_[depth_];
      const TrieNode node = arrays_.nodes[closed.node];
      if (node.next() != next || node.first_token() == rank_ || arrays_.node_summaries[closed.node] != closed.kind) {
        return false;
      }
      TextSummary& outer = open_[depth_ - 1].kind;
      outer = join_summaries(outer, closed.kind);
    }
    return true;
  }

  // Those with the text that ends at the newest node.
  bool take_tokens(uint32_t node) {
    const uint32_t end = arrays_.nodes[node + 1].first_token();
    if (end < rank_ || end > text_count_) return false;
    if (end == rank_) return true;
    Open& newest = open_[depth_];
    const TextSummary kind = steps_.kind(newest.prefix);
    newest.kind = join_summaries(newest.kind, kind);
    for (int64_t previous = -1; rank_ < end; ++rank_) {
      const uint32_t token = arrays_.order[rank_];
      if (token <= previous || token >= source_.token_count()) return false;
      const auto text = source_.text(token);
      if (text.size() != depth_ || std::memcmp(text.data(), text_, depth_) != 0) return false;
      if (arrays_.token_summaries[token] != kind) return false;
      inside_count_ += kind != kOutsidePrefilters ? 1 : 0;
      previous = token;
    }
    return true;
  }

  const VocabularySource& source_;
  const VocabularyArrays& arrays_;
  const uint32_t node_count_;
  const uint32_t text_count_;
  const KindSteps steps_;
  uint32_t rank_ = 0;
  uint32_t depth_ = 0;
  uint32_t longest_ = 0;
  uint32_t inside_count_ = 0;  // tokens of a kind that slices hold
  char text_[TrieNode::kMaxDepth] = {};
  Open open_[TrieNode::kMaxDepth + 1] = {};  // by depth, from 0 for the empty text
};

Status corrupt(Error* error, const char* what) {
  return fail(error, Status::kModelCorrupt, "vocabulary section: ", what);
}

}  // namespace

size_t prepared_vocabulary_size(uint32_t token_count, size_t text_count, size_t node_count) {
  Arena arena;
  lay_out_vocabulary(arena, token_count, text_count, node_count);
  return arena.size();
}

Status open_prepared_vocabulary(const VocabularySource& source, const PreparedVocabulary& prepared,
                                Vocabulary* vocabulary, Error* error) {
  uint32_t text_count = 0;
  SOTTO_TRY(check_vocabulary(source, &text_count, error));
  const uint32_t token_count = source.token_count();
  if (prepared.text_count != text_count || prepared.node_count > TrieNode::kMaxIndex ||
      prepared.arrays.size() != prepared_vocabulary_size(token_count, text_count, prepared.node_count)) {
    return corrupt(error, "it is not of this tokenizer's size");
  }
  // Read only, whatever the type says.
  Arena arena(const_cast<uint8_t*>(prepared.arrays.data()));
  const VocabularyArrays arrays = lay_out_vocabulary(arena, token_count, text_count, prepared.node_count);
  TrieCheck check(source, arrays, prepared.node_count, text_count);
  if (!check.run() || check.longest() != prepared.longest) {
    return corrupt(error, "it is not the tree of this tokenizer's tokens");
  }
  const std::span<const TextSummary> kinds{arrays.token_summaries, token_summary_count(token_count)};
  const auto inside =
      std::count_if(kinds.begin(), kinds.end(), [](TextSummary kind) { return kind != kOutsidePrefilters; });
  if (static_cast<uint32_t>(inside) != check.inside_count()) {
    return corrupt(error, "it gives a kind to special tokens");
  }
  *vocabulary = {token_count,
                 prepared.longest,
                 {arrays.nodes, size_t{prepared.node_count} + 1},
                 {arrays.node_summaries, prepared.node_count},
                 kinds,
                 {arrays.order, text_count},
                 source};
  return Status::kOk;
}

}  // namespace sotto
