// Fuzzes sessions with samplers, stops, searches, scores and saved states in any order. Every call returns a status, no
// access leaves the memory, and a restored or forked session continues with the same tokens.

#include <algorithm>
#include <vector>

#include "tests/fuzz/fuzz_sampler_params.h"
#include "tests/memory/support.h"

namespace {

constexpr sotto::ModelShape kShape = {300, 40, 16, 2, 24, 4};

sotto_model* shared_model() {
  static sotto::LoadedModel model(sotto::make_model_file(kShape, true));
  return model.get();
}

class Fuzzed {
 public:
  Fuzzed(const sotto_session_params& params, size_t size) : memory_(size) {
    REQUIRE(sotto_session_init(shared_model(), &params, memory_.data(), size, &session_, nullptr) == SOTTO_OK);
  }
  ~Fuzzed() {
    sotto_session_deinit(session_);
    REQUIRE(memory_.guards_intact());
  }
  sotto_session* get() { return session_; }

 private:
  sotto::GuardedBytes memory_;
  sotto_session* session_ = nullptr;
};

void set_stops(sotto_session* session, sotto::FuzzBytes& bytes) {
  const sotto_token stop_token = static_cast<sotto_token>(bytes.byte());
  const sotto::FuzzedStops stops(bytes, stop_token);
  const sotto_status status = sotto_session_set_stops(session, &stops.get(), nullptr);
  REQUIRE(status == SOTTO_OK || status == SOTTO_INVALID_ARGUMENT);
}

void search(sotto_session* session, sotto::FuzzBytes& bytes) {
  sotto_search_params params;
  sotto_search_params_init(&params, sizeof params);
  params.mode = static_cast<sotto_search_mode>(bytes.below(5));
  params.sequence_count = bytes.below(5);
  params.max_tokens = bytes.below(8);
  params.group_count = 1 + bytes.below(3);
  params.diversity_penalty = params.group_count > 1 ? 0.5f : 0.0f;
  params.early_stopping = static_cast<sotto_early_stopping>(bytes.below(4));
  params.rerank = static_cast<sotto_rerank>(bytes.below(6));
  params.contrastive_k = 2 + bytes.below(3);
  const sotto_token tokens[] = {static_cast<sotto_token>(bytes.byte()), 5, 6};
  const sotto_token_list phrase = {tokens, 1 + size_t{bytes.below(3)}};
  params.phrases = &phrase;
  params.phrase_count = bytes.below(2);
  const sotto_sequence* sequences = nullptr;
  size_t count = 0;
  const sotto_status status = sotto_session_search(session, &params, &sequences, &count, nullptr);
  for (size_t i = 0; status >= 0 && i < count; ++i) {
    REQUIRE(sequences[i].token_count <= 7);
    for (size_t t = 0; t < sequences[i].token_count; ++t) {
      REQUIRE(static_cast<uint32_t>(sequences[i].tokens[t]) < kShape.vocabulary_size);
    }
  }
}

// A restored session must continue identically. The copy has the same sampler and stops.
void copy(Fuzzed& from, Fuzzed& to, bool by_bytes) {
  if (!by_bytes) {
    REQUIRE(sotto_session_fork(from.get(), to.get(), nullptr) == SOTTO_OK);
    return;
  }
  size_t size = 0;
  REQUIRE(sotto_session_saved_size(from.get(), &size) == SOTTO_OK);
  std::vector<uint8_t> saved(size);
  REQUIRE(sotto_session_save(from.get(), saved.data(), size, &size) == SOTTO_OK);
  REQUIRE(sotto_session_restore(to.get(), saved.data(), size, nullptr) == SOTTO_OK);
}

void expect_alike(Fuzzed& a, Fuzzed& b) {
  for (int i = 0; i < 3; ++i) {
    const sotto_piece* piece_a = nullptr;
    const sotto_piece* piece_b = nullptr;
    const sotto_status status = sotto_session_next(a.get(), &piece_a);
    REQUIRE(sotto_session_next(b.get(), &piece_b) == status);
    if (status < 0) return;
    REQUIRE(piece_a->text != nullptr && piece_a->bytes != nullptr);
    REQUIRE(piece_a->token == piece_b->token && piece_a->text_size == piece_b->text_size);
    REQUIRE(std::memcmp(piece_a->text, piece_b->text, piece_a->text_size) == 0);
  }
}

class Calls {
 public:
  Calls(const sotto_session_params& params, size_t size, sotto::FuzzBytes& bytes)
      : bytes_(bytes), session_(params, size), copy_(params, size) {}

  void call() {
    const uint8_t kind = bytes_.below(10);
    if (kind < 2) {
      prefill();
    } else if (kind < 5) {
      const sotto_piece* piece = nullptr;
      (void)sotto_session_next(session_.get(), &piece);
    } else if (kind == 5) {
      set_both();
    } else if (kind == 6) {
      search(session_.get(), bytes_);
    } else if (kind == 7) {
      copy(session_, copy_, bytes_.below(2) == 0);
      expect_alike(session_, copy_);
    } else if (kind == 8) {
      (void)sotto_session_rewind(session_.get(), bytes_.byte());
      (void)sotto_session_heal(session_.get());
    } else {
      score();
    }
  }

 private:
  void prefill() {
    sotto_token tokens[12];
    const uint32_t count = bytes_.below(12);
    for (uint32_t i = 0; i < count; ++i) tokens[i] = static_cast<sotto_token>(bytes_.byte());
    const sotto_status status = sotto_session_prefill(session_.get(), tokens, count);
    REQUIRE(status >= 0 || status == SOTTO_PROMPT_TOO_LONG);
  }

  // Uses the same bytes for both sessions.
  void set_both() {
    if (bytes_.below(2) == 0) {
      const sotto::FuzzedParams params(bytes_, kShape.vocabulary_size);
      const sotto_status status = sotto_session_set_sampler(session_.get(), &params.get(), nullptr);
      REQUIRE(sotto_session_set_sampler(copy_.get(), &params.get(), nullptr) == status);
    } else {
      sotto::FuzzBytes again = bytes_;
      set_stops(session_.get(), bytes_);
      set_stops(copy_.get(), again);
    }
  }

  void score() {
    const sotto_token tokens[] = {1, 2, 3};
    float values[3];
    sotto_score score = {};
    score.struct_size = sizeof score;
    const sotto_status status = sotto_session_score(session_.get(), tokens, 3, values, &score);
    REQUIRE(status >= 0 || status == SOTTO_PROMPT_TOO_LONG);
  }

  sotto::FuzzBytes& bytes_;
  Fuzzed session_;
  Fuzzed copy_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  sotto::FuzzBytes bytes(data, std::min<size_t>(size, 400));
  sotto_session_params params;
  sotto_session_params_init(&params, sizeof params);
  params.overflow = static_cast<sotto_overflow>(bytes.below(3));
  params.context_tokens = 16 + bytes.below(25);
  params.batch_tokens = 1 + bytes.below(20);
  params.sequence_count = 4;
  params.sequence_tokens = 7;
  params.features = bytes.below(8);
  size_t needed = 0;
  REQUIRE(sotto_session_memory_size(shared_model(), &params, &needed, nullptr) == SOTTO_OK);
  Calls calls(params, needed, bytes);
  for (int i = 0; i < 60 && !bytes.empty(); ++i) calls.call();
  return 0;
}
