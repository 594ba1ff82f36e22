// A saved session: its stream as portable, checked bytes. In this order, little-endian:
//   header: magic, version, size, the model's fingerprint, the shape;
//   context: tokens, positions, keys and values in use (runtime/transformer/kv_sequence_image.h);
//   stream: the token still to be evaluated, where the answer began, healing, tokens held and
//   refused, why the text ends; a state for each token (sampler, text held back);
//   XXH64 of all that.
// Not in it: the parameters of sampler and stops, constraint, guide, times. The sampler's
// random numbers follow from its seed and the tokens' places.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/status.h"
#include "runtime/model/model.h"
#include "runtime/session/healing.h"
#include "runtime/session/held_tokens.h"
#include "runtime/session/session_params.h"
#include "runtime/session/token_states.h"
#include "runtime/transformer/kv_sequence_image.h"

namespace sotto {

struct SavedHeader {
  static constexpr uint8_t kMagic[8] = {'S', 'O', 'T', 'T', 'O', 'S', 'E', 'S'};
  static constexpr uint32_t kVersion = 1;
  static constexpr size_t kChecksumSize = sizeof(uint64_t);

  uint64_t size = 0;
  uint64_t fingerprint = 0;
  uint32_t context_tokens = 0;
  uint32_t sink_tokens = 0;
  int32_t overflow = 0;
  uint32_t features = 0;  // those that keep something with the stream
};

// The same for every file with the same quantized weights, packed or not.
uint64_t model_fingerprint(const Model& model);

SavedHeader make_header(const Model& model, const SessionParams& params);
void write_header(const SavedHeader& header, ByteWriter* writer);
// Checks the checksum and the whole header against what `expected` says.
Status check_saved(std::span<const uint8_t> bytes, const SavedHeader& expected, Error* error);
inline constexpr size_t kSavedHeaderSize = 8 + 4 + 4 + 8 + 8 + 4 * 4;

void write_state(const TokenState& state, ByteWriter* writer);
TokenState read_state(ByteReader* reader);  // fails the reader on what cannot be

void write_held(const HeldToken& held, ByteWriter* writer);
void read_held(uint32_t vocabulary_size, ByteReader* reader, HeldToken* held);

}  // namespace sotto
