#include "platforms/cli/generate/report.h"

#include <cstdio>

#include "platforms/cli/options/sampler_json.h"
#include "platforms/cli/support/text.h"
#include "platforms/command_line/system.h"

namespace sotto::cli {
namespace {

Json stops_json(const StopOptions& options) {
  const sotto_stop_params& c_params = options.params;
  Json object = {{"stop", options.params.stop_strings},
                 {"stop_tokens", options.params.stop_tokens},
                 {"max_time", options.max_seconds},
                 {"banned_strings", options.params.banned_strings}};
  object.update(parameters_json(kStopParameters, &c_params));
  return object;
}

Json search_json(const SearchParams& params) {
  Json object = {{"mode", name_of(kSearchModeNames, params.mode)},
                 {"sequence_count", params.sequence_count},
                 {"return_count", params.return_count},
                 {"max_tokens", params.max_tokens}};
  if (params.mode == SOTTO_SEARCH_CONTRASTIVE) {
    object["contrastive_k"] = params.contrastive_k;
    object["contrastive_alpha"] = number_json(params.contrastive_alpha);
    return object;
  }
  if (params.mode == SOTTO_SEARCH_SAMPLE) {
    object["length_penalty"] = number_json(params.length_penalty);
    object["length_norm"] = name_of(kLengthNormNames, params.length_norm);
    object["rerank"] = name_of(kRerankNames, params.rerank);
    return object;
  }
  const sotto_search_params& c_params = params;
  object.update(parameters_json(kSearchParameters, &c_params));
  if (!params.phrases.empty()) {
    object["phrases"] = params.phrases;
    object["phrase_groups"] = params.phrase_groups;
  }
  return object;
}

Json guide_json(const GuideOptions& options) {
  Json object = {{"mode", name_of(kGuideModeNames, options.params.mode)}};
  if (options.params.mode == SOTTO_GUIDE_CFG) {
    object["scale"] = number_json(options.params.scale);
    object["negative_prompt"] = options.negative_prompt;
  } else {
    object["contrastive_model"] = options.contrastive_model;
    object["alpha"] = number_json(options.params.alpha);
    object["beta"] = number_json(options.params.beta);
  }
  return object;
}

Json draft_json(const DraftOptions& options) {
  Json object = {{"sources", options.sources}, {"max_tokens", options.token_count}};
  const SpeculationParams& params = options.params;
  if ((params.sources & SOTTO_DRAFT_LOOKUP) != 0) {
    object["min_match"] = params.min_match;
    object["max_match"] = params.max_match;
  }
  if ((params.sources & SOTTO_DRAFT_EARLY_EXIT) != 0) object["exit_layer"] = params.exit_layer;
  if ((params.sources & (SOTTO_DRAFT_EARLY_EXIT | SOTTO_DRAFT_SESSION)) != 0) {
    object["threshold"] = number_json(params.draft_threshold);
  }
  return object;
}

Json speculation_json(const SpeculationInfo& info) {
  return {{"batches", info.batch_count},
          {"proposed", info.proposed_count},
          {"accepted", info.accepted_count},
          {"forced_proposed", info.forced_proposed_count},
          {"forced_accepted", info.forced_accepted_count},
          {"draft_seconds", static_cast<double>(info.draft_ns) * 1e-9}};
}

void print_phase(const char* name, uint64_t tokens, uint64_t nanoseconds) {
  const double time = static_cast<double>(nanoseconds) * 1e-9;
  std::fprintf(stderr, "%-12s %8s tokens %10s   %s\n", name, with_thousands(tokens).c_str(), duration(time).c_str(),
               rate(tokens, time).c_str());
}

std::string heading(size_t number, const Sequence& sequence) {
  char text[160];
  std::snprintf(text, sizeof text, "[%zu] score %.5g, ln p %.5g, %zu tokens, %s\n", number, sequence.score,
                sequence.log_probability, sequence.tokens.size(), name_of_stop(sequence.stop));
  return text;
}

void print_scores(const Continuation& continuation, const LoadedModel& model, OutputWriter& stream) {
  const TokenList& tokens = continuation.sequence.tokens;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const Token token = tokens[i];
    stream.write(score_line(token, continuation.log_probabilities[i], model.text_of({token})) + '\n');
  }
}

Json phase(uint64_t tokens, uint64_t nanoseconds) {
  const double time = static_cast<double>(nanoseconds) * 1e-9;
  const bool has_rate = tokens > 0 && time > 0.0;
  return {{"tokens", tokens},
          {"seconds", time},
          {"tokens_per_second", has_rate ? Json(static_cast<double>(tokens) / time) : Json()}};
}

Json run_parameters_json(const GenerateOptions& options, const LoadedModel& model, const SessionInfo& session) {
  Json object = {{"max_tokens", options.token_limit}};
  object.update(sampler_json(options.sampler.params));
  object.update(stops_json(options.stops));
  object["token_healing"] = options.heals;
  if (options.search.is_on) object["search"] = search_json(options.search.params);
  if (options.grammar.is_on()) object["grammar"] = grammar_json(options.grammar);
  if (options.guide.is_on()) object["guide"] = guide_json(options.guide);
  if (options.drafts.is_on()) object["draft"] = draft_json(options.drafts);
  object.update(Json{{"context_tokens", session.context_tokens},
                     {"batch_tokens", session.batch_tokens},
                     {"threads", session.thread_count},
                     {"overflow", name_of(kOverflowNames, options.session.overflow)},
                     {"sink_tokens", session.sink_tokens},
                     {"isa", sotto_isa_text(model.info().isa)}});
  return object;
}

Json timings_json(const Generation& generation, const SessionTimings& timings) {
  const double first = generation.first_token_seconds;
  return {{"load_seconds", generation.load_seconds},
          {"first_token_seconds", first >= 0.0 ? Json(first) : Json()},
          {"total_seconds", generation.total_seconds},
          {"prefill", phase(timings.prefill_tokens, timings.prefill_ns)},
          {"decode", phase(timings.decode_tokens, timings.decode_ns)},
          {"sample", phase(timings.sample_count, timings.sample_ns)},
          {"reanchor", phase(timings.reanchor_tokens, timings.reanchor_ns)}};
}

Json numbers_json(const std::vector<float>& numbers) {
  Json list = Json::array();
  for (const float number : numbers) list.push_back(number_json(number));
  return list;
}

Json alternatives_json(View<const sotto_alternative> alternatives, const LoadedModel& model) {
  Json list = Json::array();
  for (const sotto_alternative& alternative : alternatives) {
    list.push_back({{"token", alternative.token},
                    {"text", to_utf8(model.text_of({alternative.token}))},
                    {"log_probability", number_json(alternative.log_probability)}});
  }
  return list;
}

// Adds the scores to `object` as three lists with one entry per token.
void add_scores(const std::vector<TokenScore>& scores, bool with_alternatives, const LoadedModel& model, Json& object) {
  Json& model_values = object["log_probabilities"] = Json::array();
  for (const TokenScore& score : scores) {
    model_values.push_back(number_json(score.log_probability));
  }
  Json& sampled_values = object["sampled_log_probabilities"] = Json::array();
  for (const TokenScore& score : scores) {
    sampled_values.push_back(number_json(score.sampled_log_probability));
  }
  if (!with_alternatives) return;
  Json& lists = object["alternatives"] = Json::array();
  for (const TokenScore& score : scores) {
    lists.push_back(alternatives_json(score.alternatives, model));
  }
}

// Adds the statistics to `object` as lists with one entry per token.
void add_statistics(const std::vector<TokenStatistics>& statistics, Json& object) {
  for (const char* name : {"entropy", "effective_vocabulary", "kept", "repetitiveness"}) object[name] = Json::array();
  for (const TokenStatistics& token : statistics) {
    object["entropy"].push_back(number_json(token.entropy));
    object["effective_vocabulary"].push_back(number_json(token.effective_vocabulary));
    object["kept"].push_back(token.kept_count);
    object["repetitiveness"].push_back(number_json(token.repetitiveness));
  }
}

Json sequence_json(const Continuation& continuation, bool with_scores) {
  const Sequence& sequence = continuation.sequence;
  Json object = {{"text", continuation.text},
                 {"tokens", sequence.tokens},
                 {"score", sequence.score},
                 {"log_probability", sequence.log_probability},
                 {"stop", name_of_stop(sequence.stop)},
                 {"index", sequence.index}};
  if (with_scores) object["log_probabilities"] = numbers_json(continuation.log_probabilities);
  return object;
}

}  // namespace

const char* name_of_stop(Status stop) { return name_of(kStatusNames, static_cast<sotto_status>(stop)); }

std::string shown_prompt(const Generation& generation) {
  return generation.prints_ids ? ids_text(generation.prompt_tokens) : generation.prompt;
}

void print_prompt_scores(const Generation& generation, const LoadedModel& model, OutputWriter& stream) {
  for (size_t i = 0; i < generation.prompt_tokens.size(); ++i) {
    const Token token = generation.prompt_tokens[i];
    stream.write(score_line(token, generation.prompt_log_probabilities[i], model.text_of({token})) + '\n');
  }
  stream.write("\n");
}

void print_sequences(const Generation& generation, const GenerateOptions& options, const LoadedModel& model,
                     OutputWriter& stream) {
  const bool are_several = options.search.params.return_count > 1;
  if (!options.hide_prompt && !options.log_probabilities) {
    stream.write_bold(shown_prompt(generation));
    if (are_several) stream.end_line();
  }
  if (options.scores_prompt) print_prompt_scores(generation, model, stream);
  for (size_t i = 0; i < generation.sequences.size(); ++i) {
    const Continuation& continuation = generation.sequences[i];
    if (are_several) stream.write((i == 0 ? "" : "\n") + heading(i + 1, continuation.sequence));
    if (options.log_probabilities) {
      print_scores(continuation, model, stream);
    } else {
      const TokenList& tokens = continuation.sequence.tokens;
      const bool follows_prompt = !are_several && !options.hide_prompt && !generation.prompt_tokens.empty();
      stream.write(generation.prints_ids ? (follows_prompt ? " " : "") + ids_text(tokens) : continuation.text);
      stream.end_line();
    }
  }
  stream.end_line();
}

void print_timings(const Generation& generation, const GenerateOptions& options, const LoadedModel& model,
                   const Session& session) {
  const SessionTimings timings = session.timings();
  std::fprintf(stderr, "\n");
  print_phase("prefill", timings.prefill_tokens, timings.prefill_ns);
  print_phase("decode", timings.decode_tokens, timings.decode_ns);
  print_phase("sample", timings.sample_count, timings.sample_ns);
  if (timings.reanchor_tokens > 0) {
    print_phase("re-anchor", timings.reanchor_tokens, timings.reanchor_ns);
  }
  if (generation.first_token_seconds >= 0.0) {
    std::fprintf(stderr, "%-12s %s after the prompt, model loaded in %s\n", "first token",
                 duration(generation.first_token_seconds).c_str(), duration(generation.load_seconds).c_str());
  }
  std::fprintf(stderr, "%-12s %s model, %s session, %s resident at most\n", "memory",
               byte_size(model.get().memory_size()).c_str(), byte_size(session.info().memory_bytes).c_str(),
               byte_size(peak_resident_bytes()).c_str());
  if (options.grammar.is_on()) {
    std::fprintf(stderr, "%-12s %s, matcher %s\n", "grammar", byte_size(generation.grammar_bytes).c_str(),
                 byte_size(generation.matcher_bytes).c_str());
  }
  if (options.session.draft_tokens > 0) {
    const SpeculationInfo info = session.speculation_info();
    std::fprintf(stderr, "%-12s %8s of %s accepted, %s of them forced by the grammar\n", "drafts",
                 with_thousands(info.accepted_count).c_str(), with_thousands(info.proposed_count).c_str(),
                 with_thousands(info.forced_accepted_count).c_str());
  }
  const auto seed = static_cast<unsigned long long>(options.sampler.params.seed);
  std::fprintf(stderr, "%-12s %s; the seed was %llu\n", "stopped by", name_of_stop(generation.stop), seed);
}

Json result_json(const Generation& generation, const GenerateOptions& options, const LoadedModel& model,
                 const Session& session) {
  const SessionInfo info = session.info();
  Json object = Json::object();
  if (options.streams_json) object["event"] = "end";
  object["model"] = to_utf8(model.path());
  object["prompt"] = generation.prompt;
  object["prompt_tokens"] = generation.prompt_tokens;
  if (options.scores_prompt) {
    object["prompt_log_probabilities"] = numbers_json(generation.prompt_log_probabilities);
    object["prompt_perplexity"] = generation.prompt_perplexity;
  }
  object["text"] = generation.text;
  object["tokens"] = generation.tokens;
  if (options.search.is_on) {
    Json& list = object["sequences"] = Json::array();
    for (const Continuation& continuation : generation.sequences) {
      list.push_back(sequence_json(continuation, options.log_probabilities));
    }
  } else if (options.log_probabilities) {
    add_scores(generation.scores, options.alternative_count > 0, model, object);
  }
  if (options.statistics) add_statistics(generation.statistics, object);
  object["stop"] = name_of_stop(generation.stop);
  if (options.grammar.is_on()) object["complete"] = generation.is_complete;
  object["timings"] = timings_json(generation, session.timings());
  if (options.session.draft_tokens > 0) {
    object["speculation"] = speculation_json(session.speculation_info());
  }
  object["memory"] = {{"model_bytes", model.get().memory_size()},
                      {"session_bytes", info.memory_bytes},
                      {"kv_bytes", info.kv_bytes},
                      {"peak_resident_bytes", peak_resident_bytes()}};
  if (options.grammar.is_on()) {
    object["memory"]["grammar_bytes"] = generation.grammar_bytes;
    object["memory"]["matcher_bytes"] = generation.matcher_bytes;
  }
  object["parameters"] = run_parameters_json(options, model, info);
  return object;
}

Json piece_json(const Piece& piece, const GenerateOptions& options, const LoadedModel& model) {
  Json event = {{"event", "piece"}, {"text", std::string(piece.text())}};
  if (piece.token() < 0) return event;
  event["token"] = piece.token();
  if (!options.log_probabilities) return event;
  event["log_probability"] = number_json(piece.log_probability());
  event["sampled_log_probability"] = number_json(piece.sampled_log_probability());
  if (options.alternative_count > 0) event["alternatives"] = alternatives_json(piece.alternatives(), model);
  return event;
}

}  // namespace sotto::cli
