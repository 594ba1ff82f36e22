// The interface of a grammar, or of anything else that limits the next token, to sessions and searches: plain functions
// over numbered sequences, so that neither side includes the other.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/base/status.h"
#include "runtime/base/token_mask.h"

namespace sotto {

// Sequence 0 is the session's stream; a search forks it into 1, 2, ...
struct TokenConstraint {
  void* self = nullptr;

  // Finds the tokens that may follow; end of text is among them where the sequence may end. On success at least one is
  // allowed. The words belong to the constraint and are valid until its next call.
  Status (*mask)(void* self, uint32_t sequence, TokenMask* mask) = nullptr;

  // Accepts a token that mask() allows. On failure nothing has changed.
  Status (*accept)(void* self, uint32_t sequence, int32_t token) = nullptr;

  // Returns whether only end of text may follow.
  bool (*complete)(void* self, uint32_t sequence) = nullptr;

  // Rolls back what sequence 0 accepted in its newest `count` calls. On failure nothing has changed.
  Status (*rewind)(void* self, uint64_t count) = nullptr;

  // Makes sequence `to` a copy of `from`, in constant time.
  void (*fork)(void* self, uint32_t from, uint32_t to) = nullptr;

  // Marks where sequence 0 is; restart() goes back there, however far that is.
  void (*mark_start)(void* self) = nullptr;
  void (*restart)(void* self) = nullptr;

  // Test and accept text that need not be a whole token. On failure nothing has changed.
  Status (*test_text)(void* self, uint32_t sequence, std::span<const char> text, bool* fits) = nullptr;
  Status (*accept_text)(void* self, uint32_t sequence, std::span<const char> text) = nullptr;

  // Writes the text that must come next, at most as much as fits; `*size`: its bytes. May be null.
  Status (*forced)(void* self, uint32_t sequence, std::span<char> text, size_t* size) = nullptr;
};

}  // namespace sotto
