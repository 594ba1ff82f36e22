// The options that say when a text ends, and what never comes in it.
#include "platforms/cli/options/stop_options.h"

#include <algorithm>
#include <cmath>

#include "platforms/cli/options/option_tools.h"
#include "platforms/cli/support/failure.h"
#include "platforms/cli/support/token_text.h"

namespace sotto::cli {
namespace {

constexpr double kNanoseconds = 1e9;

// JSON strings without their quotes.
void unquote(std::vector<std::string>& texts, const char* option) {
  for (std::string& text : texts) {
    text = unquoted(text, option);
    if (text.empty()) throw Failure(std::string(option) + ": the text is empty", kExitUsage);
  }
}

}  // namespace

StopOptions::StopOptions() { sotto_stop_params_init(&params, sizeof params); }

uint32_t StopOptions::list_bytes() const {
  constexpr uint64_t kEntryBytes = 64;  // the library's bookkeeping, rounded up
  uint64_t size = stop_tokens.size() * sizeof(sotto_token);
  for (const auto* texts : {&stop_strings, &banned_strings}) {
    for (const std::string& text : *texts) size += kEntryBytes + 8 * text.size();
  }
  return static_cast<uint32_t>(std::clamp<uint64_t>(2 * size, 16384, uint64_t{1} << 24));
}

void add_stop_options(CLI::App& command, StopOptions& options) {
  add_texts(command, "--stop,-r,--stop-string,--stop-strings,--reverse-prompt", options.stop_strings,
            "End where TEXT would come; like all texts of options but the prompt, TEXT in double "
            "quotes is read as JSON: '\"\\n\"' is a line end")
      ->group(kStopGroup);
  add_texts(command, "--stop-token,--stop-tokens,--stop-token-ids,--eos-token-id", options.stop_words,
            "End at one of these tokens (ids, or text of one token)", "TOKENS")
      ->group(kStopGroup);
  command
      .add_flag_callback(
          spellings("--include-stop,--include-stop-str-in-output"),
          [&options] { options.params.include_stop_text = 1; }, "The text that ends it is part of the text")
      ->group(kStopGroup);
  add_value(command, "--max-time", options.max_seconds, "End after so many seconds; 0: never", "SECONDS")
      ->group(kStopGroup);
  add_value(command, "--repetition-limit", options.params.repetition_limit,
            "End when the newest tokens are more repetitive, from 0 to 1; 0: never", "X")
      ->group(kStopGroup);
  add_value(command, "--repetition-limit-window", options.params.repetition_window, "How many tokens it looks at", "N")
      ->group(kStopGroup);
  add_texts(command, "--ban,--ban-string,--banned-string,--banned-strings", options.banned_strings,
            "TEXT never comes, in whatever tokens: the text goes back and takes another way")
      ->group(kStopGroup);
  command
      .add_flag(spellings("--heal,--token-healing"), options.heals,
                "The prompt may end inside a word: its last token is taken back and completed")
      ->group(kStopGroup);
}

void settle_stop_options(const CLI::App& command, StopOptions& options) {
  require_with(command, "--include-stop", {"--stop"});
  require_with(command, "--repetition-limit-window", {"--repetition-limit"});
  if (!(options.max_seconds >= 0.0 && options.max_seconds <= 1e9)) {
    throw CLI::ValidationError("--max-time", "must be 0 or a number of seconds");
  }
  options.params.max_time_ns = static_cast<uint64_t>(std::ceil(options.max_seconds * kNanoseconds));
  unquote(options.stop_strings, "--stop");
  unquote(options.banned_strings, "--ban");
}

void read_stop_texts(StopOptions& options, const Model& model) {
  const TokenReader reader(model);
  for (const std::string& word : options.stop_words) {
    const Tokens tokens =
        parse_ids(word) ? reader.tokens(word, "--stop-token") : Tokens{reader.token(word, "--stop-token")};
    options.stop_tokens.insert(options.stop_tokens.end(), tokens.begin(), tokens.end());
  }
}

void set_stops(sotto_session* session, const StopOptions& options) {
  sotto_stop_params params = options.params;
  const std::vector<sotto_text> stops = text_views(options.stop_strings);
  const std::vector<sotto_text> bans = text_views(options.banned_strings);
  params.stop_tokens = options.stop_tokens.data();
  params.stop_token_count = options.stop_tokens.size();
  params.stop_strings = stops.data();
  params.stop_string_count = stops.size();
  params.banned_strings = bans.data();
  params.banned_string_count = bans.size();
  sotto_error error = no_error();
  check(sotto_session_set_stops(session, &params, &error), error, "stops");
}

Json stops_json(const StopOptions& options) {
  return {{"stop", options.stop_strings},
          {"stop_tokens", options.stop_tokens},
          {"include_stop_text", options.params.include_stop_text != 0},
          {"max_time", options.max_seconds},
          {"repetition_limit", number_json(options.params.repetition_limit)},
          {"repetition_limit_window", options.params.repetition_window},
          {"banned_strings", options.banned_strings},
          {"heal", options.heals}};
}

}  // namespace sotto::cli
