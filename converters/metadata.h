// Builds the FlatBuffer of a .sotto file (runtime/model/model.fbs) from plain structs that mirror its tables.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "converters/readers/checkpoint.h"
#include "converters/tokenizers/builder.h"

namespace sotto {

// Bytes of the file, with their XXH64 checksum.
struct DataRange {
  uint64_t offset = 0;
  uint64_t size = 0;
  uint64_t checksum = 0;
};

// A linear layer: int8 weights with their scales and bias, or the tiles of 4-bit weights with both in them.
struct LinearRanges {
  uint32_t inputs = 0;
  uint32_t outputs = 0;
  DataRange weights;
  DataRange scales;
  std::optional<DataRange> bias;
  std::optional<DataRange> tiles;  // if set, the other three are empty
};

struct NormRanges {
  DataRange gain;
  DataRange bias;
};

struct LayerRanges {
  NormRanges attention_norm;
  LinearRanges attention_qkv;
  LinearRanges attention_output;
  NormRanges feed_forward_norm;
  LinearRanges feed_forward_up;
  LinearRanges feed_forward_down;
};

// The linear layers again, packed for one instruction set, in the order of ModelRanges::linears().
struct PackedRanges {
  uint64_t fingerprint = 0;
  std::string isa;
  std::vector<DataRange> weights;
};

// The vocabulary prepared for grammars (VocabularyData).
struct VocabularyRanges {
  uint32_t version = 0;
  uint32_t text_count = 0;
  uint32_t node_count = 0;
  uint32_t longest = 0;
  DataRange arrays;
};

struct ModelRanges {
  DataRange positions;
  LinearRanges token_embedding;
  std::vector<LayerRanges> layers;
  NormRanges final_norm;
  std::optional<LinearRanges> head;
  std::optional<PackedRanges> packed;
  std::optional<VocabularyRanges> vocabulary;

  // Returns the linear layers in the order of the format: qkv, output, up and down of each layer, then the head.
  std::vector<const LinearRanges*> linears() const;
};

// Returns the finished buffer. Its size depends on the ranges that exist, not on their values, so the writer can
// reserve it before they are known. `tokenizer` may be null.
std::vector<uint8_t> build_metadata(const CheckpointInfo& info, const TokenizerData* tokenizer,
                                    const ModelRanges& ranges);

}  // namespace sotto
