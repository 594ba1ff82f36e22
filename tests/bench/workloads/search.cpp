// Measures the cost of several simultaneous sequences as a multiple of the cost of one.
#include <algorithm>
#include <memory>

#include "tests/bench/machine/clock.h"
#include "tests/bench/workloads/workloads.h"

namespace sotto::bench {
namespace {

constexpr uint64_t kMinSearchNs = 50'000'000;
constexpr uint32_t kSearchTokens = 32;
constexpr uint32_t kPromptTokens = 64;

sotto_search_params search_params(sotto_search_mode mode, uint32_t sequence_count) {
  sotto_search_params params;
  sotto_search_params_init(&params, sizeof params);
  params.mode = mode;
  params.sequence_count = sequence_count;
  params.max_tokens = kSearchTokens;
  return params;
}

}  // namespace

void add_searches(const LoadedModel& model, uint32_t thread_count, Plan* plan) {
  const uint32_t max_tokens = model.info().max_context_tokens;
  if (max_tokens < kSearchTokens + 16) return;
  const uint32_t prompt = std::min(kPromptTokens, max_tokens - kSearchTokens);
  const struct {
    const char* name;
    sotto_search_mode mode;
    uint32_t count;
  } searches[] = {{"beam", SOTTO_SEARCH_BEAM, 5}, {"sample", SOTTO_SEARCH_SAMPLE, 5}};
  for (const auto& search : searches) {
    SessionOptions options;
    options.context_tokens = std::max(prompt + kSearchTokens, uint32_t{16});
    options.thread_count = thread_count;
    options.sequence_count = search.count;
    options.sequence_tokens = kSearchTokens;
    const auto session = std::make_shared<Session>(model, options);
    session->set_sampler(greedy_sampler());
    session->prefill(arbitrary_tokens(model.info(), prompt));
    const std::string series = std::string("search/") + search.name;
    const auto params = search_params(search.mode, search.count);
    // Both are measured alternately, so that they run under the same conditions.
    plan->probes.push_back(
        {std::string("search, ") + search.name, [session, series, params, prompt](Recorder& recorder) {
           const double one = seconds_per_call(kMinSearchNs, [&] {
             session->rewind(prompt);
             for (uint32_t i = 0; i < kSearchTokens; ++i) session->next();
           });
           session->rewind(prompt);
           const double all = seconds_per_call(kMinSearchNs, [&] {
             const sotto_sequence* found = nullptr;
             size_t count = 0;
             check(sotto_session_search(session->get(), &params, &found, &count, nullptr), "search");
           });
           recorder.record(series, all / one);
         }});
    FigureSpec figure{series, "search"};
    figure.parameters = {{"mode", search.name}, {"sequences", search.count}, {"threads", thread_count}};
    figure.unit = "x greedy";
    figure.higher_is_better = false;
    plan->figures.push_back(figure);
  }
}

}  // namespace sotto::bench
