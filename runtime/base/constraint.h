// What a grammar, or anything else that limits which token may come next, looks like to the
// session and the searches: plain functions over numbered sequences, so that neither side
// includes the other.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/base/status.h"
#include "runtime/base/token_mask.h"

namespace sotto {

// Sequence 0 is the session's stream; a search forks it into 1, 2, ...
struct TokenConstraint {
  void* self = nullptr;

  // The tokens that may follow, end of text among them where the sequence may end. At least
  // one is allowed on success. The words belong to the constraint until its next call.
  Status (*mask)(void* self, uint32_t sequence, TokenMask* mask) = nullptr;

  // Takes a token that mask() allows. On failure nothing has changed.
  Status (*accept)(void* self, uint32_t sequence, int32_t token) = nullptr;

  // Nothing but end of text may follow.
  bool (*complete)(void* self, uint32_t sequence) = nullptr;

  // Takes back what sequence 0 accepted in its newest `count` calls. On failure nothing has
  // changed.
  Status (*rewind)(void* self, uint64_t count) = nullptr;

  // Sequence `to` becomes a copy of `from`. Costs next to nothing.
  void (*fork)(void* self, uint32_t from, uint32_t to) = nullptr;

  // Remembers where sequence 0 stands: restart() goes back there, however far that is.
  void (*mark_start)(void* self) = nullptr;
  void (*restart)(void* self) = nullptr;

  // Whether text that is no whole token may come next, and taking it. On failure nothing has
  // changed.
  Status (*test_text)(void* self, uint32_t sequence, std::span<const char> text, bool* fits) = nullptr;
  Status (*accept_text)(void* self, uint32_t sequence, std::span<const char> text) = nullptr;

  // May be null. The text that must come next, as far as `text` has room and it does not end:
  // `*size` bytes.
  Status (*forced)(void* self, uint32_t sequence, std::span<char> text, size_t* size) = nullptr;
};

}  // namespace sotto
