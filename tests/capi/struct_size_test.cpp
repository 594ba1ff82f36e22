// Tests every size of structs of callers that were compiled with fewer fields: only whole fields are used, and no byte
// beyond struct_size is read or written.

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "capi/generated/field_ends.h"
#include "tests/capi/open_sampler.h"
#include "tests/capi/open_session.h"

namespace sotto {
namespace {

// Returns the number of bytes of the whole fields within `size` bytes.
template <typename T>
size_t whole_fields(size_t size) {
  size_t whole = sizeof(uint32_t);
  for (const size_t end : capi::FieldEnds<T>::kEnds) whole = end <= size ? end : whole;
  return whole;
}

// Checks that _params_init() writes exactly the fields of a struct of each size.
template <typename T>
void check_init(void (*init)(T*, size_t)) {
  T whole;
  std::memset(&whole, 0xA5, sizeof whole);
  init(&whole, sizeof whole);
  for (size_t size = sizeof(uint32_t); size <= sizeof(T); ++size) {
    const std::unique_ptr<uint8_t[]> bytes(new uint8_t[size]);  // the address sanitizer finds writes beyond it
    std::memset(bytes.get(), 0xA5, size);
    init(reinterpret_cast<T*>(bytes.get()), size);
    const size_t known = whole_fields<T>(size);
    EXPECT_EQ(std::memcmp(bytes.get() + 4, reinterpret_cast<const uint8_t*>(&whole) + 4, known - 4), 0) << size;
    for (size_t i = known; i < size; ++i) ASSERT_EQ(bytes[i], 0xA5) << size;
  }
}

TEST(StructSize, ParamsInitWritesWholeFields) {
  capi::for_each_init([](auto init) { check_init(init); });
}

TEST(StructSize, HalfAPointerIsNotRead) {
  constexpr size_t kVocabulary = 16;
  OpenSampler sampler(kVocabulary);
  const std::vector<float> logits(kVocabulary, 1.0f);
  const sotto_token history[] = {1, 2, 3};
  sotto_sampler_input input = {};
  input.logits = logits.data();
  input.history = history;
  input.history_count = 3;
  constexpr size_t kLogitsEnd = offsetof(sotto_sampler_input, logits) + sizeof input.logits;
  for (size_t size = 0; size <= sizeof input; ++size) {
    const size_t stored = std::max(size, sizeof(uint32_t));
    const std::unique_ptr<uint8_t[]> bytes(new uint8_t[stored]);
    input.struct_size = static_cast<uint32_t>(size);
    std::memcpy(bytes.get(), &input, stored);
    sotto_token token = -1;
    const sotto_status status =
        sotto_sampler_sample(sampler.get(), reinterpret_cast<const sotto_sampler_input*>(bytes.get()), &token, nullptr);
    EXPECT_EQ(status, size >= kLogitsEnd ? SOTTO_OK : SOTTO_INVALID_ARGUMENT) << size;
  }
}

}  // namespace
}  // namespace sotto
