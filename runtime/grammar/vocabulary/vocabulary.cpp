#include "runtime/grammar/vocabulary/vocabulary.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "runtime/base/range_check.h"

namespace sotto {
namespace {

size_t common_prefix(std::span<const char> a, std::span<const char> b) {
  const size_t size = std::min(a.size(), b.size());
  size_t common = 0;
  while (common < size && a[common] == b[common]) ++common;
  return common;
}

// Writes the nodes of tokens that arrive in byte order. The nodes of the newest token's prefixes remain open.
class TrieWriter {
 public:
  explicit TrieWriter(const VocabularyArrays& arrays) : arrays_(arrays) {}

  void add(std::span<const char> bytes, uint32_t rank, TextSummary summary) {
    close(common_prefix(previous_, bytes));
    while (depth_ < bytes.size()) {
      first_tokens_[depth_] = rank;
      path_[depth_] = count_;
      bytes_[depth_] = static_cast<uint8_t>(bytes[depth_]);
      arrays_.node_summaries[count_++] = 0;
      ++depth_;
    }
    for (uint32_t i = 0; i < depth_; ++i) {
      TextSummary& known = arrays_.node_summaries[path_[i]];
      known = join_summaries(known, summary);
    }
    previous_ = bytes;
  }

  void finish(uint32_t order_count) {
    close(0);
    arrays_.nodes[count_] = TrieNode(count_, order_count, 0, 0);
  }

 private:
  void close(size_t depth) {
    for (; depth_ > depth; --depth_) {
      const uint32_t top = depth_ - 1;
      arrays_.nodes[path_[top]] = TrieNode(count_, first_tokens_[top], depth_, bytes_[top]);
    }
  }

  const VocabularyArrays& arrays_;
  std::span<const char> previous_;
  uint32_t count_ = 0;
  uint32_t depth_ = 0;
  uint32_t path_[TrieNode::kMaxDepth] = {};
  uint32_t first_tokens_[TrieNode::kMaxDepth] = {};
  uint8_t bytes_[TrieNode::kMaxDepth] = {};
};

// Returns whether token a precedes token b in the trie.
bool comes_before(const VocabularySource& source, uint32_t a, uint32_t b) {
  const auto x = source.token(a);
  const auto y = source.token(b);
  const int compared = std::memcmp(x.data(), y.data(), std::min(x.size(), y.size()));
  if (compared != 0) return compared < 0;
  return x.size() != y.size() ? x.size() < y.size() : a < b;
}

// Counts the nodes that these tokens, in byte order, add to the trie after a token with the text `before`.
size_t count_trie_nodes(const VocabularySource& source, std::span<const uint32_t> order,
                        std::span<const char> before = {}) {
  size_t count = 0;
  for (const uint32_t token : order) {
    const auto bytes = source.token(token);
    count += bytes.size() - common_prefix(before, bytes);
    before = bytes;
  }
  return count;
}

constexpr uint32_t kMaxCountedTokens = 1u << 18;

// Returns the tokens that have text, in byte order and in batches. Each batch consists of the smallest tokens after the
// previous batch, collected in a heap, which avoids the memory for sorting all tokens.
class TokenBatches {
 public:
  explicit TokenBatches(const VocabularySource& source) : source_(source) {}

  std::span<const uint32_t> next() {
    const auto before = [this](uint32_t a, uint32_t b) { return comes_before(source_, a, b); };
    const uint32_t last = count_ == 0 ? 0 : batch_[count_ - 1];
    const bool is_first = count_ == 0;
    count_ = 0;
    for (uint32_t token = 0; token < source_.token_count(); ++token) {
      if (source_.text(token).empty() || (!is_first && !before(last, token))) continue;
      if (count_ == kBatch) {
        if (!before(token, batch_[0])) continue;
        std::pop_heap(batch_, batch_ + count_--, before);
      }
      batch_[count_++] = token;
      std::push_heap(batch_, batch_ + count_, before);
    }
    std::sort_heap(batch_, batch_ + count_, before);
    return {batch_, count_};
  }

 private:
  static constexpr uint32_t kBatch = 4096;  // number of tokens per batch

  const VocabularySource& source_;
  uint32_t count_ = 0;
  uint32_t batch_[kBatch];
};

size_t count_nodes(const VocabularySource& source) {
  TokenBatches batches(source);
  size_t count = 0;
  std::span<const char> last;
  for (;;) {
    const auto batch = batches.next();
    if (batch.empty()) return count;
    count += count_trie_nodes(source, batch, last);
    last = source.token(batch.back());
  }
}

size_t bound_nodes(const VocabularySource& source) {
  size_t count = 0;
  for (uint32_t token = 0; token < source.token_count(); ++token) {
    count += source.text(token).size();
  }
  return count;
}

size_t memory_size_of(const VocabularySource& source, size_t text_count, size_t node_count) {
  Arena arena;
  layout_vocabulary(arena, source.token_count(), text_count, node_count);
  arena.take<int32_t>(source.end_tokens.size());
  return arena.size();
}

}  // namespace

Status check_vocabulary(const VocabularySource& source, uint32_t* text_count, Error* error) {
  const uint32_t count = source.token_count();
  SOTTO_TRY(check_range("token_count", count, 1, TrieNode::kMaxIndex, error));
  const auto size_of_all = static_cast<double>(source.bytes.size());
  SOTTO_TRY(check_range("the size of all tokens", size_of_all, 0, TrieNode::kMaxIndex, error));
  SOTTO_TRY(check_tokens("end_tokens", source.end_tokens, count, error));
  *text_count = 0;
  for (uint32_t token = 0; token < count; ++token) {
    if (source.offsets[token] > source.offsets[token + 1] || source.offsets[token + 1] > source.bytes.size()) {
      return fail(error, Status::kInvalidArgument, "offsets[", token + 1, "] is ", source.offsets[token + 1],
                  "; it must be from ", source.offsets[token], " to the size of the bytes, ", source.bytes.size());
    }
    const size_t size = source.text(token).size();
    if (size > TrieNode::kMaxDepth) {
      return fail(error, Status::kInvalidArgument, "token ", token, " has ", size, " bytes; it must have at most 255");
    }
    *text_count += size > 0 ? 1 : 0;
  }
  return Status::kOk;
}

Status sort_tokens(const VocabularySource& source, uint32_t* order, uint32_t* order_count, Error* error) {
  SOTTO_TRY(check_vocabulary(source, order_count, error));
  uint32_t sorted = 0;
  for (uint32_t token = 0; token < source.token_count(); ++token) {
    if (!source.text(token).empty()) order[sorted++] = token;
  }
  std::sort(order, order + sorted, [&](uint32_t a, uint32_t b) { return comes_before(source, a, b); });
  return Status::kOk;
}

VocabularyArrays layout_vocabulary(Arena& arena, uint32_t token_count, size_t text_count, size_t node_count) {
  return {arena.take<uint32_t>(text_count), arena.take<TrieNode>(node_count + 1), arena.take<TextSummary>(node_count),
          arena.take<TextSummary>(token_summary_count(token_count))};
}

size_t vocabulary_memory_size(const VocabularySource& source, std::span<const uint32_t> order) {
  return memory_size_of(source, order.size(), count_trie_nodes(source, order));
}

void build_vocabulary(const VocabularySource& source, std::span<const uint32_t> order, void* memory,
                      Vocabulary* vocabulary) {
  const size_t node_count = count_trie_nodes(source, order);
  const size_t summary_count = token_summary_count(source.token_count());
  Arena arena(memory);
  const VocabularyArrays arrays = layout_vocabulary(arena, source.token_count(), order.size(), node_count);
  auto* end_tokens = arena.take<int32_t>(source.end_tokens.size());
  TrieWriter writer(arrays);
  uint32_t longest = 0;
  std::fill_n(arrays.token_summaries, summary_count, kOutsidePrefilters);
  for (uint32_t rank = 0; rank < order.size(); ++rank) {
    const auto bytes = source.token(order[rank]);
    const TextSummary summary = summarize(bytes);
    writer.add(bytes, rank, summary);
    arrays.token_summaries[order[rank]] = summary;
    longest = std::max(longest, static_cast<uint32_t>(bytes.size()));
    arrays.order[rank] = order[rank];
  }
  writer.finish(static_cast<uint32_t>(order.size()));
  std::copy(source.end_tokens.begin(), source.end_tokens.end(), end_tokens);
  *vocabulary = {source.token_count(),
                 longest,
                 {arrays.nodes, node_count + 1},
                 {arrays.node_summaries, node_count},
                 {arrays.token_summaries, summary_count},
                 {arrays.order, order.size()},
                 source};
  vocabulary->source.end_tokens = {end_tokens, source.end_tokens.size()};
}

Status measure_vocabulary(const VocabularySource& source, size_t* size, Error* error) {
  uint32_t text_count = 0;
  SOTTO_TRY(check_vocabulary(source, &text_count, error));
  const size_t nodes = text_count <= kMaxCountedTokens ? count_nodes(source) : bound_nodes(source);
  *size = Vocabulary::kObjectBytes + memory_size_of(source, text_count, nodes);
  return Status::kOk;
}

Status create_vocabulary(const VocabularySource& source, void* memory, size_t memory_size, Vocabulary** vocabulary,
                         Error* error) {
  uint32_t count = 0;
  SOTTO_TRY(check_vocabulary(source, &count, error));
  auto* order = reinterpret_cast<uint32_t*>(static_cast<uint8_t*>(memory) + Vocabulary::kObjectBytes);
  size_t needed = 0;
  if (memory_size < Vocabulary::kObjectBytes + count * sizeof *order || count > kMaxCountedTokens) {
    SOTTO_TRY(measure_vocabulary(source, &needed, error));
  }
  if (memory_size >= needed) {
    SOTTO_TRY(sort_tokens(source, order, &count, error));
    const size_t exact = vocabulary_memory_size(source, {order, count});
    needed = std::max(needed, Vocabulary::kObjectBytes + exact);
  }
  SOTTO_TRY(check_memory(memory, memory_size, needed, error));
  auto* object = new (memory) Vocabulary;
  build_vocabulary(source, {order, count}, order, object);
  *vocabulary = object;
  return Status::kOk;
}

}  // namespace sotto
