// The interface through which an object such as a grammar's matcher limits the next token of a session or search. The
// interface is a struct of plain functions over numbered sequences, so that neither side has to include the other.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/base/status.h"
#include "runtime/base/token_mask.h"

namespace sotto {

// Functions of a constraint. `self` is passed to each of them. Sequence 0 is the session's stream; a search forks it
// into 1, 2, ...
struct TokenConstraint {
  void* self = nullptr;

  // Finds the tokens that may come next. The end-of-text token is one of them if the sequence may end here. On success,
  // at least one token is allowed. The words belong to the constraint and are valid until its next call.
  Status (*mask)(void* self, uint32_t sequence, TokenMask* mask) = nullptr;

  // Appends a token that mask() allows. On failure nothing has changed.
  Status (*accept)(void* self, uint32_t sequence, int32_t token) = nullptr;

  // Returns whether only the end-of-text token may come next.
  bool (*must_end)(void* self, uint32_t sequence) = nullptr;

  // Undoes the last `count` calls that appended to sequence 0. On failure nothing has changed.
  Status (*rewind)(void* self, uint64_t count) = nullptr;

  // Makes sequence `to` a copy of `from`, in constant time.
  void (*fork)(void* self, uint32_t from, uint32_t to) = nullptr;

  // Remembers the current state of sequence 0. restart() returns to it, however many tokens have been accepted since.
  void (*mark_start)(void* self) = nullptr;
  void (*restart)(void* self) = nullptr;

  // test_text() checks whether `text` may come next, and accept_text() appends it. The text may end inside a token. On
  // failure nothing has changed.
  Status (*test_text)(void* self, uint32_t sequence, std::span<const char> text, bool* fits) = nullptr;
  Status (*accept_text)(void* self, uint32_t sequence, std::span<const char> text) = nullptr;

  // Writes the text that must come next, or as much of it as fits, and stores its size in `*size`. May be null.
  Status (*forced_text)(void* self, uint32_t sequence, std::span<char> text, size_t* size) = nullptr;
};

}  // namespace sotto
