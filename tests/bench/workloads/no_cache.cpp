// Measures the time per token with and without the KV ring. Without it, every token evaluates the whole text again.
#include <algorithm>
#include <memory>
#include <string>

#include "tests/bench/machine/clock.h"
#include "tests/bench/workloads/workloads.h"

namespace sotto::bench {
namespace {

constexpr uint64_t kMinNs = 40'000'000;

}  // namespace

void add_no_cache(const LoadedModel& model, uint32_t context, uint32_t thread_count, Plan* plan) {
  const uint32_t begin = std::max(context, uint32_t{1});
  const uint32_t max_tokens = model.info().max_context_tokens;
  const auto session = std::make_shared<Session>(model, std::min(max_tokens, begin + kDecodeTokens + 16), thread_count);
  session->set_sampler(greedy_sampler());
  const auto tokens = arbitrary_tokens(model.info(), begin);
  const std::string suffix = "/" + std::to_string(context);
  plan->probes.push_back({"no cache at context " + std::to_string(context), [=](Recorder& recorder) {
                            const double without_cache = seconds_per_call(kMinNs, [&] {
                              sotto_session_reset(session->get());
                              session->prefill(tokens);
                              session->next();
                            });
                            const double with_cache = seconds_per_call(kMinNs,
                                                                       [&] {
                                                                         session->rewind(begin);
                                                                         for (uint32_t i = 0; i < kDecodeTokens; ++i)
                                                                           session->next();
                                                                       }) /
                                                      kDecodeTokens;
                            recorder.record("with_cache" + suffix, with_cache * 1e3);
                            recorder.record("without_cache" + suffix, without_cache * 1e3);
                            recorder.record("cache_speedup" + suffix, without_cache / with_cache);
                          }});
  for (const char* name : {"with_cache", "without_cache", "cache_speedup"}) {
    const bool is_ratio = std::string(name) == "cache_speedup";
    FigureSpec figure{name + suffix, name};
    figure.parameters = {{"context", context}, {"threads", thread_count}};
    figure.unit = is_ratio ? "times" : "ms/token";
    figure.higher_is_better = is_ratio;
    plan->figures.push_back(figure);
  }
}

}  // namespace sotto::bench
