#include "platforms/cli/generate/worker.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <type_traits>

#include "platforms/cli/generate/prompt.h"
#include "platforms/cli/generate/search.h"
#include "platforms/cli/generate/streamer.h"
#include "platforms/cli/support/interrupt.h"
#include "platforms/cli/support/text.h"

namespace sotto::cli {
namespace {

void load_state(const std::string& path, Session& session) {
  const std::string bytes = read_all(path);
  call(path, [&] { session.restore({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}); });
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
    if (!options.finishes_by_default || failure.parameter() != "finish_within") throw;
    const std::string& reason = failure.reason();
    const size_t requirement = std::min(reason.find(';'), reason.size());
    throw Failure("--max-tokens and the context leave " + std::to_string(grammar_options.matcher.finish_within) +
                  " tokens" + reason.substr(requirement));
  }
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

}  // namespace

Engine::Engine(const GenerateOptions& options) : model_(options.model) {
  model_.require_text();
  if (options.grammar.is_on()) source_ = read_grammar(options.grammar);
  if (options.guide.params.mode == SOTTO_GUIDE_CONTRAST) {
    ModelOptions weaker = options.model;
    weaker.path = options.guide.contrastive_model;
    weaker_.emplace(weaker);
    check_vocabulary(*weaker_, model_);
  }
}

Session& Worker::session_for(const GenerateOptions& options) {
  static_assert(std::has_unique_object_representations_v<sotto_session_params>, "equal parameters have equal bytes");
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

void Worker::run(GenerateOptions& options, Clock::time_point load_start, Generation& generation) {
  const LoadedModel& model = engine_.model();
  read_generate_texts(options, model);
  limit_lengths(options, generation.prompt_tokens.size());
  Session& session = session_for(options);
  std::optional<SessionGrammar> grammar =
      make_grammar(options, engine_.source(), model, session, generation.prompt_tokens.size());
  call_with_options("sampler", [&] { session.set_sampler(options.sampler.params); });
  call_with_options("stops", [&] { session.set_stops(options.stops.params); });
  if (!options.load_state.empty()) load_state(options.load_state, session);
  std::optional<Session> guide;
  if (options.guide.is_on()) guide = new_guide(options, model, engine_.weaker(), generation.prompt_tokens);
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
      Streamer(options, model, engine_.batcher(), start, generation).run(session);
    }
  }
  generation.total_seconds = seconds_since(start);
  if (grammar) generation.is_complete = is_complete(options, *grammar, generation);
}

}  // namespace sotto::cli
