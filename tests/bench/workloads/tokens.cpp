// Measures the sampler and the tokenizer.
#include <algorithm>
#include <memory>

#include "tests/bench/machine/clock.h"
#include "tests/bench/workloads/workloads.h"

namespace sotto::bench {
namespace {

constexpr uint64_t kMinTokenNs = 10'000'000;
constexpr size_t kTextSize = size_t{256} << 10;

bool is_plain(const char* bytes, size_t size) {
  return size > 0 && std::all_of(bytes, bytes + size, [](char c) { return (c >= 'a' && c <= 'z') || c == ' '; });
}

// Returns a text of the vocabulary's tokens. The first tokens occur more often.
std::string make_text(const LoadedModel& model) {
  const double count = model.info().vocabulary_size;
  std::string text;
  uint64_t state = 7;
  for (size_t tries = 0; text.size() < kTextSize && tries < 64 * kTextSize; ++tries) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const double u = static_cast<double>(state >> 33) / 2147483648.0;
    const auto token = static_cast<sotto_token>(u * u * count);
    const char* bytes = nullptr;
    size_t size = 0;
    check(sotto_token_bytes(model.get(), token, &bytes, &size), model.path());
    if (is_plain(bytes, size)) text.append(bytes, size);
  }
  return text;
}

}  // namespace

void add_samplers(const LoadedModel& model, Plan* plan) {
  const uint32_t context = std::min(model.info().max_context_tokens, uint32_t{16});
  const auto session = std::make_shared<Session>(model, context, 1);
  session->prefill(arbitrary_tokens(model.info(), 4));
  sotto_sampler_params full = default_sampler();
  full.temperature = 1;
  full.top_k = 0;
  full.top_p = 1;
  full.min_p = 0;
  sotto_sampler_params top_p = full;
  top_p.top_p = 0.95f;
  const std::pair<const char*, sotto_sampler_params> chains[] = {
      {"greedy", greedy_sampler()}, {"default", default_sampler()}, {"full", full}, {"top_p", top_p}};
  for (const auto& [chain, params] : chains) {
    const std::string series = std::string("sample/") + chain;
    plan->probes.push_back({std::string("sampler, ") + chain, [session, series, params = params](Recorder& recorder) {
                              session->set_sampler(params);
                              const uint64_t count = session->info().token_count;
                              // The rewind costs nothing, because the token has not been evaluated.
                              const auto draw = [&] {
                                const sotto_piece* piece = nullptr;
                                check(sotto_session_next(session->get(), &piece), "next");
                                session->rewind(count);
                              };
                              draw();  // warms up
                              sotto_session_reset_timings(session->get());
                              seconds_per_call(kMinTokenNs, draw);
                              const sotto_session_timings timings = session->timings();
                              recorder.record(series, static_cast<double>(timings.sample_ns) / 1e3 /
                                                          static_cast<double>(timings.sample_count));
                            }});
    FigureSpec figure{series, "sample"};
    figure.parameters = {{"chain", chain}};
    figure.unit = "us/token";
    figure.higher_is_better = false;
    plan->figures.push_back(figure);
  }
}

void add_tokenizer(const LoadedModel& model, Plan* plan) {
  if (model.info().has_tokenizer == 0) return;
  const auto text = std::make_shared<std::string>(make_text(model));
  if (text->empty()) return;
  const auto tokens = std::make_shared<std::vector<sotto_token>>(text->size());
  const sotto_model* handle = model.get();
  plan->probes.push_back(
      {"tokenizer", [handle, text, tokens](Recorder& recorder) {
         size_t count = 0;
         const double seconds = seconds_per_call(2 * kMinTokenNs, [&] {
           check(sotto_tokenize(handle, text->data(), text->size(), 0, tokens->data(), tokens->size(), &count, nullptr),
                 "tokenize");
         });
         recorder.record("tokenize", static_cast<double>(text->size()) / seconds / 1e6);
         std::string decoded(text->size(), '\0');
         size_t size = 0;
         const double back = seconds_per_call(kMinTokenNs, [&] {
           check(sotto_detokenize(handle, tokens->data(), count, decoded.data(), decoded.size(), &size), "detokenize");
         });
         recorder.record("detokenize", static_cast<double>(size) / back / 1e6);
       }});
  for (const char* name : {"tokenize", "detokenize"}) {
    FigureSpec figure{name, name};
    figure.unit = "MB/s";
    plan->figures.push_back(figure);
  }
}

}  // namespace sotto::bench
