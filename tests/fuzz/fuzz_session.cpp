// Fuzzes sessions with any sequence of calls, read from the input byte by byte. Token counts add up, no access leaves
// the memory, and a replay of the remaining stream gives the same logits.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "tests/fuzz/fuzz_bytes.h"
#include "tests/memory/support.h"

namespace {

constexpr sotto::ModelShape kShape = {64, 40, 16, 2, 24, 1};

sotto_model* shared_model() {
  static sotto::LoadedModel model(sotto::make_model_file(kShape, false));
  return model.get();
}

struct Fuzzed {
  sotto::GuardedBytes memory;
  sotto_session* session = nullptr;
  std::vector<sotto_token> stream;

  Fuzzed(const sotto_session_params& params, size_t size) : memory(size) {
    REQUIRE(sotto_session_init(shared_model(), &params, memory.data(), size, &session, nullptr) == SOTTO_OK);
  }
  ~Fuzzed() {
    sotto_session_deinit(session);
    REQUIRE(memory.guards_intact());
  }

  uint64_t token_count() const {
    sotto_session_info info = {};
    info.struct_size = sizeof info;
    REQUIRE(sotto_session_get_info(session, &info) == SOTTO_OK);
    return info.token_count;
  }

  void prefill(uint32_t count, uint8_t seed) {
    std::vector<sotto_token> tokens(count);
    for (uint32_t i = 0; i < count; ++i) tokens[i] = static_cast<sotto_token>((seed + 7 * i) % kShape.vocabulary_size);
    const sotto_status status = sotto_session_prefill(session, tokens.data(), count);
    REQUIRE(status >= 0 || status == SOTTO_PROMPT_TOO_LONG);
    const uint64_t now = token_count();
    REQUIRE(now >= stream.size() && now <= stream.size() + count);
    if (status == SOTTO_OK) REQUIRE(now == stream.size() + count);
    stream.insert(stream.end(), tokens.begin(), tokens.begin() + static_cast<ptrdiff_t>(now - stream.size()));
  }

  void next() {
    const sotto_piece* piece;
    const sotto_status status = sotto_session_next(session, &piece);
    if (status == SOTTO_OK) stream.push_back(piece->token);
    REQUIRE(status >= 0 || (status == SOTTO_INVALID_STATE && stream.empty()));
    REQUIRE(token_count() == stream.size());
  }

  // Generates one token in this session and in another one, in one batch.
  void next_with(Fuzzed& other) {
    sotto_session* const sessions[] = {other.session, session};
    const sotto_piece* pieces[2];
    sotto_status statuses[2];
    REQUIRE(sotto_sessions_next(sessions, 2, pieces, statuses, nullptr) == SOTTO_OK);
    if (statuses[0] == SOTTO_OK) other.stream.push_back(pieces[0]->token);
    if (statuses[1] == SOTTO_OK) stream.push_back(pieces[1]->token);
    REQUIRE(statuses[1] >= 0 || (statuses[1] == SOTTO_INVALID_STATE && stream.empty()));
    REQUIRE(token_count() == stream.size() && other.token_count() == other.stream.size());
    if (statuses[0] == SOTTO_OK) return;
    sotto_session_reset(other.session);
    other.stream.clear();
    other.prefill(3, 1);
  }

  void rewind(uint64_t count) {
    const sotto_status status = sotto_session_rewind(session, count);
    if (status == SOTTO_OK) stream.resize(count);
    REQUIRE(status == SOTTO_OK || status == SOTTO_INVALID_STATE ||
            (status == SOTTO_INVALID_ARGUMENT && count > stream.size()));
    REQUIRE(token_count() == stream.size());
  }

  void logits() {
    const float* logits;
    size_t count;
    const sotto_status status = sotto_session_logits(session, &logits, &count);
    REQUIRE(status >= 0 || stream.empty());
    if (status == SOTTO_OK) REQUIRE(count == kShape.vocabulary_size);
  }
};

sotto_session_params read_params(const uint8_t* data) {
  sotto_session_params params;
  sotto_session_params_init(&params, sizeof params);
  params.overflow = data[0] % 3;
  params.context_tokens = 16 + data[1] % 25;
  params.batch_tokens = 1 + data[2] % 20;
  if (params.overflow != SOTTO_OVERFLOW_STOP) params.sink_tokens = data[3] % (params.context_tokens / 4 + 1);
  return params;
}

// With STOP no token is lost, so evaluating the stream from scratch gives the same logits.
void check_replay(Fuzzed& fuzzed, const sotto_session_params& params, size_t size) {
  if (params.overflow != SOTTO_OVERFLOW_STOP || fuzzed.stream.empty()) return;
  const float* expected;
  const float* got;
  size_t count;
  if (sotto_session_logits(fuzzed.session, &got, &count) != SOTTO_OK) return;
  Fuzzed fresh(params, size);
  REQUIRE(sotto_session_prefill(fresh.session, fuzzed.stream.data(), fuzzed.stream.size()) == SOTTO_OK);
  REQUIRE(sotto_session_logits(fresh.session, &expected, &count) == SOTTO_OK);
  REQUIRE(std::memcmp(expected, got, count * sizeof(float)) == 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 4) return 0;
  const sotto_session_params params = read_params(data);
  size_t needed;
  REQUIRE(sotto_session_memory_size(shared_model(), &params, &needed, nullptr) == SOTTO_OK);
  Fuzzed fuzzed(params, needed), other(params, needed);
  for (size_t i = 4; i + 1 < size && i < 400; i += 2) {
    const uint8_t argument = data[i + 1];
    switch (data[i] % 8) {
      case 0:
        fuzzed.prefill(argument % 60, argument);
        break;
      case 1:
      case 2:
        fuzzed.next();
        break;
      case 3:
        fuzzed.next_with(other);
        break;
      case 4:
        fuzzed.rewind(fuzzed.stream.size() - std::min<uint64_t>(argument % 8, fuzzed.stream.size()));
        break;
      case 5:
        fuzzed.rewind(argument);
        break;
      case 6:
        fuzzed.logits();
        break;
      case 7:
        if (argument % 2 == 0) {
          sotto_session_cancel(fuzzed.session);
        } else {
          sotto_session_reset(fuzzed.session);
          fuzzed.stream.clear();
        }
        break;
    }
  }
  check_replay(fuzzed, params, needed);
  check_replay(other, params, needed);
  return 0;
}
