#include "platforms/cli/generate/prompt.h"

#include <algorithm>

#include "platforms/cli/support/output.h"
#include "platforms/cli/support/text.h"

namespace sotto::cli {
namespace {

// Evaluates a prompt in parts, so that progress can be shown. Returns Status::ok or cancelled.
Status prefill(const TokenList& tokens, const std::string& name, Session& session) {
  constexpr size_t kBatchesPerPart = 8;
  const size_t part = kBatchesPerPart * session.info().batch_tokens;
  Progress progress(name, tokens.size());
  Status status = Status::ok;
  for (size_t begin = 0; begin < tokens.size() && status == Status::ok; begin += part) {
    progress.show(begin);
    const Tokens tokens_of_part(tokens.data() + begin, std::min(part, tokens.size() - begin));
    status = call(name, [&] { return session.prefill(tokens_of_part); });
  }
  return status;
}

// Throws a Failure if the prompt does not fit the context.
void check_fit(const GenerateOptions& options, const TokenList& tokens, const Session& session) {
  const SessionInfo info = session.info();
  if (options.session.overflow != SOTTO_OVERFLOW_STOP || info.token_count + tokens.size() <= info.context_tokens) {
    return;
  }
  throw Failure(prompt_name(options) + ": " + std::to_string(tokens.size()) + " tokens do not fit a context of " +
                std::to_string(info.context_tokens) + "; shorten it, or use --overflow ring or shift");
}

}  // namespace

std::string prompt_name(const GenerateOptions& options) {
  if (!options.ids.empty()) return "--ids";
  if (!options.prompt_file.empty()) return options.prompt_file;
  return options.prompt == "-" ? "standard input" : "prompt";
}

std::string read_prompt(const GenerateOptions& options) {
  const bool from_file = !options.prompt_file.empty();
  std::string text = options.prompt;
  if (from_file || text == "-") {
    text = read_all(from_file ? options.prompt_file : "-");
    if (!text.empty() && text.back() == '\n') text.pop_back();
  }
  return options.has_escapes ? unescaped(text) : text;
}

TokenList prompt_tokens(const GenerateOptions& options, const LoadedModel& model, const std::string& prompt) {
  if (!options.ids.empty()) {
    std::string list;
    for (const std::string& word : options.ids) list += word + ' ';
    return model.check_ids(require_ids(list), "--ids");
  }
  const std::string name = prompt_name(options);
  if (!prompt.empty()) return model.tokenize(prompt, options.parse_special, name);
  throw Failure(name +
                ": empty; give the beginning of a text, or if the model has learned to start a text on its own, its "
                "end-of-text token: -p \"<|endoftext|>\" --parse-special");
}

Status evaluate_prompt(const GenerateOptions& options, Session& session, Generation& generation) {
  const TokenList& tokens = generation.prompt_tokens;
  if (!options.has_prompt) return Status::ok;
  const std::string name = prompt_name(options);
  check_fit(options, tokens, session);
  Status status;
  if (options.scores_prompt) {
    status = call_until_stop(name, [&] {
      generation.prompt_perplexity = session.score(tokens, &generation.prompt_log_probabilities).perplexity;
    });
  } else {
    status = prefill(tokens, name, session);
  }
  return status;
}

}  // namespace sotto::cli
