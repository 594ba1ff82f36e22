// JSON lines through the sampler: logits in, what the chain leaves of them out.
#pragma once

#include <memory>
#include <string>

#include "platforms/cli/options/sampler_settings.h"
#include "platforms/cli/support/json_values.h"
#include "platforms/cli/support/model.h"

namespace sotto::cli {

// {"logits" or "probs", "history", "generated", "mask", "params", "draws"}.
struct SampleRequest {
  std::vector<float> logits;
  Tokens history;
  uint64_t generated_count = 0;
  uint64_t token_limit = 0;
  std::vector<uint64_t> allowed;  // a bit for each token; empty: all
  uint32_t draw_count = 0;
  SamplerSettings settings;
};

// Throws a Failure naming the part that is wrong.
SampleRequest read_request(const Json& object);

// A sampler without a session, built anew when a request needs another shape.
class ChainRunner {
 public:
  explicit ChainRunner(const Model* model) : model_(model) {}  // may be null

  // {"kept": {id: p}}, and with draws {"counts": {id: n}}.
  Json run(const SampleRequest& request);

 private:
  void fit(size_t vocabulary_size, uint32_t list_bytes);
  Json kept(const sotto_sampler_input& input);
  Json likeliest(const sotto_sampler_input& input);
  Json counts(sotto_sampler_input input, uint32_t draw_count);

  const Model* model_;
  std::unique_ptr<Memory> memory_;
  sotto_sampler* sampler_ = nullptr;
  size_t vocabulary_size_ = 0;
  uint32_t list_bytes_ = 0;
};

// From a file, or standard input for "-", to standard output, one line out for each line in.
// Returns false if a line was bad.
bool sample_lines(const std::string& path, ChainRunner& runner);

}  // namespace sotto::cli
