// `sotto generate`: continues a prompt, streaming, or searches for several continuations.
#include "platforms/cli/generate/generate.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>

#include "platforms/cli/commands.h"
#include "platforms/cli/generate/report.h"
#include "platforms/cli/support/text.h"

namespace sotto::cli {
namespace {

// A signal handler has no other way to its session.
std::atomic<sotto_session*> running_session = nullptr;
static_assert(std::atomic<sotto_session*>::is_always_lock_free);

void on_interrupt(int) {
  if (sotto_session* session = running_session.load()) sotto_session_cancel(session);
}

// While an object of this class exists, the first Ctrl-C cancels the session and the second ends the program.
class CancelOnInterrupt {
 public:
  explicit CancelOnInterrupt(const Session& session) {
    running_session.store(session.c_session());
    sigaction(SIGINT, nullptr, &previous_);
    if (previous_.sa_handler == SIG_IGN) return;  // started with nohup or by a script's "&"
    struct sigaction action = {};
    action.sa_handler = on_interrupt;
    action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);  // the second one ends the program
    sigaction(SIGINT, &action, nullptr);
  }
  ~CancelOnInterrupt() {
    sigaction(SIGINT, &previous_, nullptr);
    running_session.store(nullptr);
  }
  CancelOnInterrupt(const CancelOnInterrupt&) = delete;
  CancelOnInterrupt& operator=(const CancelOnInterrupt&) = delete;

 private:
  struct sigaction previous_ = {};
};

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
TokenList prompt_tokens(const GenerateOptions& options, const LoadedModel& model, const std::string& prompt) {
  const std::string name = prompt_name(options);
  if (!prompt.empty()) return model.tokenize(prompt, options.parse_special, name);
  if (model.info().end_of_text_token < 0) {
    throw Failure(name + ": empty, and the model has no end-of-text token to start from");
  }
  return {model.info().end_of_text_token};
}

void load_state(const std::string& path, Session& session) {
  const std::string bytes = read_all(path);
  call(path, [&] { session.restore({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}); });
}

// After a search the best sequence is the one to continue.
void save_state(const std::string& path, const GenerateOptions& options, const Generation& generation,
                Session& session) {
  if (options.search.is_on && !generation.tokens.empty()) {
    const Status status = call("--save-state", [&] { return session.prefill(generation.tokens); });
    if (status == Status::cancelled) throw Failure("--save-state: interrupted", kExitInterrupted);
  }
  const std::vector<uint8_t> bytes = call(path, [&] { return session.save(); });
  write_all(path, {bytes.begin(), bytes.end()});
}

// Evaluates the prompt, with scores if asked for. Returns Status::ok or cancelled.
Status evaluate_prompt(const GenerateOptions& options, Session& session, Generation& generation) {
  const TokenList& tokens = generation.prompt_tokens;
  if (!options.has_prompt) return Status::ok;
  const std::string name = prompt_name(options);
  Status status;
  if (options.scores_prompt) {
    status = call_until_stop(name, [&] {
      generation.prompt_perplexity = session.score(tokens, &generation.prompt_log_probabilities).perplexity;
    });
  } else {
    status = call(name, [&] { return session.prefill(tokens); });
  }
  return status;
}

// A search takes two matcher sequences for each of its own. The tokens to roll back for a banned string are at most as
// many as its bytes.
std::optional<SessionGrammar> make_grammar(const GenerateOptions& options, const LoadedModel& model) {
  if (!options.grammar.is_on()) return std::nullopt;
  size_t longest = 0;
  for (const auto* texts : {&options.stops.params.stop_strings, &options.stops.params.banned_strings}) {
    for (const std::string& text : *texts) longest = std::max(longest, text.size());
  }
  SessionGrammar grammar = compile_for_session(options.grammar, model, 2 * options.session.sequence_count + 1,
                                               MatcherParams().rollback_count + static_cast<uint32_t>(longest));
  if (!options.quiet && !options.json) print_warnings(grammar.compiled);
  return grammar;
}

void print(const Generation& generation, const GenerateOptions& options, const LoadedModel& model,
           const Session& session) {
  if (options.json) return print_json(generation, options, model, session);
  if (options.search.is_on) {
    TextStream stream;
    print_sequences(generation, options, model, stream);
  }
  if (!options.quiet) print_timings(generation, options, model, session);
}

int run_generate(GenerateOptions options) {
  Generation generation;
  if (options.has_prompt) generation.prompt = read_prompt(options);

  const Clock::time_point load_start = Clock::now();
  const LoadedModel model(options.model);
  read_generate_texts(options, model);
  if (options.has_prompt) generation.prompt_tokens = prompt_tokens(options, model, generation.prompt);
  std::optional<SessionGrammar> grammar = make_grammar(options, model);
  Session session = model.new_session(options.session);
  call("sampler", [&] { session.set_sampler(options.sampler.params); });
  call("stops", [&] { session.set_stops(options.stops.params); });
  if (options.drafts.is_on()) attach_drafts(session, options);
  if (!options.load_state.empty()) load_state(options.load_state, session);
  std::optional<Session> guide;
  if (options.guide.is_on()) guide = new_guide(options, model, generation.prompt_tokens);
  generation.load_seconds = seconds_since(load_start);
  if (grammar) {
    generation.grammar_bytes = grammar->compiled.grammar.size();
    generation.matcher_bytes = grammar->matcher.memory_size();
  }

  const CancelOnInterrupt cancel_on_interrupt(session);
  const Clock::time_point start = Clock::now();
  generation.stop = evaluate_prompt(options, session, generation);
  if (generation.stop == Status::ok) {
    if (guide) call("guide", [&] { session.set_guide(*guide, options.guide.params); });
    if (grammar) call("grammar", [&] { session.set_matcher(grammar->matcher); });
    if (options.stops.heals) call("--token-healing", [&] { session.heal(); });
    const auto run = options.search.is_on ? generate_sequences : generate_stream;
    run(options, model, session, start, generation);
  }
  generation.total_seconds = seconds_since(start);
  print(generation, options, model, session);
  if (!generation.failure.empty()) throw Failure(generation.failure);
  if (!options.save_state.empty()) save_state(options.save_state, options, generation, session);
  return generation.stop == Status::cancelled ? kExitInterrupted : kExitOk;
}

}  // namespace

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

Failure session_failure(const std::string& subject, const Error& error) {
  if (error.status() == SOTTO_GRAMMAR_TOO_LARGE) {
    return Failure("grammar: more memory or steps needed than allowed; --grammar-memory allows more");
  }
  return failure_of(error.status() == SOTTO_GRAMMAR_DEAD_END ? "grammar" : subject, error);
}

void add_generate(CLI::App& app, Run& run) {
  auto options = std::make_shared<GenerateOptions>();
  CLI::App* command = app.add_subcommand("generate", "Continue a prompt, streaming the text");
  add_generate_options(*command, *options);
  command->callback([&run, options, command] {
    validate_generate_options(*command, *options);
    run = [options] { return run_generate(*options); };
  });
}

}  // namespace sotto::cli
