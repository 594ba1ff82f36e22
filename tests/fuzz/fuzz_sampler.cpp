// Fuzzes samplers with parameters, logits, masks and histories. Parameters are accepted or rejected with a message, the
// mask allows every sampled token, and the chain produces a distribution over allowed tokens. Only parameters that ban
// tokens in any case may leave none.

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/fuzz/fuzz_sampler_params.h"
#include "tests/memory/support.h"

namespace {

constexpr uint32_t kVocabularySize = 70;

struct Standalone {
  sotto::GuardedBytes memory;
  sotto_sampler* sampler = nullptr;

  explicit Standalone(size_t size) : memory(size) {
    REQUIRE(sotto_sampler_init(nullptr, kVocabularySize, 600, memory.data(), size, &sampler, nullptr) == SOTTO_OK);
  }
  ~Standalone() { REQUIRE(memory.guards_intact()); }
};

bool is_allowed(const sotto_sampler_input& input, sotto_token token) {
  REQUIRE(token >= 0 && static_cast<uint32_t>(token) < kVocabularySize);
  return input.allowed == nullptr || (input.allowed[token / 64] >> (token % 64) & 1) != 0;
}

// Returns whether the sampler leaves any token.
bool check_distribution(sotto_sampler* sampler, const sotto_sampler_input& input, bool has_hard_bans) {
  sotto_token tokens[kVocabularySize];
  float probabilities[kVocabularySize];
  size_t count = 0;
  const sotto_status status =
      sotto_sampler_apply(sampler, &input, tokens, probabilities, kVocabularySize, &count, nullptr);
  if (has_hard_bans && status == SOTTO_INVALID_ARGUMENT) return false;
  REQUIRE(status == SOTTO_OK);
  REQUIRE(count >= 1);
  double sum = 0;
  for (size_t i = 0; i < count; ++i) {
    REQUIRE(is_allowed(input, tokens[i]) && (i == 0 || tokens[i] > tokens[i - 1]));
    REQUIRE(probabilities[i] >= 0 && probabilities[i] <= 1.0001f);
    sum += static_cast<double>(probabilities[i]);
  }
  REQUIRE(std::fabs(sum - 1) < 1e-3);
  return true;
}

void pick_tokens(sotto_sampler* sampler, sotto::FuzzBytes& bytes, bool has_hard_bans) {
  std::vector<float> logits(kVocabularySize);
  std::vector<sotto_token> history;
  for (uint32_t i = 0, count = bytes.below(40); i < count; ++i) {
    history.push_back(static_cast<sotto_token>(bytes.below(kVocabularySize)));
  }
  for (int round = 0; round < 3; ++round) {
    const float step = bytes.number();
    for (float& logit : logits) logit = static_cast<float>(bytes.byte()) / 16 * step;
    logits[bytes.below(kVocabularySize)] = bytes.number();
    uint64_t allowed[2] = {};
    for (int i = 0; i < 16; ++i) allowed[i / 8] = allowed[i / 8] << 8 | bytes.byte();
    allowed[1] &= (uint64_t{1} << (kVocabularySize - 64)) - 1;
    sotto_sampler_input input = {};
    input.struct_size = sizeof input;
    input.sequence = bytes.byte();
    input.logits = logits.data();
    input.allowed = (allowed[0] | allowed[1]) == 0 ? nullptr : allowed;
    input.history = history.data();
    input.history_count = history.size();
    input.generated_count = history.empty() ? 0 : bytes.byte() % (history.size() + 1);
    input.token_limit = bytes.byte();
    const bool has_tokens = check_distribution(sampler, input, has_hard_bans);
    sotto_token token = -1;
    const sotto_status status = sotto_sampler_sample(sampler, &input, &token, nullptr);
    REQUIRE(status == (has_tokens ? SOTTO_OK : SOTTO_INVALID_ARGUMENT));
    if (!has_tokens) continue;
    REQUIRE(is_allowed(input, token));
    history.push_back(token);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  size_t needed = 0;
  REQUIRE(sotto_sampler_memory_size(kVocabularySize, 600, &needed, nullptr) == SOTTO_OK);
  Standalone standalone(needed);
  sotto::FuzzBytes bytes(data, std::min<size_t>(size, 2000));
  bool has_hard_bans = false;
  while (!bytes.empty()) {
    const sotto::FuzzedParams params(bytes, kVocabularySize);
    sotto_error error = {};
    error.struct_size = sizeof error;
    const sotto_status status = sotto_sampler_set(standalone.sampler, &params.get(), &error);
    REQUIRE(status == SOTTO_OK || (status == SOTTO_INVALID_ARGUMENT && error.message[0] != '\0'));
    if (status == SOTTO_OK) {
      const sotto_sampler_params& p = params.get();
      has_hard_bans =
          p.allowed_token_count + p.suppressed_token_count + p.begin_suppressed_token_count + p.bad_word_count > 0;
    }
    pick_tokens(standalone.sampler, bytes, has_hard_bans);
  }
  return 0;
}
