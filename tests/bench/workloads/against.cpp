// Compares the speed of two models on the same work, in interleaved runs.
#include <algorithm>
#include <functional>
#include <memory>
#include <string>

#include "tests/bench/machine/clock.h"
#include "tests/bench/workloads/workloads.h"

namespace sotto::bench {
namespace {

constexpr uint64_t kMinNs = 80'000'000;

using Work = std::function<double()>;  // seconds

Work decode_work(const LoadedModel& model, uint32_t context, uint32_t thread_count) {
  const uint32_t begin = std::max(context, uint32_t{1});
  const uint32_t max_tokens = model.info().max_context_tokens;
  const auto session = std::make_shared<Session>(model, std::min(max_tokens, begin + kDecodeTokens + 16), thread_count);
  session->set_sampler(greedy_sampler());
  session->prefill(arbitrary_tokens(model.info(), begin));
  return [session, begin] {
    return seconds_per_call(kMinNs, [&] {
      session->rewind(begin);
      for (uint32_t i = 0; i < kDecodeTokens; ++i) session->next();
    });
  };
}

Work prefill_work(const LoadedModel& model, uint32_t length, uint32_t thread_count) {
  const auto session = std::make_shared<Session>(model, std::max(length, 16u), thread_count);
  const auto tokens = arbitrary_tokens(model.info(), length);
  return [session, tokens] {
    return seconds_per_call(kMinNs, [&] {
      sotto_session_reset(session->get());
      session->prefill(tokens);
    });
  };
}

void add(const std::string& name, const std::string& parameter, uint32_t value, const Work& work,
         const Work& other_work, Plan* plan) {
  const std::string series = name + "/" + std::to_string(value);
  plan->probes.push_back({series, [=](Recorder& recorder) {
                            const double seconds = work(), other_seconds = other_work();
                            recorder.record(series, other_seconds / seconds);
                          }});
  FigureSpec figure{series, name};
  figure.parameters[parameter] = value;
  figure.unit = "times";
  plan->figures.push_back(figure);
}

}  // namespace

void add_against(const LoadedModel& model, const LoadedModel& other, const WorkloadOptions& options, Plan* plan) {
  const uint32_t threads = options.thread_count;
  for (const uint32_t context : options.contexts) {
    add("decode_against", "context", context, decode_work(model, context, threads),
        decode_work(other, context, threads), plan);
  }
  for (const uint32_t length : options.prompt_lengths) {
    add("prefill_against", "prompt_tokens", length, prefill_work(model, length, threads),
        prefill_work(other, length, threads), plan);
  }
}

}  // namespace sotto::bench
