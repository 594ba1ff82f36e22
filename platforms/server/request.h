// The requests of the OpenAI API, with its names and defaults. Members that it does not have are parameters of the
// sampler, as in sotto_sampler_params.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "platforms/cli/grammar/matching.h"

namespace sotto::cli {

// A text, or tokens.
using Prompt = std::variant<std::string, TokenList>;

// The members that requests for texts share.
struct GenerationRequest {
  SamplerParams sampler;
  StopParams stops;
  std::optional<GrammarText> grammar;
  size_t max_tokens = SIZE_MAX;
  uint32_t choice_count = 1;  // texts per prompt
  bool streams = false;
  bool includes_usage = false;  // in a stream
};

struct CompletionRequest : GenerationRequest {
  std::vector<Prompt> prompts;
};

struct ChatRequest : GenerationRequest {
  std::vector<std::pair<sotto_chat_role, std::string>> messages;
};

struct EmbeddingRequest {
  std::vector<Prompt> inputs;
  bool is_base64 = false;
};

// A request for another model than `model`.
class UnknownModel : public Failure {
 public:
  using Failure::Failure;
};

// Each function reads the JSON text of a request. `sampler` are the parameters that the request may change; without a
// seed, it gets a random one. Throws a Failure that names the member.
CompletionRequest read_completion_request(std::string_view body, const std::string& model,
                                          const SamplerParams& sampler);
ChatRequest read_chat_request(std::string_view body, const std::string& model, const SamplerParams& sampler);
EmbeddingRequest read_embedding_request(std::string_view body, const std::string& model, size_t embedding_size);

}  // namespace sotto::cli
