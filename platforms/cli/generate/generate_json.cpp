// The JSON object that `sotto generate --json` prints.
#include "platforms/cli/generate/generate_json.h"

#include "platforms/cli/generate/generate_output.h"
#include "platforms/cli/options/sampler_json.h"
#include "platforms/cli/support/text.h"

namespace sotto::cli {
namespace {

Json phase(uint64_t tokens, uint64_t nanoseconds) {
  const double time = static_cast<double>(nanoseconds) * 1e-9;
  const bool has_rate = tokens > 0 && time > 0.0;
  return {{"tokens", tokens},
          {"seconds", time},
          {"tokens_per_second", has_rate ? Json(static_cast<double>(tokens) / time) : Json()}};
}

Json parameters_json(const GenerateOptions& options, const Model& model, const sotto_session_info& session) {
  Json object = {{"max_tokens", options.token_limit}};
  object.update(sampler_json(options.sampler.settings));
  object.update(stops_json(options.stops));
  if (options.search.is_on) object["search"] = search_json(options.search);
  if (options.grammar.is_on()) object["grammar"] = grammar_json(options.grammar);
  if (options.guide.is_on()) object["guide"] = guide_json(options.guide);
  if (options.drafts.is_on()) object["draft"] = draft_json(options.drafts);
  object.update(Json{{"context_tokens", session.context_tokens},
                     {"batch_tokens", session.batch_tokens},
                     {"threads", session.thread_count},
                     {"overflow", name_of(overflow_names(), options.session.overflow)},
                     {"sink_tokens", session.sink_tokens},
                     {"isa", sotto_isa_text(model.info().isa)}});
  return object;
}

Json timings_json(const Generation& generation, const sotto_session_timings& timings) {
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

// Three lists, one entry a token.
void add_scores(const std::vector<TokenScore>& scores, bool with_alternatives, const Model& model, Json& object) {
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
    Json list = Json::array();
    for (const sotto_alternative& alternative : score.alternatives) {
      list.push_back({{"token", alternative.token},
                      {"text", to_utf8(model.text_of({alternative.token}))},
                      {"log_probability", number_json(alternative.log_probability)}});
    }
    lists.push_back(std::move(list));
  }
}

Json sequence_json(const Continuation& sequence, bool with_scores) {
  Json object = {{"text", sequence.text},
                 {"tokens", sequence.tokens},
                 {"score", sequence.score},
                 {"log_probability", sequence.log_probability},
                 {"stop", name_of(stop_names(), sequence.stop)},
                 {"index", sequence.index}};
  if (with_scores) object["log_probabilities"] = numbers_json(sequence.log_probabilities);
  return object;
}

}  // namespace

void print_json(const Generation& generation, const GenerateOptions& options, const Model& model,
                const Session& session) {
  const sotto_session_info info = session.info();
  Json object = {
      {"model", to_utf8(model.path())}, {"prompt", generation.prompt}, {"prompt_tokens", generation.prompt_tokens}};
  if (options.scores_prompt) {
    object["prompt_log_probabilities"] = numbers_json(generation.prompt_log_probabilities);
    object["prompt_perplexity"] = generation.prompt_perplexity;
  }
  object["text"] = generation.text;
  object["tokens"] = generation.tokens;
  if (options.search.is_on) {
    Json& list = object["sequences"] = Json::array();
    for (const Continuation& sequence : generation.sequences) {
      list.push_back(sequence_json(sequence, options.log_probabilities));
    }
  } else if (options.log_probabilities) {
    add_scores(generation.scores, options.alternative_count > 0, model, object);
  }
  object["stop"] = name_of(stop_names(), generation.stop);
  object["timings"] = timings_json(generation, session.timings());
  if (options.session.draft_tokens > 0) {
    object["speculation"] = speculation_json(speculation_info(session));
  }
  object["memory"] = {{"model_bytes", model.memory_size()},
                      {"session_bytes", info.memory_bytes},
                      {"kv_bytes", info.kv_bytes},
                      {"peak_resident_bytes", peak_resident_bytes()}};
  if (options.grammar.is_on()) {
    object["memory"]["grammar_bytes"] = generation.grammar_bytes;
    object["memory"]["matcher_bytes"] = generation.matcher_bytes;
  }
  object["parameters"] = parameters_json(options, model, info);
  TextStream().write(object.dump() + '\n');
}

}  // namespace sotto::cli
