// The tokens of a session between the decoder and the caller.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "runtime/generated/params.h"
#include "runtime/session/output/text_stream.h"

namespace sotto {

// A token that has been generated but not emitted yet.
struct BufferedToken {
  int32_t token = 0;
  float log_probability = 0;
  float sampled_log_probability = 0;
  uint32_t alternative_count = 0;
  uint64_t elapsed_ns = 0;
  TextMark mark;  // state after the text of this token
  std::array<Alternative, SamplerParams::kMaxAlternativeCount> alternatives;
};

// A queue of tokens whose newest elements can also be dropped.
class TokenBuffer {
 public:
  static constexpr size_t kCapacity = 32;

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  bool full() const { return size_ == kCapacity; }
  const BufferedToken& operator[](size_t index) const { return tokens_[(first_ + index) % kCapacity]; }
  BufferedToken& operator[](size_t index) { return tokens_[(first_ + index) % kCapacity]; }
  BufferedToken& newest() { return (*this)[size_ - 1]; }
  BufferedToken& push() { return (*this)[size_++]; }
  // The returned token is valid until the next push().
  const BufferedToken& pop() {
    const BufferedToken& oldest = (*this)[0];
    first_ = (first_ + 1) % kCapacity;
    --size_;
    return oldest;
  }
  void truncate(size_t count) { size_ = count; }

 private:
  std::array<BufferedToken, kCapacity> tokens_;
  size_t first_ = 0;
  size_t size_ = 0;
};

}  // namespace sotto
