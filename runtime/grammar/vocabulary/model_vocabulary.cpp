#include "runtime/grammar/vocabulary/model_vocabulary.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "runtime/base/range_check.h"

namespace sotto {
namespace {

// Computes summarize() one byte at a time, with tables in place of branches.
class SummarySteps {
 public:
  struct Prefix {
    uint8_t state = 0;
    uint8_t classes = 0;
    uint8_t characters = 0;  // at most kMaxCharacters
  };

  SummarySteps() {
    for (uint32_t byte = 0; byte < 256; ++byte) {
      byte_classes_[byte] = char_class_of(static_cast<uint8_t>(byte));
      for (uint32_t state = 0; state < kUtf8States; ++state) {
        const uint8_t next = utf8_step(state, static_cast<uint8_t>(byte));
        next_[state][byte] = next == kUtf8Reject ? uint8_t{kUtf8States} : next;
      }
      next_[kUtf8States][byte] = kUtf8States;
    }
    char text[kMaxCharacters];
    std::memset(text, 'a', sizeof text);
    for (size_t count = 0; count <= kMaxCharacters; ++count) {
      constexpr uint8_t kClassBits = (1u << kCharClassCount) - 1;
      lengths_[count] = summarize({text, count}) & static_cast<uint8_t>(~kClassBits);
    }
  }

  Prefix step(const Prefix& from, uint8_t byte) const {
    const bool begins = from.state == 0;
    const auto characters = static_cast<uint8_t>(from.characters + (begins ? 1 : 0));
    return {next_[from.state][byte], static_cast<uint8_t>(from.classes | (begins ? byte_classes_[byte] : 0)),
            std::min(characters, kMaxCharacters)};
  }
  TextSummary summary(const Prefix& text) const {
    if (text.state == kUtf8States) return kOutsidePrefilters;
    return static_cast<TextSummary>(lengths_[text.characters] | text.classes);
  }

 private:
  // From this number of characters on, all lengths are in one class.
  static constexpr uint8_t kMaxCharacters = kLengthCharacters[kLengthCount - 2] + 1;

  uint8_t next_[kUtf8States + 1][256];  // the last row rejects every byte
  uint8_t byte_classes_[256];
  TextSummary lengths_[kMaxCharacters + 1];
};

// Walks over the trie along the bytes of the tokens. Nodes are opened in order and closed at the end of their subtrees.
class TrieCheck {
 public:
  TrieCheck(const VocabularySource& source, const VocabularyArrays& arrays, uint32_t node_count, uint32_t text_count)
      : source_(source), arrays_(arrays), node_count_(node_count), text_count_(text_count) {}

  // Returns whether the nodes are the trie of all tokens that have text.
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
    TextSummary summary;  // summary of the tokens found in the subtree so far
    SummarySteps::Prefix prefix;
  };

  // Opens a node and checks that siblings are in ascending order.
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

  // Closes the nodes deeper than `depth` and verifies them.
  bool close(uint32_t depth, uint32_t next) {
    for (; depth_ > depth; --depth_) {
      const Open& closed = open_[depth_];
      const TrieNode node = arrays_.nodes[closed.node];
      if (node.next() != next || node.first_token() == rank_ || arrays_.node_summaries[closed.node] != closed.summary) {
        return false;
      }
      TextSummary& outer = open_[depth_ - 1].summary;
      outer = join_summaries(outer, closed.summary);
    }
    return true;
  }

  // Takes the tokens whose text ends at the newest node.
  bool take_tokens(uint32_t node) {
    const uint32_t end = arrays_.nodes[node + 1].first_token();
    if (end < rank_ || end > text_count_) return false;
    if (end == rank_) return true;
    Open& newest = open_[depth_];
    const TextSummary summary = steps_.summary(newest.prefix);
    newest.summary = join_summaries(newest.summary, summary);
    for (int64_t previous = -1; rank_ < end; ++rank_) {
      const uint32_t token = arrays_.order[rank_];
      if (token <= previous || token >= source_.token_count()) return false;
      const auto text = source_.text(token);
      if (text.size() != depth_ || std::memcmp(text.data(), text_, depth_) != 0) return false;
      if (arrays_.token_summaries[token] != summary) return false;
      inside_count_ += summary != kOutsidePrefilters ? 1 : 0;
      previous = token;
    }
    return true;
  }

  const VocabularySource& source_;
  const VocabularyArrays& arrays_;
  const uint32_t node_count_;
  const uint32_t text_count_;
  const SummarySteps steps_;
  uint32_t rank_ = 0;
  uint32_t depth_ = 0;
  uint32_t longest_ = 0;
  uint32_t inside_count_ = 0;  // number of tokens in at least one prefilter
  char text_[TrieNode::kMaxDepth] = {};
  Open open_[TrieNode::kMaxDepth + 1] = {};  // open nodes by depth; depth 0 is the empty text
};

Status corrupt_section(Error* error, const char* what) {
  return fail(error, Status::kModelCorrupt, "vocabulary section: ", what);
}

Status find_source(const ModelView& model, VocabularySource* source, Error* error) {
  const TokenizerView* tokenizer = model.tokenizer();
  if (tokenizer == nullptr) {
    return fail(error, Status::kTokenizerMissing, "the model has no tokenizer");
  }
  *source = vocabulary_source(*tokenizer, model.end_of_text_tokens());
  return Status::kOk;
}

// Finds the prepared vocabulary of a file. Returns false if the file has none or has another version of it, so that the
// caller must build the vocabulary.
bool find_prepared(const ModelView& model, PreparedVocabulary* prepared) {
  VocabularySection section;
  if (!model.find_vocabulary(&section) || section.version != kPreparedVersion) return false;
  *prepared = {section.text_count, section.node_count, section.longest, {section.arrays.bytes, section.arrays.size}};
  return true;
}

}  // namespace

size_t prepared_vocabulary_size(uint32_t token_count, size_t text_count, size_t node_count) {
  Arena arena;
  layout_vocabulary(arena, token_count, text_count, node_count);
  return arena.size();
}

Status open_prepared_vocabulary(const VocabularySource& source, const PreparedVocabulary& prepared,
                                Vocabulary* vocabulary, Error* error) {
  uint32_t text_count = 0;
  SOTTO_TRY(check_vocabulary(source, &text_count, error));
  const uint32_t token_count = source.token_count();
  if (prepared.text_count != text_count || prepared.node_count > TrieNode::kMaxIndex ||
      prepared.arrays.size() != prepared_vocabulary_size(token_count, text_count, prepared.node_count)) {
    return corrupt_section(error, "its size does not match this tokenizer");
  }
  // The const_cast is safe: the memory is only read.
  Arena arena(const_cast<uint8_t*>(prepared.arrays.data()));
  const VocabularyArrays arrays = layout_vocabulary(arena, token_count, text_count, prepared.node_count);
  TrieCheck check(source, arrays, prepared.node_count, text_count);
  if (!check.run() || check.longest() != prepared.longest) {
    return corrupt_section(error, "it is not the tree of this tokenizer's tokens");
  }
  const std::span<const TextSummary> summaries{arrays.token_summaries, token_summary_count(token_count)};
  const auto inside = std::count_if(summaries.begin(), summaries.end(),
                                    [](TextSummary summary) { return summary != kOutsidePrefilters; });
  if (static_cast<uint32_t>(inside) != check.inside_count()) {
    return corrupt_section(error, "a special token has a text summary");
  }
  *vocabulary = {token_count,
                 prepared.longest,
                 {arrays.nodes, size_t{prepared.node_count} + 1},
                 {arrays.node_summaries, prepared.node_count},
                 summaries,
                 {arrays.order, text_count},
                 source};
  return Status::kOk;
}

VocabularySource vocabulary_source(const TokenizerView& tokenizer, std::span<const int32_t> end_tokens) {
  static_assert(TokenKind::kAdded < TokenKind::kSpecial && TokenKind::kSpecial < TokenKind::kUnused);
  VocabularySource source;
  source.bytes = tokenizer.token_bytes;
  source.offsets = tokenizer.token_offsets;
  source.special = {reinterpret_cast<const uint8_t*>(tokenizer.token_kinds.data()), tokenizer.token_kinds.size()};
  source.min_special = static_cast<uint8_t>(TokenKind::kSpecial);
  source.end_tokens = end_tokens;
  return source;
}

Status measure_model_vocabulary(const ModelView& model, size_t* size, Error* error) {
  VocabularySource source;
  SOTTO_TRY(find_source(model, &source, error));
  PreparedVocabulary prepared;
  if (!find_prepared(model, &prepared)) return measure_vocabulary(source, size, error);
  *size = Vocabulary::kObjectBytes;
  return Status::kOk;
}

Status create_model_vocabulary(const ModelView& model, void* memory, size_t memory_size, Vocabulary** vocabulary,
                               Error* error) {
  VocabularySource source;
  SOTTO_TRY(find_source(model, &source, error));
  PreparedVocabulary prepared;
  if (!find_prepared(model, &prepared)) {
    return create_vocabulary(source, memory, memory_size, vocabulary, error);
  }
  SOTTO_TRY(check_memory(memory, memory_size, Vocabulary::kObjectBytes, error));
  Vocabulary opened;
  SOTTO_TRY(open_prepared_vocabulary(source, prepared, &opened, error));
  *vocabulary = new (memory) Vocabulary(opened);
  return Status::kOk;
}

}  // namespace sotto
