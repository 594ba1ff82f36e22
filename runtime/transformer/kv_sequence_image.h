// The stream of a KvSequence as portable bytes: its tokens and positions, the keys and values of the slots in use, and
// the hidden states stored with them. copy() does the same without the bytes, between two sequences with the same
// configuration.
#pragma once

#include "runtime/base/byte_stream.h"
#include "runtime/model/model.h"
#include "runtime/transformer/kv_sequence.h"

namespace sotto {

class KvSequenceImage {
 public:
  // Passes a stream to a ByteWriter, its bytes to a ByteChecker, or the bytes that a ByteChecker has accepted to a
  // ByteReader. Only the ByteReader changes the sequence. Returns the number of tokens in the stream of the bytes.
  template <typename Sequence, typename Bytes>
  static uint64_t visit(Sequence& sequence, const ModelConfig& config, Bytes* bytes);

  // Copies a stream, including its logits.
  static void copy(const KvSequence& from, const ModelConfig& config, KvSequence* to);

 private:
  using Cursor = KvSequence::Cursor;

  static bool is_possible(const KvSequence& sequence, const ModelConfig& config, const Cursor& saved);
};

extern template uint64_t KvSequenceImage::visit(const KvSequence&, const ModelConfig&, ByteWriter*);
extern template uint64_t KvSequenceImage::visit(const KvSequence&, const ModelConfig&, ByteChecker*);
extern template uint64_t KvSequenceImage::visit(KvSequence&, const ModelConfig&, ByteReader*);

}  // namespace sotto
