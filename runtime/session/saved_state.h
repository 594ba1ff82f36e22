// The format of a saved session: portable bytes with a checksum. All numbers are little-endian, in this order:
//   the head (runtime/base/envelope.h), and the session's configuration;
//   KV sequence: tokens, positions, keys and values in use (runtime/transformer/kv_sequence_image.h);
//   stream: counts, the pending token, the start of the answer, and the stops that will end or have ended the text;
//     then the bytes of token healing, the state of each token (sampler, withheld text, flags), and the buffered and
//     rejected tokens;
//   XXH64 of all bytes before it.
// The format contains no sampler parameters, stops, constraint, guide or timings. Random numbers need no state
// (runtime/base/random.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/envelope.h"
#include "runtime/base/status.h"
#include "runtime/session/session.h"

namespace sotto {

class SavedState {
 public:
  static size_t size(const Session& session);
  // Writes size() bytes.
  static void save(const Session& session, uint8_t* bytes);
  // Resets the session and restores what save() wrote. If any check of the bytes fails, the session is unchanged.
  static Status restore(std::span<const uint8_t> bytes, Session* session, Error* error);
  // Makes `to` a copy of `from`, except for the constraint and the guide.
  static Status fork(const Session& from, Session* to, Error* error);

 private:
  // Passes a session to a ByteWriter, its bytes to a ByteChecker, or the bytes that a ByteChecker has accepted to a
  // ByteReader. Only the ByteReader changes the session, which must have been reset.
  template <typename Stream, typename Output, typename Bytes>
  static void visit(Stream& stream, Output& output, Bytes* bytes);
  static void write(const Session& session, ByteWriter* writer);
};

}  // namespace sotto
