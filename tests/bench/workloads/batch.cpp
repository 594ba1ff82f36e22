// Measures the speed of several sessions that generate in one batch, relative to one after the other.
#include <algorithm>
#include <memory>
#include <vector>

#include "tests/bench/machine/clock.h"
#include "tests/bench/workloads/workloads.h"

namespace sotto::bench {
namespace {

constexpr uint64_t kMinBatchNs = 20'000'000;
constexpr uint32_t kBatchTokens = 8;
constexpr uint32_t kPromptTokens = 16;

using Sessions = std::vector<std::unique_ptr<Session>>;

// Repeats: rewinds the first `count` sessions and generates kBatchTokens in each. Returns the seconds.
template <typename F>
double seconds_of(const Sessions& sessions, size_t count, F&& generate_one_each) {
  return seconds_per_call(kMinBatchNs, [&] {
    for (size_t i = 0; i < count; ++i) sessions[i]->rewind(kPromptTokens);
    for (uint32_t step = 0; step < kBatchTokens; ++step) generate_one_each();
  });
}

}  // namespace

void add_batches(const LoadedModel& model, uint32_t thread_count, Plan* plan) {
  constexpr size_t kCounts[] = {1, 2, 4, 8};
  if (model.info().max_context_tokens < kPromptTokens + kBatchTokens) return;
  const auto sessions = std::make_shared<Sessions>();
  sotto_sampler_params sampler = greedy_sampler();
  sampler.ignore_end = 1;
  for (size_t i = 0; i < std::end(kCounts)[-1]; ++i) {
    const uint32_t context = std::min(model.info().max_context_tokens, uint32_t{64});
    sessions->push_back(std::make_unique<Session>(model, context, thread_count));
    sessions->back()->set_sampler(sampler);
    sessions->back()->prefill(arbitrary_tokens(model.info(), kPromptTokens));
  }
  for (const size_t count : kCounts) {
    const std::string series = "batch/" + std::to_string(count);
    // Both are measured alternately, so that they run under the same conditions.
    plan->probes.push_back(
        {"batch of " + std::to_string(count), [sessions, series, count](Recorder& recorder) {
           const double alone = seconds_of(*sessions, count, [&] {
             for (size_t i = 0; i < count; ++i) (*sessions)[i]->next();
           });
           std::vector<sotto_session*> handles;
           for (const auto& session : *sessions) handles.push_back(session->get());
           std::vector<const sotto_piece*> pieces(count);
           std::vector<sotto_status> statuses(count);
           const double together = seconds_of(*sessions, count, [&] {
             check(sotto_sessions_next(handles.data(), count, pieces.data(), statuses.data(), nullptr), "batch");
           });
           recorder.record(series, alone / together);
         }});
    FigureSpec figure{series, "batch"};
    figure.parameters = {{"sequences", count}, {"threads", thread_count}};
    figure.unit = "x alone";
    plan->figures.push_back(figure);
  }
}

}  // namespace sotto::bench
