// The options of searches: several continuations of one prompt at once.
#include "platforms/cli/options/search_options.h"

#include <algorithm>

#include "platforms/cli/options/guide_options.h"
#include "platforms/cli/options/option_tools.h"
#include "platforms/cli/options/sampler_fields.h"
#include "platforms/cli/options/sampler_options.h"
#include "platforms/cli/options/stop_options.h"
#include "platforms/cli/support/failure.h"
#include "platforms/cli/support/token_text.h"

namespace sotto::cli {
namespace {

constexpr uint32_t kMaxSequences = 64;

using OptionList = std::vector<std::string>;

// Of one text only.
const OptionList kStreamOptions = {"--ban", "--heal", "--guidance-scale", "--negative-prompt", "--amateur"};
const OptionList kTruncations = {"--top-p",     "--min-p",           "--typical-p", "--top-a",
                                 "--tail-free", "--epsilon",         "--eta",       "--top-n-sigma",
                                 "--top-h",     "--xtc-probability", "--min-keep"};
const OptionList kTemperatures = {"--temp", "--temp-range", "--smoothing-factor"};
const OptionList kSelections = {"--selection", "--mirostat", "--adaptive-p"};

[[noreturn]] void refuse(const std::string& option, const std::string& why) { throw CLI::ValidationError(option, why); }

void check_count(const char* option, uint32_t count) {
  if (count < 1 || count > kMaxSequences) {
    refuse(option, "must be 1 to " + std::to_string(kMaxSequences));
  }
}

// `lists` are options of the sampler that the search does not use.
void refuse_unused(const CLI::App& command, const std::string& search, std::initializer_list<OptionList> lists,
                   const char* instead) {
  for (const OptionList& list : lists) {
    const std::string option = first_given(command, list);
    if (!option.empty()) refuse(option, "has no effect with " + search + instead);
  }
}

void settle_beams(const CLI::App& command, SearchOptions& options) {
  const bool samples = is_given(command, "--do-sample") && options.do_sample;
  options.params.mode = samples ? SOTTO_SEARCH_BEAM_SAMPLE : SOTTO_SEARCH_BEAM;
  options.params.sequence_count = options.beam_count;
  options.params.return_count = options.return_count;
  refuse_with(command, "--num-beams", {"--best-of", "--vote", "--penalty-alpha"});
  if (options.return_count > options.beam_count) {
    refuse("--n", "more sequences than --num-beams finds");
  }
  if (options.params.group_count < 1 || options.beam_count % options.params.group_count != 0) {
    refuse("--num-beam-groups", "must divide --num-beams");
  }
  if (samples) {
    refuse_with(command, "--do-sample", {"--greedy", "--num-beam-groups", "--phrase"});
  } else {
    refuse_unused(command, "--num-beams", {kTemperatures, kTruncations, {"--top-k"}, kSelections},
                  "; add --do-sample for beams that are sampled");
  }
}

void settle_contrastive(const CLI::App& command, SearchOptions& options, sotto_sampler_params& sampler) {
  options.params.mode = SOTTO_SEARCH_CONTRASTIVE;
  options.params.contrastive_alpha = options.penalty_alpha;
  if (is_given(command, "--top-k")) options.params.contrastive_k = sampler.top_k;
  if (options.params.contrastive_k < 2 || options.params.contrastive_k > kMaxSequences) {
    refuse("--top-k", "must be 2 to 64 with --penalty-alpha");
  }
  refuse_with(command, "--penalty-alpha", {"--num-beams", "--best-of", "--vote", "--n"}, "it finds one text");
  if (options.do_sample) refuse_with(command, "--do-sample", {"--penalty-alpha"});
  refuse_unused(command, "--penalty-alpha", {kTemperatures, kTruncations, kSelections}, "");
  sampler.top_k = 0;  // it has become the search's
  sampler.top_p = 1.0f;
  sampler.min_p = 0.0f;
  sampler.temperature = 1.0f;
}

void settle_parallel(const CLI::App& command, const sotto_sampler_params& sampler, SearchOptions& options) {
  options.params.mode = SOTTO_SEARCH_SAMPLE;
  const bool has_pool = is_given(command, "--best-of");
  const bool votes = is_given(command, "--vote");
  const uint32_t pool = has_pool ? options.best_of : options.return_count;
  const char* pool_option = has_pool ? "--best-of" : "--n";
  check_count(pool_option, pool);
  if (options.return_count > pool) refuse("--n", "more sequences than --best-of draws");
  if (votes && pool < 2) refuse("--vote", "needs --best-of or --n of at least 2");
  if (has_pool && !votes) options.params.rerank = SOTTO_RERANK_BEST;
  options.params.sequence_count = pool;
  options.params.return_count = options.return_count;
  const bool is_greedy = is_cold(sampler) || sampler.selection == SOTTO_SELECT_GREEDY;
  if (is_greedy && pool > 1) refuse(pool_option, "needs sampling: greedy texts are all the same");
}

void check_rest(const CLI::App& command, const SearchOptions& options, int64_t token_limit) {
  const std::string search = options.params.mode == SOTTO_SEARCH_CONTRASTIVE ? "--penalty-alpha"
                             : options.params.mode == SOTTO_SEARCH_SAMPLE
                                 ? first_given(command, {"--best-of", "--n", "--vote"})
                                 : "--num-beams";
  const std::string option = first_given(command, kStreamOptions);
  if (!option.empty()) refuse(option, "does not go with " + search);
  if (token_limit < 1) refuse("--max-tokens", "must be at least 1 with " + search);
}

void require_beams(const CLI::App& command, const SearchOptions& options) {
  for (const char* option : {"--num-beam-groups", "--diversity-penalty", "--phrase", "--early-stopping"}) {
    require_with(command, option, {"--num-beams"});
    if (is_given(command, option) && options.beam_count < 2) {
      refuse(option, "needs --num-beams of at least 2");
    }
  }
  require_with(command, "--diversity-penalty", {"--num-beam-groups"});
  for (const char* option : {"--length-penalty", "--length-norm"}) {
    require_with(command, option, {"--num-beams", "--best-of"});
    refuse_with(command, option, {"--vote"}, "votes do not look at the length");
    if (is_given(command, option) && is_given(command, "--num-beams") && options.beam_count < 2) {
      refuse(option, "needs --num-beams of at least 2");
    }
  }
}

}  // namespace

SearchOptions::SearchOptions() { sotto_search_params_init(&params, sizeof params); }

void add_search_options(CLI::App& command, SearchOptions& options) {
  const auto grouped = [](CLI::Option* option) { return option->group(kSearchGroup); };
  sotto_search_params& params = options.params;
  grouped(add_value(command, "--n,--num-return-sequences", options.return_count,
                    "So many texts: drawn independently, or the best beams", "N"));
  grouped(add_value(command, "--best-of", options.best_of, "Draw so many texts, and give the likeliest", "N"))
      ->default_str("");
  grouped(add_choice(command, "--vote", params.rerank,
                     "Put the text first that is most like the others (exact: is drawn most "
                     "often); of those of --n or --best-of",
                     rerank_names().subspan(2)))
      ->default_str("");
  grouped(add_value(command, "--num-beams,--beams,--beam-size", options.beam_count,
                    "Beam search with so many beams; the best --n are given", "N"));
  grouped(command.add_flag(spellings("--do-sample,!--no-sample"), options.do_sample,
                           "Sample; with --num-beams: beams are drawn by the sampler "
                           "(--do-sample=false: --greedy)"));
  grouped(add_value(command, "--length-penalty", params.length_penalty,
                    "Exponent of the length that scores are divided by", "X"));
  grouped(add_choice(command, "--length-norm", params.length_norm,
                     "What is raised to it: the length, or GNMT's (5 + length) / 6", length_norm_names()));
  grouped(add_choice(command, "--early-stopping", params.early_stopping, "When enough beams are finished, end",
                     early_stopping_names()));
  grouped(add_value(command, "--num-beam-groups", params.group_count, "Diverse beam search in so many groups", "N"));
  grouped(add_value(command, "--diversity-penalty", params.diversity_penalty,
                    "What a token loses for each earlier group that took it", "X"));
  grouped(add_texts(command, "--phrase,--force-words", options.phrase_words,
                    "Beams must contain TEXT; a JSON list: one of its texts"));
  grouped(add_value(command, "--penalty-alpha", options.penalty_alpha,
                    "Contrastive search among the --top-k likeliest (here 4 unless given): how "
                    "much unlikeness to the past counts",
                    "X"))
      ->default_str("");
}

void settle_search_options(const CLI::App& command, int64_t token_limit, SearchOptions& options,
                           sotto_sampler_params& sampler, sotto_session_params& session) {
  if (!options.do_sample) {
    refuse_with(command, "--do-sample", {"--temp", "--selection", "--mirostat", "--adaptive-p"}, "it is switched off");
    if (!is_given(command, "--num-beams")) sampler.temperature = 0.0f;
  } else {
    refuse_with(command, "--do-sample", {"--greedy"});
  }
  require_beams(command, options);
  check_count("--num-beams", options.beam_count);
  check_count("--n", options.return_count);
  if (is_given(command, "--penalty-alpha") && options.penalty_alpha != 0.0f) {
    settle_contrastive(command, options, sampler);
    session.features |= SOTTO_FEATURE_HIDDEN_HISTORY;
  } else if (options.beam_count > 1) {
    settle_beams(command, options);
  } else if (options.return_count > 1 || is_given(command, "--best-of") || is_given(command, "--vote")) {
    settle_parallel(command, sampler, options);
  } else {
    return;
  }
  check_rest(command, options, token_limit);
  options.is_on = true;
  session.sequence_count =
      options.params.mode == SOTTO_SEARCH_CONTRASTIVE ? options.params.contrastive_k : options.params.sequence_count;
  session.sequence_tokens = static_cast<uint32_t>(std::min<int64_t>(token_limit, UINT32_MAX));
  options.params.max_tokens = session.sequence_tokens;
}

void read_search_texts(SearchOptions& options, const Model& model) {
  const TokenReader reader(model);
  for (uint32_t group = 0; group < options.phrase_words.size(); ++group) {
    const std::string& word = options.phrase_words[group];
    std::vector<std::string> texts = {word};
    const auto list = nlohmann::json::parse(word, nullptr, false);
    if (list.is_array() && !parse_ids(word)) {
      if (list.empty()) throw Failure("--phrase: " + word + " holds no text", kExitUsage);
      texts.clear();
      for (const auto& text : list) {
        if (!text.is_string()) throw Failure("--phrase: " + word + " holds more than texts", kExitUsage);
        texts.push_back(text.get<std::string>());
      }
    }
    for (const std::string& text : texts) {
      for (Tokens& tokens : reader.variants(text, "--phrase")) {
        options.phrases.push_back(std::move(tokens));
        options.phrase_groups.push_back(group);
      }
    }
  }
}

Json search_json(const SearchOptions& options) {
  const sotto_search_params& params = options.params;
  Json object = {{"mode", name_of(search_names(), params.mode)},
                 {"sequence_count", params.sequence_count},
                 {"return_count", params.return_count},
                 {"max_tokens", params.max_tokens}};
  if (params.mode == SOTTO_SEARCH_CONTRASTIVE) {
    object["contrastive_k"] = params.contrastive_k;
    object["contrastive_alpha"] = number_json(params.contrastive_alpha);
    return object;
  }
  object["length_penalty"] = number_json(params.length_penalty);
  object["length_norm"] = name_of(length_norm_names(), params.length_norm);
  if (params.mode == SOTTO_SEARCH_SAMPLE) {
    object["choice"] = name_of(rerank_names(), params.rerank);
    return object;
  }
  object["early_stopping"] = name_of(early_stopping_names(), params.early_stopping);
  object["group_count"] = params.group_count;
  object["diversity_penalty"] = number_json(params.diversity_penalty);
  if (!options.phrases.empty()) {
    object["phrases"] = options.phrases;
    object["phrase_groups"] = options.phrase_groups;
  }
  return object;
}

}  // namespace sotto::cli
