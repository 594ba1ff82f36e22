// `sotto generate`: continues a prompt, streaming.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>

#include "platforms/cli/commands.h"
#include "platforms/cli/failure.h"
#include "platforms/cli/generate_options.h"
#include "platforms/cli/generate_output.h"
#include "platforms/cli/interrupt.h"
#include "platforms/cli/text.h"

namespace sotto::cli {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::string prompt_name(const GenerateOptions& options) {
  if (!options.prompt_file.empty()) return options.prompt_file;
  return options.prompt == "-" ? "standard input" : "prompt";
}

std::string read_prompt(const GenerateOptions& options) {
  const bool from_file = !options.prompt_file.empty();
  if (!from_file && options.prompt != "-") return options.prompt;
  std::string text = read_all(from_file ? options.prompt_file : "-");
  if (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

// An empty prompt starts a new text, which the end of another precedes.
std::vector<sotto_token> prompt_tokens(const GenerateOptions& options, const Model& model,
                                       const std::string& prompt) {
  const std::string name = prompt_name(options);
  if (!prompt.empty()) return model.tokenize(prompt, options.parse_special, name);
  if (model.info().end_of_text_token < 0) {
    throw Failure(name + ": empty, and the model has no end-of-text token to start from");
  }
  return {model.info().end_of_text_token};
}

// One run: receives the pieces and prints them as they come.
class Generator {
 public:
  Generator(const GenerateOptions& options, const Model& model, Session& session,
            Generation& generation)
      : options_(options), model_(model), session_(session), generation_(generation) {}

  void generate() {
    if (streams_text() && !options_.hide_prompt) stream_.write_prompt(generation_.prompt);
    start_ = Clock::now();
    generation_.stop = prefill();
    if (generation_.stop == SOTTO_OK) generation_.stop = decode();
    generation_.total_seconds = seconds_since(start_);
    if (!options_.json) stream_.end_line();
  }

 private:
  bool streams_text() const { return !options_.json && !options_.log_probabilities; }

  sotto_status prefill() {
    const auto& tokens = generation_.prompt_tokens;
    const sotto_status status =
        sotto_session_prefill(session_.get(), tokens.data(), tokens.size());
    check(status, prompt_name(options_));
    if (status == SOTTO_STOP_CONTEXT_FULL) {
      throw Failure(prompt_name(options_) + ": " + std::to_string(tokens.size()) +
                    " tokens do not fit a context of " +
                    std::to_string(session_.info().context_tokens) +
                    "; shorten it, or use --overflow ring or shift");
    }
    return status;
  }

  sotto_status decode() {
    const size_t limit =
        options_.token_limit < 0 ? SIZE_MAX : static_cast<size_t>(options_.token_limit);
    const sotto_status status =
        sotto_session_generate(session_.get(), nullptr, 0, limit, on_piece, this);
    if (failure_) std::rethrow_exception(failure_);
    check(status, model_.path());
    return status;
  }

  // Exceptions must not pass through the library, which is C to its caller.
  static int32_t on_piece(void* user_data, const sotto_piece* piece) {
    auto* generator = static_cast<Generator*>(user_data);
    try {
      generator->receive(*piece);
      return 0;
    } catch (...) {
      generator->failure_ = std::current_exception();
      return 1;
    }
  }

  void receive(const sotto_piece& piece) {
    if (piece.token >= 0 && generation_.first_token_seconds < 0.0) {
      generation_.first_token_seconds = seconds_since(start_);
    }
    const std::string_view text(piece.text, piece.text_size);
    if (options_.json) {
      collect(piece, text);
    } else if (options_.log_probabilities) {
      write_log_probability(piece);
    } else {
      stream_.write(text);
    }
  }

  void collect(const sotto_piece& piece, std::string_view text) {
    generation_.text += text;
    if (piece.token < 0) return;
    generation_.tokens.push_back(piece.token);
    if (options_.log_probabilities) {
      generation_.log_probabilities.push_back(piece.log_probability);
    }
  }

  void write_log_probability(const sotto_piece& piece) {
    if (piece.token < 0) return;
    char columns[64];
    std::snprintf(columns, sizeof columns, "%7d %10.5f  ", piece.token,
                  static_cast<double>(piece.log_probability));
    stream_.write(columns + in_quotes(model_.detokenize({piece.token})) + '\n');
  }

  const GenerateOptions& options_;
  const Model& model_;
  Session& session_;
  Generation& generation_;
  TextStream stream_;
  Clock::time_point start_;
  std::exception_ptr failure_;
};

int run_generate(GenerateOptions options) {
  options.sampler.log_probabilities = options.log_probabilities ? 1 : 0;
  Generation generation;
  generation.prompt = read_prompt(options);

  const Clock::time_point load_start = Clock::now();
  const Model model(options.model);
  generation.prompt_tokens = prompt_tokens(options, model, generation.prompt);
  Session session(model, options.session);
  sotto_error error = no_error();
  check(sotto_session_set_sampler(session.get(), &options.sampler, &error), error, "sampler");
  generation.load_seconds = seconds_since(load_start);

  const CancelOnInterrupt cancel_on_interrupt(session.get());
  Generator(options, model, session, generation).generate();
  if (options.json) {
    print_json(generation, options, model, session);
  } else if (!options.quiet) {
    print_timings(generation, options, model, session);
  }
  return generation.stop == SOTTO_STOP_CANCELLED ? kExitInterrupted : kExitOk;
}

}  // namespace

void add_generate(CLI::App& app, Run& run) {
  auto options = std::make_shared<GenerateOptions>();
  CLI::App* command = app.add_subcommand("generate", "Continue a prompt, streaming the text");
  add_generate_options(*command, *options);
  command->callback([&run, options, command] {
    if (command->count("--prompt") + command->count("--file") == 0) {
      throw CLI::ValidationError("Give a prompt with -p TEXT, -p - or -f FILE");
    }
    run = [options] { return run_generate(*options); };
  });
}

}  // namespace sotto::cli
