#include "converters/tokenizers/vocabulary_builder.h"

#include <memory>
#include <new>

#include "runtime/grammar/vocabulary/model_vocabulary.h"

namespace sotto {
namespace {

struct AlignedDelete {
  void operator()(uint8_t* bytes) const { operator delete[](bytes, std::align_val_t{kMemoryAlignment}); }
};

}  // namespace

std::optional<VocabularyData> build_vocabulary_data(const TokenizerData& tokenizer, int32_t end_token) {
  TokenizerView tokens;
  tokens.token_offsets = tokenizer.token_offsets;
  tokens.token_bytes = tokenizer.token_bytes;
  tokens.token_kinds = tokenizer.token_kinds;
  const VocabularySource source = vocabulary_source(tokens, end_token);
  std::vector<uint32_t> order(source.token_count());
  uint32_t text_count = 0;
  if (sort_tokens(source, order.data(), &text_count, nullptr) != Status::kOk) return std::nullopt;
  order.resize(text_count);
  // The padding between the arrays is zero, so that equal tokenizers produce equal bytes.
  const std::unique_ptr<uint8_t[], AlignedDelete> memory(new (std::align_val_t{kMemoryAlignment})
                                                             uint8_t[vocabulary_memory_size(source, order)]());
  Vocabulary vocabulary;
  build_vocabulary(source, order, memory.get(), &vocabulary);

  VocabularyData data;
  data.text_count = text_count;
  data.node_count = static_cast<uint32_t>(vocabulary.node_summaries.size());
  data.longest = vocabulary.longest;
  const size_t size = prepared_vocabulary_size(source.token_count(), text_count, data.node_count);
  data.arrays.assign(memory.get(), memory.get() + size);
  return data;
}

}  // namespace sotto
