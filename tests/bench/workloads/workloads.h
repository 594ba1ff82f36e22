// The measurements inside this process: decoding, prefill, searches, the sampler, the tokenizer, and their limits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/bench/figures/plan.h"
#include "tests/bench/models/loaded_model.h"

namespace sotto::bench {

// The work that peers do for comparison, equal to Sotto's.
struct WorkloadOptions {
  std::vector<uint32_t> contexts;
  std::vector<uint32_t> prompt_lengths;
  uint32_t thread_count = 1;
};

// Tokens that one decode measurement generates before it rewinds.
inline constexpr uint32_t kDecodeTokens = 16;

// Tokens of the prompt in the time to first token.
inline constexpr uint32_t kFirstTokenPrompt = 64;

// Returns the multiply-adds of the linear layers for a prompt, with logits only for its last token.
double prompt_macs(const sotto_model_info& info, uint32_t token_count);

// Returns the names of the series that hold the limits for a number of threads.
std::string read_series(size_t thread_count);  // bytes per second
// Sets the limit of a figure to multiply-adds per second, of tiles if the model's instruction set has them. `figure_at`
// returns the figure at such a rate.
void set_mac_limit(const LoadedModel& model, size_t thread_count, std::function<double(double)> figure_at,
                   FigureSpec* figure);
// Returns the specification of a time to the first token after `prompt_length` tokens, limited by its multiply-adds.
FigureSpec first_token_figure(const LoadedModel& model, uint32_t prompt_length, size_t thread_count,
                              const std::string& series, const std::string& name);

// Each of these adds its probes and figures to `plan`. The probes refer to `model`.
void add_limits(const LoadedModel& model, uint32_t thread_count, Plan* plan);
void add_decode(const LoadedModel& model, uint32_t context, uint32_t thread_count, Plan* plan);
void add_prefill(const LoadedModel& model, uint32_t prompt_length, uint32_t thread_count, Plan* plan);
void add_first_token(const LoadedModel& model, uint32_t thread_count, Plan* plan);
// With at least two threads, measures decoding while another process keeps a core busy, compared with decoding alone.
void add_contended_decode(const LoadedModel& model, uint32_t thread_count, Plan* plan);
void add_batches(const LoadedModel& model, uint32_t thread_count, Plan* plan);
void add_searches(const LoadedModel& model, uint32_t thread_count, Plan* plan);
void add_samplers(const LoadedModel& model, Plan* plan);
void add_sampler_modes(const LoadedModel& model, Plan* plan);
void add_tokenizer(const LoadedModel& model, Plan* plan);
// `directory` contains more grammars; it may be empty.
void add_grammars(const LoadedModel& model, const std::string& directory, Plan* plan);

// Measures the time of a token after `context` others, with the KV ring and with an evaluation of the whole text.
void add_no_cache(const LoadedModel& model, uint32_t context, uint32_t thread_count, Plan* plan);

// Measures decode, prefill and fresh processes of the peers in `directory`, compared with Sotto's figures, which `plan`
// already holds.
void add_peers(const std::string& directory, const WorkloadOptions& options, Plan* plan);

// Measures the speed relative to `other`, which processes the same tokens and has the same number of positions.
void add_against(const LoadedModel& model, const LoadedModel& other, const WorkloadOptions& options, Plan* plan);

// Also measures drafts of `draft_model` unless it is null. It must outlive the plan.
void add_speculation(const LoadedModel& model, const LoadedModel* draft_model, uint32_t thread_count, Plan* plan);

}  // namespace sotto::bench
