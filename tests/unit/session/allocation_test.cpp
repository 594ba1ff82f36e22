// Tests that nothing allocates when all features are in use at the same time.
#include "tests/memory/allocation_counter.h"
#include "tests/unit/session/session_support.h"

namespace sotto {
namespace {

class Allocations : public testing::TestWithParam<std::tuple<Selection, Overflow>> {};

TEST_P(Allocations, CallsAfterInitDoNotAllocate) {
  const auto [selection, overflow] = GetParam();
  const Model& model = text_model(8, 5);
  const auto shape = [&, way = overflow](SessionParams& params) {
    params.features = kFeatureAll;
    params.overflow = way;
    params.context_tokens = way == Overflow::kStop ? 64 : 20;
  };
  OpenedSession session(model, shape), guide(model, shape), forked(model, shape);
  Automaton automaton({{{1, 0}, {2, 0}, {3, 0}, {4, 0}, {9, 0}, {10, 0}, {12, 0}}}, {});
  automaton.memory = 1 << 20;
  const std::vector<int32_t> prompt = {1, 2, 3, 1}, scored = {2, 3, 2};
  const std::vector<std::string> stops = {"abcab!", "cacaca"}, bans = {"abcc", "bab"};
  const auto stop_views = views(stops), ban_views = views(bans);
  const int32_t stop_tokens[] = {5};
  StopParams stop_params;
  stop_params.stop_strings = stop_views;
  stop_params.banned_strings = ban_views;
  stop_params.stop_tokens = stop_tokens;
  stop_params.repetition_limit = 0.99f;
  stop_params.repetition_window = 16;
  stop_params.max_tokens = 500;
  SamplerParams sampler;
  sampler.selection = selection;
  if (selection == Selection::kAdaptiveP) sampler.adaptive_target = 0.3f;
  sampler.log_probabilities = true;
  sampler.alternative_count = SamplerParams::kMaxAlternativeCount;
  sampler.dola = DolaLayers::kHigh;
  sampler.dry_multiplier = 0.5f;
  sampler.frequency_penalty = 0.2f;
  expect_no_allocation("set_sampler", [&] { return session->set_sampler(sampler, nullptr); });
  expect_no_allocation("set_stops", [&] { return session->set_stops(stop_params, nullptr); });
  for (int round = 0; round < 3; ++round) {
    expect_no_allocation("prefill", [&] { return session->prefill(prompt, nullptr); });
    expect_no_allocation("heal", [&] { return session->heal(nullptr); });
    expect_no_allocation("prefill of the guide", [&] { return guide->prefill(prompt, nullptr); });
    expect_no_allocation("set_guide", [&] { return session->set_guide(guide.get(), {}, nullptr); });
    for (int i = 0; i < 40; ++i) {
      expect_no_allocation("next", [&] { return session->next(nullptr); });
      if (i == 5 || i == 20) {
        expect_no_allocation("rewind", [&] {
          const Status status = session->rewind(session->token_count() - 1, nullptr);
          return status == Status::kInvalidState ? Status::kOk : status;  // allowed with a ring
        });
      }
    }
    std::vector<uint8_t> bytes(SavedState::size(*session));
    expect_no_allocation("save", [&] {
      SavedState::save(*session, bytes.data());
      return Status::kOk;
    });
    expect_no_allocation("set_guide", [&] { return session->set_guide(nullptr, {}, nullptr); });
    expect_no_allocation("restore", [&] { return SavedState::restore(bytes, session.get(), nullptr); });
    expect_no_allocation("fork", [&] { return SavedState::fork(*session, forked.get(), nullptr); });
    expect_no_allocation("next", [&] { return forked->next(nullptr); });
    expect_no_allocation("reset", [&] {
      session->reset();
      guide->reset();
      return Status::kOk;
    });
    ScoreResult score;
    float values[3], embedding[32];
    std::span<const float> row;
    expect_no_allocation("score", [&] { return session->score(scored, values, &score, nullptr); });
    expect_no_allocation("embed", [&] { return session->embed(scored, Pooling::kMean, embedding, nullptr); });
    expect_no_allocation("hidden", [&] { return session->hidden(&row, nullptr); });
    expect_no_allocation("generate", [&] { return session->generate(prompt, 10, nullptr, nullptr, nullptr); });
    expect_no_allocation("reset", [&] {
      session->reset();
      return Status::kOk;
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, Allocations,
                         testing::Combine(testing::Values(Selection::kMultinomial, Selection::kMirostat,
                                                          Selection::kAdaptiveP),
                                          testing::Values(Overflow::kStop, Overflow::kRing, Overflow::kShift)));

}  // namespace
}  // namespace sotto
