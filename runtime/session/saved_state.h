// The format of a saved session: portable bytes with a checksum. All numbers are little-endian, in this order:
//   header: magic, version, size, the model's fingerprint, the session's configuration;
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

#include "runtime/base/byte_stream.h"
#include "runtime/base/status.h"
#include "runtime/session/session.h"

namespace sotto {

class SavedState {
 public:
  static constexpr size_t kHeaderSize = 8 + 4 + 4 + 8 + 8 + 4 * 4;

  static size_t size(const Session& session);
  // Writes size() bytes.
  static void save(const Session& session, uint8_t* bytes);
  // Resets the session and restores what save() wrote. If any check of the bytes fails, the session is unchanged.
  static Status restore(std::span<const uint8_t> bytes, Session* session, Error* error);
  // Makes `to` a copy of `from`, except for the constraint and the guide.
  static Status fork(const Session& from, Session* to, Error* error);

 private:
  struct Header;
  struct Counts;

  static Header make_header(const TokenStream& stream);
  static Status check_header(std::span<const uint8_t> bytes, const Header& expected, Error* error);
  static void write(const Session& session, ByteWriter* writer);
  static bool verify(const TokenStream& stream, ByteReader* reader);
  static void read(ByteReader* reader, Session* session);
};

}  // namespace sotto
