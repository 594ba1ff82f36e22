#include "platforms/cli/options/stops.h"

#include <cmath>

#include "platforms/cli/options/parameters.h"
#include "platforms/cli/options/sampler.h"

namespace sotto::cli {
namespace {

// Parses each text in double quotes as a JSON string.
void unquote(std::vector<std::string>& texts, const char* option) {
  for (std::string& text : texts) {
    text = unquoted(text, option);
    if (text.empty()) throw Failure(std::string(option) + ": the text is empty", kExitUsage);
  }
}

}  // namespace

void add_token_limit(Command& command, int64_t& limit, const std::string& description) {
  add_value(command, "-n,--max-tokens,--max-new-tokens,--num-predict,--n-predict", limit, description, "N")
      .check([](const std::string& text) {
        return text[0] == '-' && text != "-1" ? "is " + text + "; it must be at least -1" : "";
      });
}

void add_stop_options(Command& command, StopOptions& options) {
  sotto_stop_params& c_params = options.params;
  add_texts(command, "--stop,-r,--stop-string,--stop-strings,--reverse-prompt", options.params.stop_strings,
            "Stop before TEXT; as in all options except the prompt, TEXT in double quotes is a JSON string: "
            "'\"\\n\"' is a line end")
      .group(kStopGroup);
  add_texts(command, "--stop-token,--stop-tokens,--stop-token-ids,--eos-token-id", options.stop_tokens,
            "Stop at one of these tokens (ids, or the text of one token)", "TOKENS")
      .group(kStopGroup);
  add_value(command, "--max-time", options.max_seconds, "Stop after this time; 0: never", "SECONDS").group(kStopGroup);
  add_parameters(command, kStopParameters, &c_params);
  add_texts(command, "--banned-string,--banned-strings", options.params.banned_strings,
            "Never generate TEXT, in any tokenization: roll back to its first token and select another")
      .group(kStopGroup);
}

void validate_stop_options(StopOptions& options) {
  if (!(options.max_seconds >= 0.0 && options.max_seconds <= 1e9)) {
    reject("--max-time", "must be 0 or a number of seconds up to 1e9");
  }
  options.params.max_time_ns = static_cast<uint64_t>(std::ceil(options.max_seconds * 1e9));
  unquote(options.params.stop_strings, "--stop");
  unquote(options.params.banned_strings, "--banned-string");
}

void read_stop_texts(StopOptions& options, const LoadedModel& model) {
  options.params.stop_tokens = TokenReader(model).single_tokens(options.stop_tokens, "--stop-token");
}

uint32_t list_bytes(const StopParams& params) {
  constexpr uint64_t kEntryBytes = 64;  // bytes of the library's bookkeeping, rounded up
  uint64_t size = params.stop_tokens.size() * sizeof(Token);
  for (const auto* texts : {&params.stop_strings, &params.banned_strings}) {
    for (const std::string& text : *texts) size += kEntryBytes + 8 * text.size();
  }
  return list_capacity(size);
}

}  // namespace sotto::cli
