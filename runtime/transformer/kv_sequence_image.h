// The stream of a KvSequence as portable bytes: its tokens and positions, the keys and values of the slots in use, and
// the hidden states stored with them. copy() does the same without the bytes, between two sequences with the same
// configuration.
#pragma once

#include "runtime/base/byte_stream.h"
#include "runtime/model/model.h"
#include "runtime/transformer/kv_sequence.h"

namespace sotto {

// The counters and positions of a stream.
struct KvSequencePosition {
  uint64_t token_count = 0;
  uint64_t anchor = 0;
  uint64_t reanchor_count = 0;
  uint32_t position = 0;
  uint32_t reanchor_due = 0;
};

class KvSequenceImage {
 public:
  static void write(const KvSequence& sequence, const ModelConfig& config, ByteWriter* writer);
  // Reads the output of write() and returns whether a sequence like `sequence` could have reached that state.
  // `sequence` does not change.
  static bool verify(const KvSequence& sequence, const ModelConfig& config, ByteReader* reader,
                     KvSequencePosition* saved);
  // Restores the output of write(). verify() must have accepted it.
  static void read(KvSequence* sequence, const ModelConfig& config, ByteReader* reader);

  // Copies a stream, including its logits.
  static void copy(const KvSequence& from, const ModelConfig& config, KvSequence* to);

 private:
  static bool is_possible(const KvSequence& sequence, const ModelConfig& config, const KvSequencePosition& saved);
  static KvSequencePosition read_position(ByteReader* reader);
};

}  // namespace sotto
