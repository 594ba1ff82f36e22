#include "runtime/grammar/vocabulary/vocabulary_memory.h"

#include <algorithm>
#include <new>

#include "runtime/base/arena.h"

namespace sotto {
namespace {

constexpr uint32_t kMaxCountedTokens = 1u << 18;

// Tokens with text in order, a batch at a time, without memory to sort them all: each batch
// is the smallest of those behind the one before.
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
  static constexpr uint32_t kBatch = 4096;

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

}  // namespace

Status measure_vocabulary(const VocabularySource& source, size_t* size, Error* error) {
  uint32_t text_count = 0;
  SOTTO_TRY(check_vocabulary(source, &text_count, error));
  const size_t nodes = text_count <= kMaxCountedTokens ? count_nodes(source) : bound_nodes(source);
  *size = kVocabularyBytes + vocabulary_memory_size(source, text_count, nodes);
  return Status::kOk;
}

Status place_vocabulary(const VocabularySource& source, void* memory, size_t memory_size, Vocabulary** vocabulary,
                        Error* error) {
  uint32_t count = 0;
  SOTTO_TRY(check_vocabulary(source, &count, error));
  auto* order = reinterpret_cast<uint32_t*>(static_cast<uint8_t*>(memory) + kVocabularyBytes);
  size_t needed = 0;
  if (memory_size < kVocabularyBytes + count * sizeof *order || count > kMaxCountedTokens) {
    SOTTO_TRY(measure_vocabulary(source, &needed, error));
  }
  if (memory_size >= needed) {
    SOTTO_TRY(sort_tokens(source, order, &count, error));
    const size_t exact = vocabulary_memory_size(source, {order, count});
    needed = std::max(needed, kVocabularyBytes + exact);
  }
  if (memory_size < needed) {
    return fail(error, Status::kMemoryTooSmall, "the vocabulary needs ", needed, " bytes, got ", memory_size);
  }
  auto* made = new (memory) Vocabulary;
  build_vocabulary(source, {order, count}, order, made);
  *vocabulary = made;
  return Status::kOk;
}

}  // namespace sotto
