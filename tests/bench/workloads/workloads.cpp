#include "tests/bench/workloads/workloads.h"

#include <algorithm>
#include <memory>

#include "tests/bench/machine/clock.h"
#include "tests/bench/machine/dot_limit.h"
#include "tests/bench/machine/read_limit.h"
#include "tests/bench/models/child.h"

namespace sotto::bench {
namespace {

constexpr uint64_t kMinWorkloadNs = 80'000'000;
constexpr double kLimitSeconds = kMinWorkloadNs / 1e9;

std::string threads_suffix(size_t thread_count) { return "/" + std::to_string(thread_count) + "t"; }

// Returns the smallest context that holds `tokens`.
uint32_t context_for(const LoadedModel& model, uint32_t tokens) {
  const uint32_t max_tokens = model.info().max_context_tokens;
  return std::min(max_tokens, std::max(tokens, uint32_t{16}));
}

}  // namespace

std::string read_series(size_t thread_count) { return "memory_read" + threads_suffix(thread_count); }

void set_mac_limit(const LoadedModel& model, size_t thread_count, std::function<double(double)> figure_at,
                   FigureSpec* figure) {
  figure->limit_name = tile_loop(model.info().isa).run == nullptr ? "int8_dot" : "int8_tiles";
  figure->limit_series = figure->limit_name + threads_suffix(thread_count);
  figure->limit = std::move(figure_at);
}

FigureSpec first_token_figure(const LoadedModel& model, uint32_t prompt_length, size_t thread_count,
                              const std::string& series, const std::string& name) {
  const double macs = prompt_macs(model.info(), prompt_length);
  FigureSpec figure{series, name};
  figure.parameters = {{"prompt_tokens", prompt_length}, {"threads", thread_count}};
  figure.unit = "ms";
  figure.higher_is_better = false;
  set_mac_limit(
      model, thread_count, [macs](double macs_per_second) { return macs / macs_per_second * 1e3; }, &figure);
  return figure;
}

double prompt_macs(const sotto_model_info& info, uint32_t token_count) {
  const double width = info.embedding_size;
  const double layer = 4 * width * width + 2 * width * info.feed_forward_size;
  return token_count * info.layer_count * layer + width * info.vocabulary_size;
}

void add_limits(const LoadedModel& model, uint32_t thread_count, Plan* plan) {
  const auto read = std::make_shared<ReadLimit>(model.info().weight_bytes, model.pages(), thread_count);
  const sotto_isa isa = model.info().isa;
  const std::string read_name = read_series(thread_count);
  plan->probes.push_back({"memory read", [read, read_name](Recorder& recorder) {
                            recorder.record(read_name, read->bytes_per_second(kLimitSeconds));
                          }});
  const std::pair<const char*, DotLoop> loops[] = {{"int8_dot", dot_loop(isa)}, {"int8_tiles", tile_loop(isa)}};
  for (const auto& [name, loop] : loops) {
    if (loop.run == nullptr) continue;
    const std::string series = name + threads_suffix(thread_count);
    plan->probes.push_back({name, [series, loop = loop, thread_count](Recorder& recorder) {
                              recorder.record(series, macs_per_second(loop, thread_count, kLimitSeconds));
                            }});
  }
}

void add_decode(const LoadedModel& model, uint32_t context, uint32_t thread_count, Plan* plan) {
  const uint32_t begin = std::max(context, uint32_t{1});
  const uint32_t capacity = context_for(model, begin + kDecodeTokens + 1);
  const auto session = std::make_shared<Session>(model, capacity, thread_count);
  session->set_sampler(greedy_sampler());
  session->prefill(arbitrary_tokens(model.info(), begin));
  const std::string series = "decode/" + std::to_string(context) + threads_suffix(thread_count);
  plan->probes.push_back({"decode at context " + std::to_string(context), [session, series, begin](Recorder& recorder) {
                            session->rewind(begin);
                            session->next();  // warms up
                            const double seconds = seconds_per_call(kMinWorkloadNs, [&] {
                              session->rewind(begin);
                              for (uint32_t i = 0; i < kDecodeTokens; ++i) session->next();
                            });
                            recorder.record(series, kDecodeTokens / seconds);
                          }});

  // Each token reads the weights once, and the keys and values of all tokens before it.
  const double slot_bytes = static_cast<double>(session->info().kv_bytes) / capacity;
  const double bytes =
      static_cast<double>(model.info().weight_bytes) + slot_bytes * (begin + (kDecodeTokens - 1) / 2.0);
  FigureSpec figure{series, "decode"};
  figure.parameters = {{"context", context}, {"threads", thread_count}};
  figure.unit = "tok/s";
  figure.limit_name = "memory_read";
  figure.limit_series = read_series(thread_count);
  figure.limit = [bytes](double bytes_per_second) { return bytes_per_second / bytes; };
  plan->figures.push_back(figure);
}

void add_contended_decode(const LoadedModel& model, uint32_t thread_count, Plan* plan) {
  const auto session = std::make_shared<Session>(model, context_for(model, kDecodeTokens + 2), thread_count);
  session->set_sampler(greedy_sampler());
  session->prefill(arbitrary_tokens(model.info(), 1));
  const auto decode = [session] {
    return kDecodeTokens / seconds_per_call(kMinWorkloadNs, [&] {
             session->rewind(1);
             for (uint32_t i = 0; i < kDecodeTokens; ++i) session->next();
           });
  };
  plan->probes.push_back({"decode next to a busy process", [decode](Recorder& recorder) {
                            recorder.record("decode_alone", decode());
                            const BusyProcess busy;
                            recorder.record("decode_contended", decode());
                          }});
  FigureSpec figure{"decode_contended", "decode_contended"};
  figure.parameters = {{"threads", thread_count}};
  figure.unit = "tok/s";
  figure.limit_name = "alone";
  figure.limit_series = "decode_alone";
  figure.limit = [](double alone) { return alone; };
  plan->figures.push_back(figure);
}

void add_prefill(const LoadedModel& model, uint32_t prompt_length, uint32_t thread_count, Plan* plan) {
  const auto session = std::make_shared<Session>(model, context_for(model, prompt_length), thread_count);
  const auto tokens = arbitrary_tokens(model.info(), prompt_length);
  const std::string series = "prefill/" + std::to_string(prompt_length) + threads_suffix(thread_count);
  plan->probes.push_back({"prefill of " + std::to_string(prompt_length), [session, tokens, series](Recorder& recorder) {
                            const double seconds = seconds_per_call(kMinWorkloadNs, [&] {
                              sotto_session_reset(session->get());
                              session->prefill(tokens);
                            });
                            recorder.record(series, static_cast<double>(tokens.size()) / seconds);
                          }});

  const double macs = prompt_macs(model.info(), prompt_length) / prompt_length;
  FigureSpec figure{series, "prefill"};
  figure.parameters = {{"prompt_tokens", prompt_length}, {"threads", thread_count}};
  figure.unit = "tok/s";
  set_mac_limit(
      model, thread_count, [macs](double macs_per_second) { return macs_per_second / macs; }, &figure);
  plan->figures.push_back(figure);
}

void add_first_token(const LoadedModel& model, uint32_t thread_count, Plan* plan) {
  const uint32_t prompt = std::min(kFirstTokenPrompt, model.info().max_context_tokens - 1);
  const auto session = std::make_shared<Session>(model, context_for(model, prompt + 1), thread_count);
  const auto tokens = arbitrary_tokens(model.info(), prompt);
  plan->probes.push_back({"time to first token", [session, tokens](Recorder& recorder) {
                            const double seconds = seconds_per_call(kMinWorkloadNs, [&] {
                              sotto_session_reset(session->get());
                              session->prefill(tokens);
                              session->next();
                            });
                            recorder.record("first_token", seconds * 1e3);
                          }});
  plan->figures.push_back(first_token_figure(model, prompt, thread_count, "first_token", "first_token"));
}

}  // namespace sotto::bench
