// The interface between anything that limits the next token, such as a grammar, and sessions and searches. It consists
// of plain functions over numbered sequences, so that neither side includes the other.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/base/status.h"
#include "runtime/base/token_mask.h"

namespace sotto {

// Sequence 0 is the session's stream; a search forks it into 1, 2, ...
struct TokenConstraint {
  void* self = nullptr;

  // Finds the tokens that may follow. The end-of-text token is among them if the sequence may end here. On success at
  // least one token is allowed. The words belong to the constraint and are valid until its next call.
  Status (*mask)(void* self, uint32_t sequence, TokenMask* mask) = nullptr;

  // Accepts a token that mask() allows. On failure nothing has changed.
  Status (*accept)(void* self, uint32_t sequence, int32_t token) = nullptr;

  // Returns whether only the end-of-text token may follow.
  bool (*is_complete)(void* self, uint32_t sequence) = nullptr;

  // Rolls back what sequence 0 accepted in its newest `count` calls. On failure nothing has changed.
  Status (*rewind)(void* self, uint64_t count) = nullptr;

  // Makes sequence `to` a copy of `from`, in constant time.
  void (*fork)(void* self, uint32_t from, uint32_t to) = nullptr;

  // Marks the present place of sequence 0. restart() returns to it, however many tokens were accepted since.
  void (*mark_start)(void* self) = nullptr;
  void (*restart)(void* self) = nullptr;

  // Test and accept text that need not be a whole token. On failure nothing has changed.
  Status (*test_text)(void* self, uint32_t sequence, std::span<const char> text, bool* fits) = nullptr;
  Status (*accept_text)(void* self, uint32_t sequence, std::span<const char> text) = nullptr;

  // Writes the text that must come next, at most as much as fits, and stores its size in `*size`. This function may be
  // null.
  Status (*forced_text)(void* self, uint32_t sequence, std::span<char> text, size_t* size) = nullptr;
};

}  // namespace sotto
