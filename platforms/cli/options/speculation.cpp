// The options of speculative decoding: where drafts come from.
#include <algorithm>
#include <optional>

#include "platforms/cli/options/cli11.h"
#include "platforms/cli/options/generate.h"

namespace sotto::cli {
namespace {

constexpr char kDraftGroup[] = "Speculation";
constexpr uint32_t kMaxDraftTokens = 15;

constexpr struct {
  const char* name;
  uint32_t source;
} kDraftSources[] = {
    {"lookup", SOTTO_DRAFT_LOOKUP}, {"lookahead", SOTTO_DRAFT_LOOKAHEAD}, {"early-exit", SOTTO_DRAFT_EARLY_EXIT}};

void read_source(const std::string& name, DraftOptions& options) {
  for (const auto& known : kDraftSources) {
    if (name != known.name) continue;
    options.params.sources |= known.source;
    return;
  }
  if (!options.model.empty()) reject("--draft", "names two models, \"" + options.model + "\" and \"" + name + '"');
  options.model = name;
  options.params.sources |= SOTTO_DRAFT_SESSION;
}

// Rejects options of sources that are not used.
void require_sources(const CLI::App& command, uint32_t sources) {
  constexpr struct {
    const char* option;
    uint32_t sources;
    const char* names;
  } kOptions[] = {{"--draft-min-match", SOTTO_DRAFT_LOOKUP, "lookup"},
                  {"--draft-max-match", SOTTO_DRAFT_LOOKUP, "lookup"},
                  {"--draft-exit-layer", SOTTO_DRAFT_EARLY_EXIT, "early-exit"},
                  {"--draft-threshold", SOTTO_DRAFT_EARLY_EXIT | SOTTO_DRAFT_SESSION, "early-exit or a model"}};
  for (const auto& known : kOptions) {
    if (!is_given(command, known.option) || (sources & known.sources) != 0) continue;
    reject(known.option, std::string("has no effect without --draft ") + known.names);
  }
}

}  // namespace

void add_draft_options(CLI::App& command, DraftOptions& options) {
  add_texts(command, "--draft", options.sources,
            "Guess tokens and evaluate them together; the text stays the same. Guesses come from lookup (earlier "
            "text), lookahead, early-exit (the first layers), or a smaller model with the same vocabulary; repeatable",
            "KIND|FILE")
      ->check(file_name())
      ->group(kDraftGroup);
  add_value(command, "--draft-tokens,--draft-max,--num-draft-tokens", options.token_count,
            "Largest number of guesses at a time; 0: none, not even what a grammar forces", "N")
      ->check(CLI::Range(0u, kMaxDraftTokens).description(""))
      ->group(kDraftGroup);
  sotto_speculation_params& c_params = options.params;
  add_parameters(command, kSpeculationParameters, &c_params);
}

void validate_draft_options(const CLI::App& command, GenerateOptions& generate) {
  DraftOptions& options = generate.drafts;
  const bool has_search = generate.search.is_on;
  for (const std::string& name : options.sources) read_source(name, options);
  require_sources(command, options.params.sources);
  if (options.is_on() && options.token_count == 0) reject("--draft", "needs --draft-tokens of at least 1");
  if (options.is_on() && has_search) reject("--draft", "is for one text, not for searches");
  if (!has_search && (options.is_on() || generate.grammar.is_on())) {
    generate.session.draft_tokens = options.token_count;
  } else if (is_given(command, "--draft-tokens") && options.token_count > 0) {
    reject("--draft-tokens",
           has_search ? "is for one text, not for searches" : "has no effect without --draft or a grammar");
  }
}

void attach_drafts(Session& session, const GenerateOptions& options) {
  SpeculationParams params = options.drafts.params;
  std::optional<Session> draft_session;
  if (!options.drafts.model.empty()) {
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
  call("--draft", [&] { session.set_speculation(params); });
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

}  // namespace sotto::cli
