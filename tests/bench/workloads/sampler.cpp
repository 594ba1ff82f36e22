// Measures every mode of the sampler by itself, over three kinds of logits: peaked, as in a predictable text, flat, as
// with random weights, and all equal.
#include <array>
#include <cmath>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "runtime/sampling/log_probabilities.h"
#include "runtime/text/token_history.h"
#include "tests/bench/machine/clock.h"
#include "tests/bench/workloads/workloads.h"

namespace sotto::bench {
namespace {

constexpr uint64_t kMinSamplerNs = 3'000'000;

constexpr const char* kKinds[] = {"peaked", "flat", "tied"};

std::vector<float> make_logits(size_t count, bool peaked) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  std::vector<float> logits(count);
  for (float& logit : logits) logit = peaked ? 2 * normal(random) - 30 : normal(random);
  for (int i = 0; peaked && i < 60; ++i) {
    logits[random() % count] = -22 + 8 * std::exp(-static_cast<float>(i) / 8);
  }
  return logits;
}

struct Mode {
  const char* name;
  void (*set)(sotto_sampler_params& params);
};

constexpr sotto_watermark_params watermark_of(sotto_watermark_scheme scheme) {
  return {sizeof(sotto_watermark_params), scheme, 0, 0.25f, 2, 30, 15485863};
}

constexpr sotto_watermark_params kLeftHash = watermark_of(SOTTO_WATERMARK_LEFT_HASH);
constexpr sotto_watermark_params kSelfHash = watermark_of(SOTTO_WATERMARK_SELF_HASH);
constexpr sotto_watermark_params kTournament = watermark_of(SOTTO_WATERMARK_TOURNAMENT);
constexpr sotto_watermark_params kGumbel = watermark_of(SOTTO_WATERMARK_GUMBEL);

constexpr Mode kModes[] = {
    {"multinomial", [](auto&) {}},
    {"temperature 0.7", [](auto& p) { p.temperature = 0.7f; }},
    {"dynamic temperature", [](auto& p) { p.temperature_range = 0.5f; }},
    {"smoothing", [](auto& p) { p.smoothing_factor = 0.3f; }},
    {"top_k 40", [](auto& p) { p.top_k = 40; }},
    {"top_k 1000", [](auto& p) { p.top_k = 1000; }},
    {"top_p 0.95", [](auto& p) { p.top_p = 0.95f; }},
    {"min_p 0.05", [](auto& p) { p.min_p = 0.05f; }},
    {"top_a 0.2", [](auto& p) { p.top_a = 0.2f; }},
    {"tail_free 0.95", [](auto& p) { p.tail_free = 0.95f; }},
    {"typical 0.9", [](auto& p) { p.typical_p = 0.9f; }},
    {"epsilon 3e-4", [](auto& p) { p.epsilon = 3e-4f; }},
    {"eta 2e-3", [](auto& p) { p.eta = 2e-3f; }},
    {"top_n_sigma 1", [](auto& p) { p.top_n_sigma = 1; }},
    {"top_h 0.4", [](auto& p) { p.top_h = 0.4f; }},
    {"xtc 0.1", [](auto& p) { p.xtc_probability = 1; }},
    {"gumbel", [](auto& p) { p.selection = SOTTO_SELECT_GUMBEL; }},
    {"mirostat", [](auto& p) { p.selection = SOTTO_SELECT_MIROSTAT; }},
    {"mirostat 2", [](auto& p) { p.selection = SOTTO_SELECT_MIROSTAT_V2; }},
    {"adaptive_p",
     [](auto& p) {
       p.selection = SOTTO_SELECT_ADAPTIVE_P;
       p.adaptive_target = 0.3f;
       p.min_p = 0.01f;
     }},
    {"three penalties",
     [](auto& p) {
       p.repetition_penalty = 1.2f;
       p.frequency_penalty = p.presence_penalty = 0.5f;
       p.repetition_window = UINT32_MAX;
     }},
    {"guard 64", [](auto& p) { p.guard_window = 64; }},
    {"no_repeat_ngram 3", [](auto& p) { p.no_repeat_ngram = 3; }},
    {"dry",
     [](auto& p) {
       p.dry_multiplier = 0.8f;
       p.dry_breaker_count = 0;
     }},
    {"left hash", [](auto& p) { p.watermark = &kLeftHash; }},
    {"self hash", [](auto& p) { p.watermark = &kSelfHash; }},
    {"tournament", [](auto& p) { p.watermark = &kTournament; }},
    {"tournament, top_k 40",
     [](auto& p) {
       p.watermark = &kTournament;
       p.top_k = 40;
     }},
    {"gumbel watermark", [](auto& p) { p.watermark = &kGumbel; }},
    {"statistics", [](auto& p) { p.statistics = 1; }},
};

// A standalone sampler with its memory.
class Bench {
 public:
  explicit Bench(size_t vocabulary_size)
      : logits_{make_logits(vocabulary_size, true), make_logits(vocabulary_size, false),
                std::vector<float>(vocabulary_size)} {
    sotto_error error = {};
    size_t size = 0;
    check(sotto_sampler_memory_size(vocabulary_size, 0, &size, &error), error, "sampler");
    memory_.resize(size + SOTTO_MEMORY_ALIGNMENT);
    void* place = memory_.data();
    size_t space = memory_.size();
    std::align(SOTTO_MEMORY_ALIGNMENT, size, place, space);
    check(sotto_sampler_init(nullptr, vocabulary_size, 0, place, space, &sampler_, &error), error, "sampler");
  }

  double microseconds(const Mode& mode, size_t kind) {
    sotto_sampler_params params = default_sampler();
    params.temperature = 1;
    params.top_k = 0;
    params.top_p = 1;
    params.min_p = 0;
    mode.set(params);
    sotto_error error = {};
    check(sotto_sampler_set(sampler_, &params, &error), error, mode.name);
    std::vector<sotto_token> history(256);
    for (size_t i = 0; i < history.size(); ++i) {
      history[i] = static_cast<sotto_token>(i * i % 101 % vocabulary_size());
    }
    sotto_sampler_input input = {};
    input.struct_size = sizeof input;
    input.logits = logits_[kind].data();
    input.history = history.data();
    const auto sample = [&] {
      input.history_count = (input.history_count + 1) % history.size();  // changes the draw
      sotto_token token;
      check(sotto_sampler_sample(sampler_, &input, &token, &error), error, mode.name);
      if (params.statistics != 0) describe(kind, {history.data(), input.history_count});
    };
    sample();  // warms up
    return 1e6 * seconds_per_call(kMinSamplerNs, sample);
  }

 private:
  size_t vocabulary_size() const { return logits_[0].size(); }

  // Computes what a session adds to a token with statistics.
  void describe(size_t kind, std::span<const sotto_token> history) {
    const Kernels& kernels = *find_vector_kernels();
    const double entropy = LogProbabilities(kernels, logits_[kind]).entropy(kernels);
    result_ = entropy + static_cast<double>(repetitiveness(TokenHistory(history, {}), 64));
  }

  std::array<std::vector<float>, std::size(kKinds)> logits_;
  std::vector<unsigned char> memory_;
  sotto_sampler* sampler_ = nullptr;
  volatile double result_ = 0;  // keeps the compiler from removing the computation
};

}  // namespace

void add_sampler_modes(const LoadedModel& model, Plan* plan) {
  const auto bench = std::make_shared<Bench>(model.info().vocabulary_size);
  for (const Mode& mode : kModes) {
    for (size_t kind = 0; kind < std::size(kKinds); ++kind) {
      const std::string series = std::string("sample/") + mode.name + ", " + kKinds[kind];
      plan->probes.push_back({"sampler, " + series.substr(7),
                              [=](Recorder& recorder) { recorder.record(series, bench->microseconds(mode, kind)); }});
      FigureSpec figure{series, "sample"};
      figure.parameters = {{"mode", mode.name}, {"logits", kKinds[kind]}};
      figure.unit = "us/token";
      figure.higher_is_better = false;
      plan->figures.push_back(figure);
    }
  }
}

}  // namespace sotto::bench
