// Fuzzes saved states. Any bytes are restored or rejected. The first byte selects whether the target corrects the
// checksum, so that inputs reach the checks after it.

#include <cstring>
#include <vector>

#include "runtime/base/xxhash64.h"
#include "tests/fuzz/fuzz_bytes.h"
#include "tests/memory/support.h"

namespace {

constexpr sotto::ModelShape kShape = {64, 40, 16, 2, 24, 1};

sotto_model* shared_model() {
  static sotto::LoadedModel model(sotto::make_model_file(kShape, false));
  return model.get();
}

// Returns a valid state, which the input then changes.
std::vector<uint8_t> genuine(sotto_session* session) {
  const sotto_token tokens[] = {1, 2, 3, 4, 5};
  sotto_session_reset(session);
  REQUIRE(sotto_session_generate(session, tokens, 5, 3, nullptr, nullptr) >= 0);
  size_t size = 0;
  REQUIRE(sotto_session_saved_size(session, &size) == SOTTO_OK);
  std::vector<uint8_t> saved(size);
  REQUIRE(sotto_session_save(session, saved.data(), size, &size) == SOTTO_OK);
  return saved;
}

// Applies edits. An edit consists of a position (16 bits) and the byte to write there.
void change(std::vector<uint8_t>& saved, sotto::FuzzBytes& bytes) {
  while (!bytes.empty()) {
    const size_t place = size_t{bytes.byte()} << 8 | bytes.byte();
    saved[place % saved.size()] = bytes.byte();
  }
}

void put_checksum_right(std::vector<uint8_t>& saved) {
  const size_t body = saved.size() - sizeof(uint64_t);
  const uint64_t checksum = sotto::xxhash64(saved.data(), body);
  std::memcpy(saved.data() + body, &checksum, sizeof checksum);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  sotto_session_params params;
  sotto_session_params_init(&params, sizeof params);
  params.context_tokens = 24;
  size_t needed = 0;
  REQUIRE(sotto_session_memory_size(shared_model(), &params, &needed, nullptr) == SOTTO_OK);
  sotto::GuardedBytes memory(needed);
  sotto_session* session = nullptr;
  REQUIRE(sotto_session_init(shared_model(), &params, memory.data(), needed, &session, nullptr) == SOTTO_OK);
  sotto::FuzzBytes bytes(data, size);
  const uint8_t kind = bytes.byte();
  std::vector<uint8_t> saved = genuine(session);
  if (kind % 4 == 0) {
    saved.assign(data, data + size);
  } else {
    change(saved, bytes);
    if (kind % 4 != 1) put_checksum_right(saved);
  }
  sotto_error error = {};
  error.struct_size = sizeof error;
  const sotto_status status = sotto_session_restore(session, saved.data(), saved.size(), &error);
  REQUIRE(status == SOTTO_OK || error.message[0] != '\0');
  const sotto_piece* piece = nullptr;
  for (int i = 0; i < 5; ++i) REQUIRE(sotto_session_next(session, &piece) >= SOTTO_INVALID_STATE);
  (void)sotto_session_rewind(session, 2);
  sotto_session_deinit(session);
  REQUIRE(memory.guards_intact());
  return 0;
}
