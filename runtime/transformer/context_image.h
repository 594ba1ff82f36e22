// What the stream of a Context is made of, as portable bytes, and from one Context to another
// of the same shape: tokens, positions, the keys and values of the slots in use, and the
// hidden states kept with them.
#pragma once

#include "runtime/base/byte_stream.h"
#include "runtime/model/model.h"
#include "runtime/transformer/context.h"

namespace sotto {

// The numbers that say where a stream is.
struct ContextPlace {
  uint64_t token_count = 0;
  uint64_t anchor = 0;
  uint64_t reanchor_count = 0;
  uint32_t position = 0;
  uint32_t reanchor_due = 0;
};

class ContextImage {
 public:
  static void write(const Context& context, const ModelConfig& config, ByteWriter* writer);
  // Reads what write() wrote and says whether `context` could be like that; it stays as it is.
  static bool verify(const Context& context, const ModelConfig& config, ByteReader* reader, ContextPlace* place);
  // After verify() of the same bytes.
  static void read(Context* context, const ModelConfig& config, ByteReader* reader);

  // Logits included.
  static void copy(const Context& from, const ModelConfig& config, Context* to);

 private:
  struct Head;
  static bool is_possible(const Context& context, const ModelConfig& config, const ContextPlace& place);
  static ContextPlace read_place(ByteReader* reader);
  static Head head(const Context& context, uint32_t layer, uint32_t head);
};

}  // namespace sotto
