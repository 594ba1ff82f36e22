// Tests that nothing allocates after init: every call of the API runs under a counter of all requests for memory.

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdlib>
#include <tuple>

#include "tests/memory/allocation_counter.h"
#include "tests/memory/support.h"

namespace sotto {
namespace {

constexpr ModelShape kShape = {400, 64, 96, 3, 200, 2};

TEST(AllocationCounter, SeesAllocations) {
  begin_counting();
  void* volatile block = std::malloc(100);
  int* volatile number = new int(1);
  void* const pages = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT_EQ(end_counting(), 3u);
  std::free(block);
  delete number;
  munmap(pages, 4096);
}

class Allocation : public testing::TestWithParam<std::tuple<sotto_overflow, uint32_t, sotto_isa, int>> {};

int32_t go_on(void*, const sotto_piece*) { return 0; }

TEST_P(Allocation, CallsAfterInitDoNotAllocate) {
  const auto [overflow, threads, isa, bits] = GetParam();
  LoadedModel model(bits == 4 ? make_int4_model_file(kShape, true) : make_model_file(kShape, true), isa);
  sotto_session_params params;
  sotto_session_params_init(&params, sizeof params);
  params.context_tokens = 24;
  params.batch_tokens = 8;
  params.overflow = overflow;
  params.thread_count = threads;
  size_t size;
  ASSERT_EQ(sotto_session_memory_size(model.get(), &params, &size, nullptr), SOTTO_OK);
  AlignedBytes memory(size);
  sotto_session* session;
  ASSERT_EQ(sotto_session_init(model.get(), &params, memory.data(), size, &session, nullptr), SOTTO_OK);

  sotto_token tokens[64];
  size_t count = 0;
  const char text[] = "It was a dark and stormy night";
  expect_no_allocation("tokenize",
                       [&] { return sotto_tokenize(model.get(), text, 20, 0, tokens, 64, &count, nullptr); });
  expect_no_allocation("prefill", [&] { return sotto_session_prefill(session, tokens, count); });
  const sotto_piece* piece;
  for (int i = 0; i < 40; ++i) {
    expect_no_allocation("next", [&] { return sotto_session_next(session, &piece); });
  }
  AlignedBytes other_memory(size);
  sotto_session* other;
  ASSERT_EQ(sotto_session_init(model.get(), &params, other_memory.data(), size, &other, nullptr), SOTTO_OK);
  ASSERT_EQ(sotto_session_prefill(other, tokens, 2), SOTTO_OK);
  sotto_session_reset(session);
  ASSERT_EQ(sotto_session_prefill(session, tokens, count), SOTTO_OK);
  for (int i = 0; i < 40; ++i) {
    sotto_session* const both[] = {session, other};
    const sotto_piece* pieces[2];
    sotto_status statuses[2] = {-1, -1};
    expect_no_allocation("next of both", [&] { return sotto_sessions_next(both, 2, pieces, statuses, nullptr); });
    EXPECT_TRUE(statuses[0] >= 0 && statuses[1] >= 0);
  }
  sotto_session_deinit(other);
  const float* logits;
  size_t logit_count;
  expect_no_allocation("logits", [&] {
    const sotto_status status = sotto_session_logits(session, &logits, &logit_count);
    return status == SOTTO_STOP_CONTEXT_FULL ? SOTTO_OK : status;
  });
  expect_no_allocation("cancel", [&] {
    sotto_session_cancel(session);
    return sotto_session_next(session, &piece);
  });
  expect_no_allocation("reset", [&] {
    sotto_session_reset(session);
    return SOTTO_OK;
  });
  sotto_sampler_params sampler;
  sotto_sampler_params_init(&sampler, sizeof sampler);
  for (const float temperature : {0.0f, 1.0f}) {
    for (const uint32_t top_k : {0u, 5u}) {
      for (const float top_p : {1.0f, 0.5f}) {
        sampler.temperature = temperature;
        sampler.top_k = top_k;
        sampler.top_p = top_p;
        sampler.min_p = top_k == 0 ? 0.0f : 0.1f;
        sampler.repetition_penalty = top_p == 1.0f ? 1.0f : 1.3f;
        sampler.log_probabilities = 1;
        expect_no_allocation("set_sampler", [&] { return sotto_session_set_sampler(session, &sampler, nullptr); });
        expect_no_allocation("generate",
                             [&] { return sotto_session_generate(session, tokens, 10, 12, go_on, nullptr); });
        expect_no_allocation("rewind", [&] {
          sotto_session_info info = {};
          info.struct_size = sizeof info;
          (void)sotto_session_get_info(session, &info);
          return sotto_session_rewind(session, info.token_count - 1);
        });
        expect_no_allocation("next after rewind", [&] { return sotto_session_next(session, &piece); });
        expect_no_allocation("reset", [&] {
          sotto_session_reset(session);
          return SOTTO_OK;
        });
      }
    }
  }
  sotto_session_deinit(session);
}

INSTANTIATE_TEST_SUITE_P(Modes, Allocation,
                         testing::Combine(testing::Values(SOTTO_OVERFLOW_STOP, SOTTO_OVERFLOW_RING,
                                                          SOTTO_OVERFLOW_SHIFT),
                                          testing::Values(1u, 2u), testing::Values(SOTTO_ISA_AUTO, SOTTO_ISA_REFERENCE),
                                          testing::Values(8, 4)));

}  // namespace
}  // namespace sotto
