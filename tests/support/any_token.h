// A constraint that allows every text. Tests derive theirs from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/constraint.h"

namespace sotto {

struct AnyToken {
  Status mask(uint32_t, TokenMask* mask) {
    *mask = TokenMask();
    return Status::kOk;
  }
  bool must_end(uint32_t) { return false; }
  Status accept_token(uint32_t, int32_t) { return Status::kOk; }
  Status accept_text(uint32_t, std::span<const char>) { return Status::kOk; }
  Status test_text(uint32_t, std::span<const char>, bool* begins, bool* matches) {
    *begins = *matches = true;
    return Status::kOk;
  }
  Status forced_text(uint32_t, std::span<char>, size_t* size) {
    *size = 0;
    return Status::kOk;
  }
  bool can_rewind(uint64_t) { return true; }
  Status rewind(uint64_t) { return Status::kOk; }
  void fork(uint32_t, uint32_t) {}
  void mark_start() {}
  void restart() {}
};

}  // namespace sotto
