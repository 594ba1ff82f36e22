// `sotto generate`: continues a prompt, streaming, or searches for several continuations.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "platforms/cli/commands.h"
#include "platforms/cli/generate/generate_json.h"
#include "platforms/cli/generate/generate_output.h"
#include "platforms/cli/generate/generate_run.h"
#include "platforms/cli/support/failure.h"
#include "platforms/cli/support/interrupt.h"
#include "platforms/cli/support/text.h"

namespace sotto::cli {
namespace {

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
Tokens prompt_tokens(const GenerateOptions& options, const Model& model, const std::string& prompt) {
  const std::string name = prompt_name(options);
  if (!prompt.empty()) return model.tokenize(prompt, options.parse_special, name);
  if (model.info().end_of_text_token < 0) {
    throw Failure(name + ": empty, and the model has no end-of-text token to start from");
  }
  return {model.info().end_of_text_token};
}

void set_sampler(const GenerateOptions& options, Session& session) {
  const SamplerView view(options.sampler.settings);
  sotto_error error = no_error();
  check(sotto_session_set_sampler(session.get(), view.params(), &error), error, "sampler");
}

void load_state(const GenerateOptions& options, Session& session) {
  const std::string bytes = read_all(options.state.load);
  sotto_error error = no_error();
  check(sotto_session_restore(session.get(), bytes.data(), bytes.size(), &error), error, options.state.load);
}

// Of a search's sequences the best is the one to go on with.
void save_state(const std::string& path, const GenerateOptions& options, const Generation& generation,
                const Session& session) {
  if (options.search.is_on && !generation.tokens.empty()) {
    const sotto_status status =
        sotto_session_prefill(session.get(), generation.tokens.data(), generation.tokens.size());
    check(status, "--save-state");
    if (status == SOTTO_STOP_CONTEXT_FULL) {
      throw Failure("--save-state: the best sequence and the prompt do not fit the context together");
    }
    if (status == SOTTO_STOP_CANCELLED) {
      throw Failure("--save-state: interrupted", kExitInterrupted);
    }
  }
  size_t size = 0;
  check(sotto_session_saved_size(session.get(), &size), path);
  std::string bytes(size, '\0');
  check(sotto_session_save(session.get(), bytes.data(), bytes.size(), &size), path);
  write_all(path, bytes);
}

// Evaluates the prompt, with scores if asked for. Returns SOTTO_OK or SOTTO_STOP_CANCELLED.
sotto_status evaluate_prompt(const GenerateOptions& options, Session& session, Generation& generation) {
  const Tokens& tokens = generation.prompt_tokens;
  if (!options.has_prompt) return SOTTO_OK;
  sotto_status status;
  if (options.scores_prompt) {
    sotto_score score = {};
    score.struct_size = sizeof score;
    generation.prompt_log_probabilities.assign(tokens.size(), NAN);
    status = sotto_session_score(session.get(), tokens.data(), tokens.size(),
                                 generation.prompt_log_probabilities.data(), &score);
    generation.prompt_perplexity = score.perplexity;
  } else {
    status = sotto_session_prefill(session.get(), tokens.data(), tokens.size());
  }
  check(status, prompt_name(options));
  if (status == SOTTO_STOP_CONTEXT_FULL) {
    throw Failure(prompt_name(options) + ": " + std::to_string(tokens.size()) + " tokens do not fit a context of " +
                  std::to_string(session.info().context_tokens) + "; shorten it, or use --overflow ring or shift");
  }
  return status;
}

// A session's searches need sequences of their own; what banned strings may take back depends
// on their length.
std::unique_ptr<GrammarGuard> make_grammar(const GenerateOptions& options, const Model& model) {
  if (!options.grammar.is_on()) return nullptr;
  size_t longest = 0;
  for (const auto* texts : {&options.stops.stop_strings, &options.stops.banned_strings}) {
    for (const std::string& text : *texts) longest = std::max(longest, text.size());
  }
  auto guard = std::make_unique<GrammarGuard>(options.grammar, model, 2 * options.session.sequence_count + 1,
                                              default_matcher_params().rollback_count + static_cast<uint32_t>(longest));
  if (!options.quiet && !options.json) {
    for (const std::string& warning : guard->grammar().warnings()) {
      std::fprintf(stderr, "sotto: warning: %s\n", to_utf8(warning).c_str());
    }
  }
  return guard;
}

struct Companions {
  const Guide* guide;           // may be null
  const GrammarGuard* grammar;  // may be null
};

void generate(const GenerateOptions& options, const Model& model, const Companions& companions, Session& session,
              Generation& generation) {
  const Clock::time_point start = Clock::now();
  generation.stop = evaluate_prompt(options, session, generation);
  if (generation.stop == SOTTO_OK) {
    if (companions.guide != nullptr) companions.guide->lead(session.get());
    if (companions.grammar != nullptr) companions.grammar->lead(session.get());
    if (options.stops.heals) check(sotto_session_heal(session.get()), "--heal");
    const auto run = options.search.is_on ? generate_sequences : generate_stream;
    run(options, model, session, start, generation);
  }
  generation.total_seconds = seconds_since(start);
}

void print(const Generation& generation, const GenerateOptions& options, const Model& model, const Session& session) {
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
  const Model model(options.model);
  read_generate_texts(options, model);
  if (options.has_prompt) {
    generation.prompt_tokens = prompt_tokens(options, model, generation.prompt);
  }
  std::unique_ptr<Guide> guide;  // guide, grammar and drafter outlive the session
  const Drafter drafter(options.drafts, options.model, options.session);
  const std::unique_ptr<GrammarGuard> grammar = make_grammar(options, model);
  Session session(model, options.session);
  set_sampler(options, session);
  set_stops(session.get(), options.stops);
  if (options.drafts.is_on()) drafter.lead(session.get());
  if (!options.state.load.empty()) load_state(options, session);
  if (options.guide.is_on()) {
    guide = std::make_unique<Guide>(options.guide, model, options.model, options.session, generation.prompt_tokens);
  }
  generation.load_seconds = seconds_since(load_start);

  const CancelOnInterrupt cancel_on_interrupt(session.get());
  if (grammar) {
    generation.grammar_bytes = grammar->grammar().size();
    generation.matcher_bytes = grammar->matcher_size();
  }
  generate(options, model, {guide.get(), grammar.get()}, session, generation);
  print(generation, options, model, session);
  if (!generation.failure.empty()) throw Failure(generation.failure);
  if (!options.state.save.empty()) {
    save_state(options.state.save, options, generation, session);
  }
  return generation.stop == SOTTO_STOP_CANCELLED ? kExitInterrupted : kExitOk;
}

}  // namespace

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

void check_session(sotto_status status, const sotto_error& error, const std::string& subject) {
  if (status == SOTTO_GRAMMAR_TOO_LARGE) {
    throw Failure("grammar: beyond its memory or the steps allowed; --grammar-memory allows more");
  }
  check(status, error, status == SOTTO_GRAMMAR_DEAD_END ? "grammar" : subject);
}

void add_generate(CLI::App& app, Run& run) {
  auto options = std::make_shared<GenerateOptions>();
  CLI::App* command = app.add_subcommand("generate", "Continue a prompt, streaming the text");
  add_generate_options(*command, *options);
  command->callback([&run, options, command] {
    settle_generate_options(*command, *options);
    run = [options] { return run_generate(*options); };
  });
}

}  // namespace sotto::cli
