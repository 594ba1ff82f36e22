// The options that say when a text ends, and what it never contains.
#include <algorithm>
#include <cmath>

#include "platforms/cli/options/cli11.h"
#include "platforms/cli/options/generate.h"
#include "platforms/cli/support/tokens.h"

namespace sotto::cli {
namespace {

constexpr char kStopGroup[] = "Stops";

// Reads texts in quotes as JSON strings.
void unquote(std::vector<std::string>& texts, const char* option) {
  for (std::string& text : texts) {
    text = unquoted(text, option);
    if (text.empty()) throw Failure(std::string(option) + ": the text is empty", kExitUsage);
  }
}

}  // namespace

uint32_t list_bytes(const StopParams& params) {
  constexpr uint64_t kEntryBytes = 64;  // of the library's bookkeeping, rounded up
  uint64_t size = params.stop_tokens.size() * sizeof(Token);
  for (const auto* texts : {&params.stop_strings, &params.banned_strings}) {
    for (const std::string& text : *texts) size += kEntryBytes + 8 * text.size();
  }
  return static_cast<uint32_t>(std::clamp<uint64_t>(2 * size, 16384, uint64_t{1} << 24));
}

void add_stop_options(CLI::App& command, StopOptions& options) {
  sotto_stop_params& c_params = options.params;
  add_texts(command, "--stop,-r,--stop-string,--stop-strings,--reverse-prompt", options.params.stop_strings,
            "Stop before TEXT; like all texts of options except the prompt, TEXT in double quotes is read as JSON: "
            "'\"\\n\"' is a line end")
      ->group(kStopGroup);
  add_texts(command, "--stop-token,--stop-tokens,--stop-token-ids,--eos-token-id", options.stop_tokens,
            "Stop at one of these tokens (ids, or the text of one token)", "TOKENS")
      ->group(kStopGroup);
  add_value(command, "--max-time", options.max_seconds, "Stop after this time; 0: never", "SECONDS")->group(kStopGroup);
  add_parameters(command, kStopParameters, &c_params);
  add_texts(command, "--banned-string,--banned-strings", options.params.banned_strings,
            "Never generate TEXT, in any tokenization: roll back to its first token and select another")
      ->group(kStopGroup);
  command
      .add_flag(with_underscores("--token-healing"), options.heals,
                "The prompt may end inside a word: remove its last token and generate one that begins with its text")
      ->group(kStopGroup);
}

void validate_stop_options(const CLI::App& command, StopOptions& options) {
  require_needed_options(command, kStopParameters);
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

Json stops_json(const StopOptions& options) {
  const sotto_stop_params& c_params = options.params;
  Json object = {{"stop", options.params.stop_strings},
                 {"stop_tokens", options.params.stop_tokens},
                 {"max_time", options.max_seconds},
                 {"banned_strings", options.params.banned_strings},
                 {"token_healing", options.heals}};
  object.update(parameters_json(kStopParameters, &c_params));
  return object;
}

}  // namespace sotto::cli
