// The rejected tokens of each place of the stream, ordered by place. A rejection is valid until the stream before its
// place changes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace sotto {

class RejectedTokens {
 public:
  static constexpr size_t kCapacity = 256;
  // The text ends after more rejections than this before a token is emitted.
  static constexpr uint32_t kMaxAttempts = 1024;

  // A token that was rejected at a place.
  struct Rejection {
    uint64_t place;
    int32_t token;
  };

  // Adds a rejection and drops all rejections at later places. Returns false if there have been too many.
  bool add(uint64_t place, int32_t token);
  void drop_from(uint64_t place);
  // Drops the rejections before `place` and restarts the count of attempts: the token before `place` has been emitted.
  void discard_before(uint64_t place);
  void restore(std::span<const Rejection> rejections, uint32_t attempts);

  uint32_t attempts() const { return attempts_; }
  std::span<const Rejection> all() const { return {rejections_.data(), count_}; }
  std::span<const Rejection> at(uint64_t place) const;

 private:
  std::array<Rejection, kCapacity> rejections_;
  size_t count_ = 0;
  uint32_t attempts_ = 0;
};

}  // namespace sotto
