// `sotto generate`: continues a prompt, streaming, or searches for several continuations.
#include "platforms/cli/generate/generate.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <filesystem>
#include <memory>
#include <optional>

#include "platforms/cli/commands.h"
#include "platforms/cli/generate/beams_view.h"
#include "platforms/cli/generate/report.h"
#include "platforms/cli/support/batcher.h"
#include "platforms/cli/support/interrupt.h"
#include "platforms/cli/support/output.h"
#include "platforms/cli/support/parallel_requests.h"
#include "platforms/cli/support/text.h"

namespace sotto::cli {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

Failure session_failure(const std::string& subject, const Error& error) {
  if (error.status() == SOTTO_GRAMMAR_TOO_LARGE) {
    return Failure("grammar: more memory or steps needed than allowed; --grammar-memory allows more");
  }
  return failure_of(error.status() == SOTTO_GRAMMAR_DEAD_END ? "grammar" : subject, error);
}

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

// Returns the tokens of the prompt.
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

void load_state(const std::string& path, Session& session) {
  const std::string bytes = read_all(path);
  call(path, [&] { session.restore({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}); });
}

// Saves the session. After a search the best sequence is the one to continue.
void save_state(const std::string& path, const GenerateOptions& options, const Generation& generation,
                Session& session) {
  if (options.search.is_on && !generation.tokens.empty()) {
    const Status status = call("--save-state", [&] { return session.prefill(generation.tokens); });
    if (status == Status::cancelled) throw Failure("--save-state: interrupted", kExitInterrupted);
  }
  const std::vector<uint8_t> bytes = call(path, [&] { return session.save(); });
  write_all(path, {bytes.begin(), bytes.end()});
}

// Returns the prompt of the guide. Without a negative prompt, it is the last token of the prompt, as in transformers.
TokenList guide_prompt(const GuideOptions& options, const LoadedModel& model, const TokenList& prompt) {
  if (options.params.mode == SOTTO_GUIDE_CONTRAST) return prompt;
  if (options.negative_prompt.empty()) return {prompt.back()};
  return model.tokenize(options.negative_prompt, false, "--negative-prompt");
}

void check_vocabulary(const LoadedModel& weaker, const LoadedModel& model) {
  const uint32_t expected = model.info().vocabulary_size;
  const uint32_t size = weaker.info().vocabulary_size;
  if (size == expected) return;
  throw Failure("--contrastive-model: vocabulary_size is " + std::to_string(size) + "; it must be " +
                std::to_string(expected) + ", as in the model");
}

// Returns a session that can guide another one with `prompt`.
Session new_guide(const GenerateOptions& options, const LoadedModel& model, const LoadedModel* weaker,
                  const TokenList& prompt) {
  SessionParams params = options.session;
  params.features = 0;
  params.sequence_count = 0;
  params.sequence_tokens = 0;
  Session guide = (weaker != nullptr ? *weaker : model).new_session(params);
  const TokenList tokens = guide_prompt(options.guide, model, prompt);
  call("guide", [&] { return guide.prefill(tokens); });
  return guide;
}

// Enables speculation in `session`.
void attach_drafts(Session& session, const GenerateOptions& options) {
  SpeculationParams params = options.drafts.params;
  std::optional<Session> draft_session;
  if (!options.drafts.model.empty()) {
    if (!std::filesystem::exists(options.drafts.model)) {
      throw Failure("--draft: " + in_quotes(options.drafts.model) +
                    " is neither lookup, lookahead or early-exit nor a model file");
    }
    ModelOptions model_options = options.model;
    model_options.path = options.drafts.model;
    const LoadedModel model(model_options);
    SessionParams session_params = options.session;
    session_params.features = 0;
    session_params.draft_tokens = 0;
    session_params.context_tokens = std::min(session_params.context_tokens, model.info().max_context_tokens);
    draft_session = model.new_session(session_params);
    params.draft_session = &*draft_session;
  }
  call_with_options("--draft", [&] { session.set_speculation(params); });
}

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

// Evaluates the prompt, with scores if requested. Returns Status::ok or cancelled.
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

// Returns the number of tokens that can follow a prompt, or 0 without a limit, or if the prompt does not fit.
uint32_t max_new_tokens(const GenerateOptions& options, const Session& session, size_t prompt_size) {
  uint64_t count = options.token_limit < 0 ? UINT64_MAX : static_cast<uint64_t>(options.token_limit);
  const uint64_t context_size = session.info().context_tokens;
  if (options.session.overflow == SOTTO_OVERFLOW_STOP)
    count = std::min(count, context_size - std::min<uint64_t>(context_size, prompt_size));
  return count > UINT32_MAX ? 0 : static_cast<uint32_t>(count);
}

// Creates the grammar and its matcher.
std::optional<SessionGrammar> make_grammar(const GenerateOptions& options, const GrammarText& source,
                                           const LoadedModel& model, const Session& session, size_t prompt_size) {
  if (!options.grammar.is_on()) return std::nullopt;
  GrammarOptions grammar_options = options.grammar;
  if (options.finishes_by_default) {
    grammar_options.matcher.finish_within = max_new_tokens(options, session, prompt_size);
  }
  try {
    SessionGrammar grammar = compile_for_session(source, grammar_options, model, session, options.stops.params);
    if (!options.quiet && !options.json) print_warnings(grammar.compiled);
    return grammar;
  } catch (const Failure& failure) {
    // The limit was not given as an option.
    const std::string_view message = failure.what();
    if (!options.finishes_by_default || !message.starts_with("--finish-within is ")) throw;
    throw Failure("--max-tokens and the context leave " + std::to_string(grammar_options.matcher.finish_within) +
                  " tokens" + std::string(message.substr(message.find(';'))));
  }
}

// One text, token by token

// Prints the pieces of a stream, or collects them for --json.
class Streamer {
 public:
  Streamer(const GenerateOptions& options, const LoadedModel& model, Batcher& batcher, Clock::time_point start,
           Generation& generation)
      : options_(options), model_(model), batcher_(batcher), start_(start), generation_(generation) {}

  void run(Session& session) {
    if (!options_.json && !options_.log_probabilities && !options_.hide_prompt) {
      stream_.write_bold(shown_prompt(generation_));
      follows_id_ = !generation_.prompt_tokens.empty();
    }
    if (!options_.json && options_.scores_prompt) {
      print_prompt_scores(generation_, model_, stream_);
    }
    const size_t limit = options_.token_limit < 0 ? SIZE_MAX : static_cast<size_t>(options_.token_limit);
    try {
      const auto on_piece = [this](const Piece& piece) {
        receive(piece);
        return true;
      };
      generation_.stop = options_.parallel_count == 1 ? session.generate(limit, on_piece)
                                                      : batcher_.generate(session, limit, on_piece);
    } catch (const Error& error) {
      throw session_failure(model_.path(), error);
    }
    if (!options_.json) stream_.end_line();
  }

 private:
  void receive(const Piece& piece) {
    if (piece.token() >= 0 && generation_.first_token_seconds < 0.0) {
      generation_.first_token_seconds = seconds_since(start_);
    }
    if (options_.json) {
      collect(piece);
    } else if (options_.log_probabilities) {
      write_scores(piece);
    } else {
      write_text(piece);
    }
  }

  void write_text(const Piece& piece) {
    if (!generation_.prints_ids) return stream_.write(piece.text());
    if (piece.token() < 0) return;
    stream_.write((follows_id_ ? " " : "") + std::to_string(piece.token()));
    follows_id_ = true;
  }

  void collect(const Piece& piece) {
    if (options_.streams_json) write_event(piece);
    generation_.text += piece.text();
    if (piece.token() < 0) return;
    generation_.tokens.push_back(piece.token());
    if (options_.statistics) {
      generation_.statistics.push_back(
          {piece.entropy(), piece.effective_vocabulary(), piece.kept_count(), piece.repetitiveness()});
    }
    if (!options_.log_probabilities) return;
    const auto alternatives = piece.alternatives();
    generation_.scores.push_back(
        {piece.log_probability(), piece.sampled_log_probability(), {alternatives.begin(), alternatives.end()}});
  }

  void write_event(const Piece& piece) {
    Json event = piece_json(piece, options_, model_);
    if (!generation_.id.is_null()) event["id"] = generation_.id;
    stream_.write(event.dump() + '\n');
  }

  void write_scores(const Piece& piece) {
    if (piece.token() < 0) return;
    char columns[64];
    std::snprintf(columns, sizeof columns, "%7d %10.5f %10.5f  ", piece.token(),
                  static_cast<double>(piece.log_probability()), static_cast<double>(piece.sampled_log_probability()));
    stream_.write(columns + in_quotes(model_.text_of({piece.token()})) + '\n');
    for (const sotto_alternative& other : piece.alternatives()) {
      stream_.write("    " + score_line(other.token, other.log_probability, model_.text_of({other.token})) + '\n');
    }
  }

  const GenerateOptions& options_;
  const LoadedModel& model_;
  Batcher& batcher_;
  Clock::time_point start_;
  Generation& generation_;
  OutputWriter stream_;
  bool follows_id_ = false;
};

// Several continuations

// Scores the tokens of a continuation by evaluating them after the prompt, and rolls the session back. Returns
// Status::ok, context_full or cancelled.
Status score(Session& session, Continuation& continuation) {
  const TokenList& tokens = continuation.sequence.tokens;
  const SessionInfo info = session.info();
  if (tokens.empty()) return Status::ok;
  // If the ring overflowed, the session could not be rolled back.
  if (info.token_count + tokens.size() > info.context_tokens) return Status::context_full;
  const Status status = call_until_stop("--logprobs", [&] { session.score(tokens, &continuation.log_probabilities); });
  call("--logprobs", [&] { session.rewind(info.token_count); });
  return status;
}

void score_sequences(Session& session, Generation& generation) {
  for (Continuation& continuation : generation.sequences) {
    continuation.log_probabilities.assign(continuation.sequence.tokens.size(), NAN);
    if (generation.stop == Status::cancelled) continue;
    const Status status = score(session, continuation);
    if (status == Status::cancelled) generation.stop = status;
    if (status == Status::context_full) {
      generation.failure = "--logprobs: a sequence and the prompt do not fit a context of " +
                           std::to_string(session.info().context_tokens);
    }
  }
}

// Returns the text before the stop string that ended it, or through it with --include-stop. If several stop strings end
// at the same byte, the longest counts.
std::string cut_at_stop(const std::string& text, const StopParams& stops) {
  size_t end = std::string::npos;
  size_t size = 0;
  for (const std::string& stop : stops.stop_strings) {
    const size_t begin = text.find(stop);
    if (begin == std::string::npos || begin + stop.size() > end) continue;
    size = begin + stop.size() < end ? stop.size() : std::max(size, stop.size());
    end = begin + stop.size();
  }
  if (end == std::string::npos) return text;
  return text.substr(0, stops.include_stop_text != 0 ? end : end - size);
}

// Runs a search and returns its results. If it stopped without any, stores the reason in generation.stop.
std::vector<Sequence> search(const SearchParams& params, Session& session, Generation& generation) {
  try {
    return session.search(params, &generation.stop);
  } catch (const Error& error) {
    if (error.status() < 0) throw session_failure("search", error);
    generation.stop = Status{error.status()};
    return {};
  }
}

void generate_sequences(const GenerateOptions& options, const LoadedModel& model, Session& session,
                        Clock::time_point start, Generation& generation) {
  const StopParams& stops = options.stops.params;
  SearchParams params = options.search.params;
  Progress progress("searching", uint64_t{params.sequence_count} * params.max_tokens);
  uint64_t step_count = 0;
  BeamsView view(model, params, progress, !options.json);
  params.on_step = [&](uint32_t sequence, Token token) {
    if (view.is_on()) {
      view.add(sequence, token, session.info().step_parent);
    } else {
      progress.show(++step_count);
    }
    return true;
  };
  std::vector<Sequence> found = search(params, session, generation);
  view.erase();
  for (Sequence& sequence : found) {
    std::string text = to_utf8(model.text_of(sequence.tokens));
    if (sequence.stop == Status::stop_string) text = cut_at_stop(text, stops);
    generation.sequences.push_back({std::move(sequence), std::move(text), {}});
  }
  if (!generation.sequences.empty()) {
    const Continuation& best = generation.sequences.front();
    generation.first_token_seconds = seconds_since(start);
    generation.tokens = best.sequence.tokens;
    generation.text = best.text;
    if (generation.stop == Status::ok) generation.stop = best.sequence.stop;
  }
  if (options.log_probabilities) score_sequences(session, generation);
}

// The run

void print(const Generation& generation, const GenerateOptions& options, const LoadedModel& model,
           const Session& session) {
  if (options.json) {
    OutputWriter().write(result_json(generation, options, model, session).dump() + '\n');
    return;
  }
  if (options.search.is_on) {
    OutputWriter stream;
    print_sequences(generation, options, model, stream);
  }
  if (!options.quiet) print_timings(generation, options, model, session);
}

// Returns whether all texts are complete under the grammar. A text that a stop string ended counts as complete.
bool is_complete(const GenerateOptions& options, const SessionGrammar& grammar, const Generation& generation) {
  const auto is_wanted_end = [](Status stop) {
    return stop == Status::end_of_text || stop == Status::grammar || stop == Status::stop_string ||
           stop == Status::stop_token;
  };
  if (!options.search.is_on) {
    return is_wanted_end(generation.stop) || call("grammar", [&] { return grammar.matcher.info(); }).may_end != 0;
  }
  return !generation.sequences.empty() &&
         std::all_of(generation.sequences.begin(), generation.sequences.end(),
                     [&](const Continuation& continuation) { return is_wanted_end(continuation.sequence.stop); });
}

// The parts that all requests of a process share: the models and the grammar's source.
class Engine {
 public:
  explicit Engine(const GenerateOptions& options) : model_(options.model) {
    model_.require_text();
    if (options.grammar.is_on()) source_ = read_grammar(options.grammar);
    if (options.guide.params.mode == SOTTO_GUIDE_CONTRAST) {
      ModelOptions weaker = options.model;
      weaker.path = options.guide.contrastive_model;
      weaker_.emplace(weaker);
      check_vocabulary(*weaker_, model_);
    }
  }

  const LoadedModel& model() const { return model_; }
  const LoadedModel* weaker() const { return weaker_ ? &*weaker_ : nullptr; }
  const GrammarText& source() const { return source_; }
  Batcher& batcher() { return batcher_; }

 private:
  LoadedModel model_;
  std::optional<LoadedModel> weaker_;
  GrammarText source_ = {};
  Batcher batcher_;
};

// The session of one request after the other, which is created again only if a request needs another one.
class Worker {
 public:
  explicit Worker(Engine& engine) : engine_(engine) {}

  Engine& engine() { return engine_; }
  Session& session() { return *session_; }

  // Returns an empty session.
  Session& session_for(const GenerateOptions& options) {
    if (session_ && std::memcmp(&params_, &options.session, sizeof(sotto_session_params)) == 0) {
      session_->reset();
      session_->reset_timings();
      session_->clear_matcher();
      session_->clear_guide();
      return *session_;
    }
    params_ = options.session;
    session_.emplace(engine_.model().new_session(params_));
    if (options.drafts.is_on()) attach_drafts(*session_, options);
    return *session_;
  }

 private:
  Engine& engine_;
  SessionParams params_;
  std::optional<Session> session_;
};

// Continues the prompt of `generation`.
void run_request(GenerateOptions& options, Worker& worker, Clock::time_point load_start, Generation& generation) {
  Engine& engine = worker.engine();
  const LoadedModel& model = engine.model();
  read_generate_texts(options, model);
  limit_lengths(options, generation.prompt_tokens.size());
  Session& session = worker.session_for(options);
  std::optional<SessionGrammar> grammar =
      make_grammar(options, engine.source(), model, session, generation.prompt_tokens.size());
  call_with_options("sampler", [&] { session.set_sampler(options.sampler.params); });
  call_with_options("stops", [&] { session.set_stops(options.stops.params); });
  if (!options.load_state.empty()) load_state(options.load_state, session);
  std::optional<Session> guide;
  if (options.guide.is_on()) guide = new_guide(options, model, engine.weaker(), generation.prompt_tokens);
  generation.load_seconds = seconds_since(load_start);
  if (grammar) {
    generation.grammar_bytes = grammar->compiled.grammar.size();
    generation.matcher_bytes = grammar->matcher.memory_size();
  }

  std::optional<CancelOnInterrupt> cancel_on_interrupt;
  if (!options.jsonl) cancel_on_interrupt.emplace(session);
  const Clock::time_point start = Clock::now();
  generation.stop = evaluate_prompt(options, session, generation);
  if (generation.stop == Status::ok) {
    if (guide) call("guide", [&] { session.set_guide(*guide, options.guide.params); });
    if (grammar) call("grammar", [&] { session.set_matcher(grammar->matcher); });
    if (options.heals) call("--token-healing", [&] { session.heal(); });
    if (options.search.is_on) {
      generate_sequences(options, model, session, start, generation);
    } else {
      Streamer(options, model, engine.batcher(), start, generation).run(session);
    }
  }
  generation.total_seconds = seconds_since(start);
  if (grammar) generation.is_complete = is_complete(options, *grammar, generation);
}

int run_generate(GenerateOptions options) {
  Generation generation;
  if (options.has_prompt && options.ids.empty()) generation.prompt = read_prompt(options);
  const Clock::time_point load_start = Clock::now();
  Engine engine(options);
  Worker worker(engine);
  const LoadedModel& model = engine.model();
  generation.prints_ids = !options.ids.empty() || model.info().has_tokenizer == 0;
  if (options.has_prompt) generation.prompt_tokens = prompt_tokens(options, model, generation.prompt);
  if (!options.ids.empty()) generation.prompt = model.text_of(generation.prompt_tokens);
  run_request(options, worker, load_start, generation);
  Session& session = worker.session();
  print(generation, options, model, session);
  if (!generation.failure.empty()) throw Failure(generation.failure);
  if (!options.save_state.empty()) save_state(options.save_state, options, generation, session);
  if (generation.stop == Status::cancelled) return kExitInterrupted;
  if (generation.is_complete) return kExitOk;
  std::fprintf(stderr, "sotto: the text is not complete under the grammar; it was stopped by %s\n",
               name_of_stop(generation.stop));
  return kExitIncomplete;
}

// JSON lines

// Answers {"prompt": ...} or {"ids": [...]} with the object of --json. `options` are as parsed, because "params" change
// them before they are validated. Sets `is_complete` to false if the text is not complete under the grammar.
Json answer_request(const Command& command, GenerateOptions options, const Json& request, Worker& worker,
                    std::atomic<bool>& is_complete) {
  const Clock::time_point start = Clock::now();
  reject_other_members(request, {"prompt", "ids", "params", "id"});
  const Json* prompt = request.find("prompt");
  const Json* ids = request.find("ids");
  if ((prompt == nullptr) == (ids == nullptr)) throw Failure("give either \"prompt\" or \"ids\"");
  if (const Json* params = request.find("params")) read_request_params(command, *params, options);
  validate_generate_options(command, options);
  Generation generation;
  if (const Json* id = request.find("id")) generation.id = *id;
  const LoadedModel& model = worker.engine().model();
  if (ids != nullptr) {
    generation.prompt_tokens = model.check_ids(to_tokens(*ids, "ids"), "ids");
    generation.prompt = model.text_of(generation.prompt_tokens);
  } else {
    generation.prompt = to_text(*prompt, "prompt");
    generation.prompt_tokens = prompt_tokens(options, model, generation.prompt);
  }
  if (generation.prompt_tokens.empty()) throw Failure("ids is empty");
  run_request(options, worker, start, generation);
  if (!generation.failure.empty()) throw Failure(generation.failure);
  if (!generation.is_complete) is_complete = false;
  return result_json(generation, options, model, worker.session());
}

// `options` are as parsed, and `validated` are the same without the parameters of a request.
int run_lines(const Command& command, const GenerateOptions& options, const GenerateOptions& validated) {
  Engine engine(validated);
  std::atomic<bool> is_complete = true;
  std::deque<Worker> workers;
  std::vector<AnswerRequest> answers;
  for (uint32_t i = 0; i < options.parallel_count; ++i) {
    answers.emplace_back([&, &worker = workers.emplace_back(engine)](const Json& request) {
      try {
        return answer_request(command, options, request, worker, is_complete);
      } catch (const UsageError& error) {  // options and the request's parameters contradict each other
        throw Failure(error.what());
      }
    });
  }
  const bool all_valid = answers.size() == 1 ? answer_requests(answers[0]) : answer_requests_in_parallel(answers);
  return !all_valid ? kExitFailure : is_complete ? kExitOk : kExitIncomplete;
}

}  // namespace

Generation generate(GenerateOptions options, TokenList prompt,
                    const std::function<void(Session&, const Generation&)>& look) {
  options.json = true;  // collects the text
  const Clock::time_point load_start = Clock::now();
  Engine engine(options);
  Worker worker(engine);
  Generation generation;
  generation.prompt_tokens = std::move(prompt);
  run_request(options, worker, load_start, generation);
  if (!generation.failure.empty()) throw Failure(generation.failure);
  look(worker.session(), generation);
  return generation;
}

void declare_generate(Command& command, Run& run) {
  auto options = std::make_shared<GenerateOptions>();
  add_generate_options(command, *options);
  command.on_parsed([&run, options, &command] {
    GenerateOptions validated = *options;
    validate_generate_options(command, validated);
    run = [options, validated, &command] {
      return options->jsonl ? run_lines(command, *options, validated) : run_generate(validated);
    };
  });
}

}  // namespace sotto::cli
