// The options of speculative decoding: where drafts come from, and how they fared.
#include "platforms/cli/options/draft_options.h"

#include <algorithm>

#include "platforms/cli/options/option_tools.h"
#include "platforms/cli/support/failure.h"

namespace sotto::cli {
namespace {

constexpr uint32_t kMostDraftTokens = 15;

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
  if (!options.model.empty()) {
    throw CLI::ValidationError("--draft", "names two models, \"" + options.model + "\" and \"" + name + '"');
  }
  options.model = name;
  options.params.sources |= SOTTO_DRAFT_SESSION;
}

// Options of sources that were not named.
void refuse_unused(const CLI::App& command, uint32_t sources) {
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
    throw CLI::ValidationError(known.option, std::string("has no effect without --draft ") + known.names);
  }
}

}  // namespace

DraftOptions::DraftOptions() {
  sotto_speculation_params_init(&params, sizeof params);
  params.sources = 0;
}

void add_draft_options(CLI::App& command, DraftOptions& options) {
  add_texts(command, "--draft", options.sources,
            "Guess tokens and evaluate them ahead; the text stays the same. Guesses from: lookup "
            "(what came before), lookahead, early-exit (the first layers), or a smaller model of "
            "the same vocabulary; repeatable",
            "KIND|FILE")
      ->check(file_name())
      ->group(kDraftGroup);
  add_value(command, "--draft-tokens,--draft-max,--num-draft-tokens", options.token_count,
            "Most guesses at a time; 0: none, not even what a grammar forces", "N")
      ->check(CLI::Range(0u, kMostDraftTokens).description(""))
      ->group(kDraftGroup);
  add_value(command, "--draft-min-match,--prompt-lookup-min", options.params.min_match,
            "lookup: fewest last tokens that must have come before", "N")
      ->group(kDraftGroup);
  add_value(command, "--draft-max-match,--prompt-lookup-max", options.params.max_match,
            "lookup: the most that are compared", "N")
      ->group(kDraftGroup);
  add_value(command, "--draft-threshold,--draft-p-min", options.params.draft_threshold,
            "early-exit and models: least probability of a guess", "P")
      ->group(kDraftGroup);
  add_value(command, "--draft-exit-layer", options.params.exit_layer, "early-exit: layers evaluated", "N")
      ->default_str("a third")
      ->group(kDraftGroup);
}

void settle_draft_options(const CLI::App& command, bool has_search, bool has_grammar, DraftOptions& options,
                          sotto_session_params& session) {
  for (const std::string& name : options.sources) read_source(name, options);
  refuse_unused(command, options.params.sources);
  if (options.is_on() && options.token_count == 0) {
    throw CLI::ValidationError("--draft", "needs --draft-tokens of at least 1");
  }
  if (options.is_on() && has_search) {
    throw CLI::ValidationError("--draft", "is for one text, not for searches");
  }
  if (!has_search && (options.is_on() || has_grammar)) {
    session.draft_tokens = options.token_count;
  } else if (is_given(command, "--draft-tokens") && options.token_count > 0) {
    throw CLI::ValidationError("--draft-tokens", has_search ? "is for one text, not for searches"
                                                            : "has no effect without --draft or a grammar");
  }
}

Drafter::Drafter(const DraftOptions& options, const ModelOptions& model_options, sotto_session_params params)
    : params_(options.params) {
  if (options.model.empty()) return;
  ModelOptions smaller = model_options;
  smaller.path = options.model;
  model_ = std::make_unique<Model>(smaller);
  params.features = 0;
  params.draft_tokens = 0;
  params.context_tokens = std::min(params.context_tokens, model_->info().max_context_tokens);
  session_ = std::make_unique<Session>(*model_, params);
  params_.draft_session = session_->get();
}

void Drafter::lead(sotto_session* session) const {
  sotto_error error = no_error();
  check(sotto_session_set_speculation(session, &params_, &error), error, "--draft");
}

sotto_speculation_info speculation_info(const Session& session) {
  sotto_speculation_info info = {};
  info.struct_size = sizeof info;
  check(sotto_session_get_speculation_info(session.get(), &info), "speculation");
  return info;
}

Json draft_json(const DraftOptions& options) {
  Json object = {{"sources", options.sources}, {"max_tokens", options.token_count}};
  const sotto_speculation_params& params = options.params;
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

Json speculation_json(const sotto_speculation_info& info) {
  return {{"batches", info.batch_count},
          {"proposed", info.proposed_count},
          {"accepted", info.accepted_count},
          {"forced_proposed", info.forced_proposed_count},
          {"forced_accepted", info.forced_accepted_count},
          {"draft_seconds", static_cast<double>(info.draft_ns) * 1e-9}};
}

}  // namespace sotto::cli
