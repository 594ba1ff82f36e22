// Tests that memory sizes are exact: the returned size suffices, one byte less is rejected without a write outside of
// the block, and sotto_memory.h computes the same sizes.

#include <gtest/gtest.h>

#include <random>

#include "capi/include/sotto_memory.h"
#include "kernels/kernels.h"
#include "kernels/linear/linear.h"
#include "runtime/search/search_run.h"
#include "runtime/session/contrast.h"
#include "runtime/session/token_stream.h"
#include "tests/memory/support.h"

namespace sotto {
namespace {

// The constants of sotto_memory.h that a type or a constant of the runtime determines. The tests below find wrong ones
// too, but do not say which.
static_assert(SOTTO_ROW_QUANTIZATION_SIZE_ == sizeof(RowQuantization));
static_assert(SOTTO_TOKEN_STATE_SIZE_ == sizeof(TokenState));
static_assert(SOTTO_PAST_TOKEN_SIZE_ == sizeof(PastToken));
static_assert(SOTTO_SLOT_SPAN_SIZE_ == sizeof(SlotSpan));
static_assert(SOTTO_RUNNING_SEQUENCE_SIZE_ == sizeof(RunningSequence));
static_assert(SOTTO_FINISHED_SEQUENCE_SIZE_ == sizeof(FinishedSequence));
static_assert(SOTTO_PHRASE_STATE_SIZE_ == sizeof(PhraseState));
static_assert(SOTTO_BEAM_CANDIDATE_SIZE_ == sizeof(BeamCandidate));
static_assert(SOTTO_SAMPLER_STATE_SIZE_ == sizeof(SamplerState));
static_assert(SOTTO_ACTIVATION_PADDING_ == kActivationPadding);
static_assert(SOTTO_CANDIDATE_BUCKETS_ == kBucketCount);
static_assert(SOTTO_MAX_PHRASES_ == SearchParams::kMaxPhraseCount);
static_assert(SOTTO_MAX_DOLA_LAYERS_ == kMaxPrematureLayers);
static_assert(SOTTO_DRAFT_PADDING_ == SessionParams::kMaxDraftTokens + 1);
static_assert(SOTTO_DEFAULT_LIST_BYTES_ == SessionParams().list_bytes);

constexpr ModelShape kTiny = {300, 64, 48, 3, 100, 2};

sotto_session_params session_params(uint32_t context, uint32_t batch, sotto_overflow overflow) {
  sotto_session_params params;
  sotto_session_params_init(&params, sizeof params);
  params.context_tokens = context;
  params.batch_tokens = batch;
  params.overflow = overflow;
  return params;
}

size_t session_size(const sotto_model* model, const sotto_session_params& params) {
  size_t size = 0;
  EXPECT_EQ(sotto_session_memory_size(model, &params, &size, nullptr), SOTTO_OK);
  return size;
}

// Returns all sizes near both ends, and a sample of those between.
std::vector<size_t> sizes_below(size_t needed) {
  std::vector<size_t> sizes;
  for (size_t i = 0; i < 200 && i < needed; ++i) {
    sizes.push_back(i);
    sizes.push_back(needed - 1 - i);
  }
  std::mt19937_64 random(3);
  for (int i = 0; i < 300; ++i) sizes.push_back(random() % needed);
  return sizes;
}

TEST(MemorySize, ModelsRejectEverySmallerSize) {
  AlignedBytes file(make_model_file(kTiny, true));
  for (const sotto_isa isa : {SOTTO_ISA_AUTO, SOTTO_ISA_REFERENCE}) {
    sotto_model_params params;
    sotto_model_params_init(&params, sizeof params);
    params.isa = isa;
    size_t needed;
    ASSERT_EQ(sotto_model_memory_size(file.data(), file.size(), &params, &needed, nullptr), SOTTO_OK);
    for (const size_t size : sizes_below(needed)) {
      GuardedBytes memory(size);
      sotto_model* model = nullptr;
      sotto_error error = {sizeof error, SOTTO_OK, 0, ""};
      ASSERT_EQ(sotto_model_init(file.data(), file.size(), &params, memory.data(), size, &model, &error),
                SOTTO_MEMORY_TOO_SMALL);
      ASSERT_EQ(error.status, SOTTO_MEMORY_TOO_SMALL);
      ASSERT_NE(std::string(error.message).find(std::to_string(needed)), std::string::npos);
      ASSERT_EQ(model, nullptr);
      ASSERT_TRUE(memory.guards_intact()) << size;
    }
    GuardedBytes memory(needed);
    sotto_model* model = nullptr;
    ASSERT_EQ(sotto_model_init(file.data(), file.size(), &params, memory.data(), needed, &model, nullptr), SOTTO_OK);
    EXPECT_TRUE(memory.guards_intact());
  }
}

TEST(MemorySize, SessionsRejectEverySmallerSize) {
  LoadedModel model(make_model_file(kTiny, true));
  for (const sotto_overflow overflow : {SOTTO_OVERFLOW_STOP, SOTTO_OVERFLOW_RING}) {
    auto params = session_params(20, 7, overflow);
    params.sequence_count = 3;
    params.sequence_tokens = 5;
    params.features = 7;
    params.draft_tokens = 6;
    const size_t needed = session_size(model.get(), params);
    for (const size_t size : sizes_below(needed)) {
      GuardedBytes memory(size);
      sotto_session* session = nullptr;
      ASSERT_EQ(sotto_session_init(model.get(), &params, memory.data(), size, &session, nullptr),
                SOTTO_MEMORY_TOO_SMALL);
      ASSERT_EQ(session, nullptr);
      ASSERT_TRUE(memory.guards_intact()) << size;
    }
  }
}

TEST(MemorySize, ASessionStaysInsideItsMemory) {
  LoadedModel model(make_model_file(kTiny, true));
  std::mt19937 random(5);
  for (const sotto_overflow overflow : {SOTTO_OVERFLOW_STOP, SOTTO_OVERFLOW_RING, SOTTO_OVERFLOW_SHIFT}) {
    auto params = session_params(20, 7, overflow);
    params.sequence_count = 3;
    params.sequence_tokens = 5;
    params.features = 7;
    params.draft_tokens = 6;
    const size_t needed = session_size(model.get(), params);
    GuardedBytes memory(needed);
    sotto_session* session;
    ASSERT_EQ(sotto_session_init(model.get(), &params, memory.data(), needed, &session, nullptr), SOTTO_OK);
    sotto_speculation_params speculation;
    sotto_speculation_params_init(&speculation, sizeof speculation);
    speculation.sources = SOTTO_DRAFT_LOOKUP | SOTTO_DRAFT_EARLY_EXIT | SOTTO_DRAFT_LOOKAHEAD;
    ASSERT_EQ(sotto_session_set_speculation(session, &speculation, nullptr), SOTTO_OK);
    for (int round = 0; round < 200; ++round) {
      std::vector<sotto_token> tokens(1 + random() % 9);
      for (auto& token : tokens) token = static_cast<sotto_token>(random() % kTiny.vocabulary_size);
      const sotto_status status = sotto_session_generate(session, tokens.data(), tokens.size(), 5, nullptr, nullptr);
      ASSERT_TRUE(status == SOTTO_STOP_MAX_TOKENS || status == SOTTO_STOP_CONTEXT_FULL ||
                  status == SOTTO_STOP_END_OF_TEXT || status == SOTTO_PROMPT_TOO_LONG)
          << status;
      sotto_search_params search;
      sotto_search_params_init(&search, sizeof search);
      search.mode = static_cast<sotto_search_mode>(round % 4);
      search.contrastive_k = 3;
      const sotto_sequence* sequences;
      size_t count;
      if (status != SOTTO_PROMPT_TOO_LONG) {
        ASSERT_GE(sotto_session_search(session, &search, &sequences, &count, nullptr), 0);
      }
      if (status == SOTTO_STOP_CONTEXT_FULL || status == SOTTO_PROMPT_TOO_LONG) sotto_session_reset(session);
      ASSERT_TRUE(memory.guards_intact());
    }
    sotto_session_deinit(session);
  }
}

TEST(MemorySize, MisalignedMemoryIsRejected) {
  LoadedModel model(make_model_file(kTiny, false));
  const auto params = session_params(20, 7, SOTTO_OVERFLOW_STOP);
  const size_t needed = session_size(model.get(), params);
  GuardedBytes memory(needed + 64);
  sotto_session* session = nullptr;
  for (const size_t offset : {1, 4, 16, 32, 63}) {
    EXPECT_EQ(sotto_session_init(model.get(), &params, memory.data() + offset, needed, &session, nullptr),
              SOTTO_MEMORY_MISALIGNED);
  }
  EXPECT_EQ(session, nullptr);
}

TEST(MemorySize, TheHeaderComputesTheSameFigures) {
  std::mt19937 random(11);
  const auto pick = [&](uint32_t low, uint32_t high) { return low + random() % (high - low + 1); };
  for (int round = 0; round < 60; ++round) {
    ModelShape shape;
    shape.head_count = pick(1, 6);
    shape.embedding_size = shape.head_count * pick(1, 70);
    shape.vocabulary_size = pick(1, 3000);
    shape.position_count = pick(1, 300);
    shape.feed_forward_size = pick(1, 500);
    shape.layer_count = pick(1, 9);
    const auto file = make_model_file(shape, false);
    const uint32_t v = shape.vocabulary_size, e = shape.embedding_size, h = shape.head_count, l = shape.layer_count,
                   f = shape.feed_forward_size;

    AlignedBytes bytes(file);
    size_t size;
    sotto_model_params model_params;
    sotto_model_params_init(&model_params, sizeof model_params);
    ASSERT_EQ(sotto_model_memory_size(bytes.data(), bytes.size(), &model_params, &size, nullptr), SOTTO_OK);
    LoadedModel model(file);
    sotto_model_info info = {};
    info.struct_size = sizeof info;
    ASSERT_EQ(sotto_model_get_info(model.get(), &info), SOTTO_OK);
    if (info.isa != SOTTO_ISA_REFERENCE) {
      EXPECT_EQ(SOTTO_MODEL_MEMORY_BYTES(v, e, h, l, f), size);
    }
    model_params.isa = SOTTO_ISA_REFERENCE;
    ASSERT_EQ(sotto_model_memory_size(bytes.data(), bytes.size(), &model_params, &size, nullptr), SOTTO_OK);
    EXPECT_EQ(SOTTO_MODEL_IN_PLACE_MEMORY_BYTES(v, e, h, l, f), size);
    model_params.copy_weights = 1;
    ASSERT_EQ(sotto_model_memory_size(bytes.data(), bytes.size(), &model_params, &size, nullptr), SOTTO_OK);
    EXPECT_EQ(SOTTO_MODEL_MEMORY_BYTES(v, e, h, l, f), size);

    const uint32_t context = shape.position_count < 16 ? shape.position_count : pick(16, shape.position_count);
    const uint32_t batch = pick(1, context);
    EXPECT_EQ(SOTTO_SESSION_MEMORY_BYTES(v, e, h, l, f, context, batch, 0),
              session_size(model.get(), session_params(context, batch, SOTTO_OVERFLOW_STOP)));
    auto ring = session_params(context, batch, SOTTO_OVERFLOW_RING);
    ring.sink_tokens = pick(0, context / 4);
    EXPECT_EQ(SOTTO_SESSION_MEMORY_BYTES(v, e, h, l, f, context, batch, ring.sink_tokens),
              session_size(model.get(), ring));

    ring.sequence_count = pick(1, 9);
    ring.sequence_tokens = pick(1, shape.position_count);
    ring.features = pick(0, 7);
    ring.list_bytes = pick(0, 40000);
    EXPECT_EQ(SOTTO_SEARCH_SESSION_MEMORY_BYTES(v, e, h, l, f, context, batch, ring.sink_tokens, ring.sequence_count,
                                                ring.sequence_tokens, ring.features, ring.list_bytes),
              session_size(model.get(), ring));
    ring.draft_tokens = pick(0, 15);
    EXPECT_EQ(SOTTO_DRAFT_SESSION_MEMORY_BYTES(v, e, h, l, f, context, batch, ring.sink_tokens, ring.sequence_count,
                                               ring.sequence_tokens, ring.features, ring.list_bytes, ring.draft_tokens),
              session_size(model.get(), ring));
  }
}

// The documentation quotes this figure for GPT-2 124M and a context of 1024.
TEST(MemorySize, Int4WeightsNeedNoMemory) {
  constexpr ModelShape kShape = {300, 64, 48, 3, 100, 2};
  for (const bool int8_head : {false, true}) {
    AlignedBytes file(make_int4_model_file(kShape, false, int8_head));
    size_t size;
    ASSERT_EQ(sotto_model_memory_size(file.data(), file.size(), nullptr, &size, nullptr), SOTTO_OK);
    const bool packs = int8_head && find_kernels(Isa::kAuto)->isa != Isa::kReference;
    EXPECT_EQ(size, packs ? SOTTO_MODEL_INT8_HEAD_MEMORY_BYTES(300, 48, 3, 2, 100)
                          : SOTTO_MODEL_IN_PLACE_MEMORY_BYTES(300, 48, 3, 2, 100));
    GuardedBytes memory(size);
    sotto_model* model;
    ASSERT_EQ(sotto_model_init(file.data(), file.size(), nullptr, memory.data(), size, &model, nullptr), SOTTO_OK);
    EXPECT_TRUE(memory.guards_intact());
    sotto_model_info info = {};
    info.struct_size = sizeof info;
    ASSERT_EQ(sotto_model_get_info(model, &info), SOTTO_OK);
    EXPECT_EQ(info.layer_weight_bits, 4u);
    EXPECT_EQ(info.head_weight_bits, int8_head ? 8u : 4u);
    EXPECT_EQ(info.packed_in_place, packs ? 0u : 1u);
  }
}

static_assert(SOTTO_MODEL_MEMORY_BYTES(50257, 768, 12, 12, 3072) > 124000000);
static_assert(SOTTO_SESSION_MEMORY_BYTES(50257, 768, 12, 12, 3072, 1024, 128, 0) < 30000000);

}  // namespace
}  // namespace sotto
