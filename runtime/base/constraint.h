// The interface of objects that limit the next token of a session or search, such as a grammar's matcher. Sessions and
// searches see only this interface, and the matcher does not see it at all, because an object of any class with the
// right members can be a constraint.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/status.h"
#include "runtime/base/token_mask.h"

namespace sotto {

// A type-erased reference to a constraint, or an empty reference. Sequence 0 is the session's stream; a search forks it
// into the sequences 1, 2, ... If a function fails, nothing has changed.
class TokenConstraint {
 public:
  TokenConstraint() = default;
  // Refers to an object of any class with the members of Matcher that are called below. The object must outlive the use
  // of the reference.
  template <typename Object>
  explicit TokenConstraint(Object* object) : object_(object), functions_(&kFunctionsOf<Object>) {}

  // All other functions require that there is a constraint.
  bool is_set() const { return object_ != nullptr; }

  // Finds the tokens that may come next. The end-of-text token is one of them if the sequence may end here. On success,
  // at least one token is allowed. The words belong to the constraint and are valid until its next call.
  Status mask(uint32_t sequence, TokenMask* mask) const { return functions_->mask(object_, sequence, mask); }
  // Returns whether only the end-of-text token may come next.
  bool must_end(uint32_t sequence) const { return functions_->must_end(object_, sequence); }
  // Appends a token that mask() allows.
  Status accept_token(uint32_t sequence, int32_t token) const {
    return functions_->accept_token(object_, sequence, token);
  }
  bool can_rewind(uint64_t count) const { return functions_->can_rewind(object_, count); }
  // Undoes the last `count` calls that appended to sequence 0.
  Status rewind(uint64_t count) const { return functions_->rewind(object_, count); }
  // Makes sequence `to` a copy of `from`, in constant time.
  void fork(uint32_t from, uint32_t to) const { functions_->fork(object_, from, to); }

  // Remembers the current state of sequence 0. restart() returns to this state after any number of tokens.
  void mark_start() const { functions_->mark_start(object_); }
  void restart() const { functions_->restart(object_); }

  // test_text() checks whether `text` may come next, and accept_text() appends it. The text may end inside a token.
  Status test_text(uint32_t sequence, std::span<const char> text, bool* fits) const {
    return functions_->test_text(object_, sequence, text, fits);
  }
  Status accept_text(uint32_t sequence, std::span<const char> text) const {
    return functions_->accept_text(object_, sequence, text);
  }
  // Writes the text that must come next, as much as fits, and stores its size in `*size`.
  Status forced_text(uint32_t sequence, std::span<char> text, size_t* size) const {
    return functions_->forced_text(object_, sequence, text, size);
  }

 private:
  struct Functions {
    Status (*mask)(void* self, uint32_t sequence, TokenMask* mask);
    bool (*must_end)(void* self, uint32_t sequence);
    Status (*accept_token)(void* self, uint32_t sequence, int32_t token);
    bool (*can_rewind)(void* self, uint64_t count);
    Status (*rewind)(void* self, uint64_t count);
    void (*fork)(void* self, uint32_t from, uint32_t to);
    void (*mark_start)(void* self);
    void (*restart)(void* self);
    Status (*test_text)(void* self, uint32_t sequence, std::span<const char> text, bool* fits);
    Status (*accept_text)(void* self, uint32_t sequence, std::span<const char> text);
    Status (*forced_text)(void* self, uint32_t sequence, std::span<char> text, size_t* size);
  };

  // Each generic lambda converts to the type of its entry.
  template <typename Object>
  static Object& object(void* self) {
    return *static_cast<Object*>(self);
  }
  template <typename Object>
  static constexpr Functions kFunctionsOf = {
      .mask = [](void* self, auto... args) { return object<Object>(self).mask(args...); },
      .must_end = [](void* self, auto... args) { return object<Object>(self).must_end(args...); },
      .accept_token = [](void* self, auto... args) { return object<Object>(self).accept_token(args...); },
      .can_rewind = [](void* self, auto... args) { return object<Object>(self).can_rewind(args...); },
      .rewind = [](void* self, auto... args) { return object<Object>(self).rewind(args...); },
      .fork = [](void* self, auto... args) { return object<Object>(self).fork(args...); },
      .mark_start = [](void* self, auto... args) { return object<Object>(self).mark_start(args...); },
      .restart = [](void* self, auto... args) { return object<Object>(self).restart(args...); },
      .test_text =
          [](void* self, uint32_t sequence, std::span<const char> text, bool* fits) {
            bool matches = false;
            return object<Object>(self).test_text(sequence, text, fits, &matches);
          },
      .accept_text = [](void* self, auto... args) { return object<Object>(self).accept_text(args...); },
      .forced_text = [](void* self, auto... args) { return object<Object>(self).forced_text(args...); },
  };

  void* object_ = nullptr;
  const Functions* functions_ = nullptr;
};

}  // namespace sotto
