// The options of searches: several continuations of one prompt at once.
#include <algorithm>

#include "platforms/cli/options/cli11.h"
#include "platforms/cli/options/generate.h"
#include "platforms/cli/support/tokens.h"

namespace sotto::cli {
namespace {

constexpr char kSearchGroup[] = "Several sequences";
constexpr uint32_t kMaxSequences = 64;

using OptionList = std::vector<std::string>;

// Options for one text only.
const OptionList kStreamOptions = {"--banned-string", "--token-healing", "--guidance-scale", "--negative-prompt",
                                   "--contrastive-model"};
const OptionList kTruncations = {"--top-p",     "--min-p",           "--typical-p", "--top-a",
                                 "--tail-free", "--epsilon",         "--eta",       "--top-n-sigma",
                                 "--top-h",     "--xtc-probability", "--min-keep"};
const OptionList kTemperatures = {"--temp", "--temp-range", "--smoothing-factor"};
const OptionList kSelections = {"--selection", "--mirostat", "--adaptive-p"};

void check_count(const char* option, uint32_t count) {
  if (count < 1 || count > kMaxSequences) {
    reject(option, "is " + std::to_string(count) + "; it must be 1 to " + std::to_string(kMaxSequences));
  }
}

// Rejects options of the sampler that the search does not use.
void reject_unused(const CLI::App& command, const std::string& search, std::initializer_list<OptionList> lists,
                   const char* advice = "") {
  for (const OptionList& list : lists) {
    const std::string option = first_given(command, list);
    if (!option.empty()) reject(option, "has no effect with " + search + advice);
  }
}

void validate_beams(const CLI::App& command, SearchOptions& options) {
  const bool samples = is_given(command, "--do-sample") && options.do_sample;
  options.params.mode = samples ? SOTTO_SEARCH_BEAM_SAMPLE : SOTTO_SEARCH_BEAM;
  options.params.sequence_count = options.beam_count;
  options.params.return_count = options.return_count;
  reject_with(command, "--num-beams", {"--best-of", "--vote", "--penalty-alpha"});
  if (options.return_count > options.beam_count) reject("--n", "must be at most --num-beams");
  if (options.params.group_count < 1 || options.beam_count % options.params.group_count != 0) {
    reject("--num-beam-groups", "must divide --num-beams");
  }
  if (samples) {
    reject_with(command, "--do-sample", {"--greedy", "--num-beam-groups", "--force-phrase"});
  } else {
    reject_unused(command, "--num-beams", {kTemperatures, kTruncations, {"--top-k"}, kSelections},
                  "; --do-sample samples the beams");
  }
}

void validate_contrastive(const CLI::App& command, SearchOptions& options, SamplerParams& sampler) {
  options.params.mode = SOTTO_SEARCH_CONTRASTIVE;
  options.params.contrastive_alpha = options.penalty_alpha;
  if (is_given(command, "--top-k")) options.params.contrastive_k = sampler.top_k;
  if (options.params.contrastive_k < 2 || options.params.contrastive_k > kMaxSequences) {
    reject("--top-k", "must be 2 to 64 with --penalty-alpha");
  }
  reject_with(command, "--penalty-alpha", {"--num-beams", "--best-of", "--vote", "--n"}, "it finds one text");
  if (options.do_sample) reject_with(command, "--do-sample", {"--penalty-alpha"});
  reject_unused(command, "--penalty-alpha", {kTemperatures, kTruncations, kSelections});
  sampler.top_k = 0;  // it has become the search's
  sampler.top_p = 1.0f;
  sampler.min_p = 0.0f;
  sampler.temperature = 1.0f;
}

void validate_samples(const CLI::App& command, const SamplerParams& sampler, SearchOptions& options) {
  options.params.mode = SOTTO_SEARCH_SAMPLE;
  const bool has_pool = is_given(command, "--best-of");
  const bool votes = is_given(command, "--vote");
  const uint32_t pool = has_pool ? options.best_of : options.return_count;
  const char* pool_option = has_pool ? "--best-of" : "--n";
  check_count(pool_option, pool);
  if (options.return_count > pool) reject("--n", "must be at most --best-of");
  if (votes && pool < 2) reject("--vote", "needs --best-of or --n of at least 2");
  if (has_pool && !votes) options.params.rerank = SOTTO_RERANK_BEST;
  options.params.sequence_count = pool;
  options.params.return_count = options.return_count;
  const bool is_greedy = is_greedy_temperature(sampler) || sampler.selection == SOTTO_SELECT_GREEDY;
  if (is_greedy && pool > 1) reject(pool_option, "needs sampling: greedy texts are all the same");
}

void check_rest(const CLI::App& command, const SearchOptions& options, int64_t token_limit) {
  const std::string search = options.params.mode == SOTTO_SEARCH_CONTRASTIVE ? "--penalty-alpha"
                             : options.params.mode == SOTTO_SEARCH_SAMPLE
                                 ? first_given(command, {"--best-of", "--n", "--vote"})
                                 : "--num-beams";
  const std::string option = first_given(command, kStreamOptions);
  if (!option.empty()) reject(option, "cannot be combined with " + search);
  if (token_limit < 1) reject("--max-tokens", "must be at least 1 with " + search);
}

void require_beams(const CLI::App& command, const SearchOptions& options) {
  require_with(command, "--force-phrase", {"--num-beams"});
  for (const char* option : {"--length-penalty", "--length-norm"}) {
    reject_with(command, option, {"--vote"}, "votes do not look at the length");
  }
  require_needed_options(command, kSearchParameters);
  if (!is_given(command, "--num-beams") || options.beam_count >= 2) return;
  const std::string option = first_given(command, {"--num-beam-groups", "--diversity-penalty", "--force-phrase",
                                                   "--early-stopping", "--length-penalty", "--length-norm"});
  if (!option.empty()) reject(option, "needs --num-beams of at least 2");
}

}  // namespace

void add_search_options(CLI::App& command, SearchOptions& options) {
  const auto grouped = [](CLI::Option* option) { return option->group(kSearchGroup); };
  SearchParams& params = options.params;
  sotto_search_params& c_params = params;
  grouped(add_value(command, "--n,--num-return-sequences", options.return_count,
                    "Number of texts: sampled independently, or the best beams", "N"));
  grouped(add_value(command, "--best-of", options.best_of, "Sample N texts and return the most likely", "N"))
      ->default_str("");
  grouped(add_choice(command, "--vote", params.rerank,
                     "Of the texts of --n or --best-of, put the one first that is most like the others (exact: that "
                     "was sampled most often)",
                     Names(kRerankNames).subspan(2)))
      ->default_str("");
  grouped(add_value(command, "--num-beams,--beams,--beam-size", options.beam_count,
                    "Beam search with N beams; returns the best --n", "N"));
  grouped(command.add_flag(with_underscores("--do-sample,!--no-sample"), options.do_sample,
                           "Sample; with --num-beams the sampler selects the beams (--do-sample=false: --greedy)"));
  add_parameters(command, kSearchParameters, &c_params);
  grouped(add_texts(command, "--force-phrase,--force-words", options.phrases,
                    "Beams must contain TEXT, or one of the texts of a JSON list"));
  grouped(add_value(command, "--penalty-alpha", options.penalty_alpha,
                    "Contrastive search among the --top-k most likely tokens (4 unless given): weight of being unlike "
                    "the text so far",
                    "X"))
      ->default_str("");
}

void validate_search_options(const CLI::App& command, GenerateOptions& generate) {
  SearchOptions& options = generate.search;
  SamplerParams& sampler = generate.sampler.params;
  SessionParams& session = generate.session;
  if (!options.do_sample) {
    reject_with(command, "--do-sample", {"--temp", "--selection", "--mirostat", "--adaptive-p"}, "it is false");
    if (!is_given(command, "--num-beams")) sampler.temperature = 0.0f;
  } else {
    reject_with(command, "--do-sample", {"--greedy"});
  }
  require_beams(command, options);
  check_count("--num-beams", options.beam_count);
  check_count("--n", options.return_count);
  if (is_given(command, "--penalty-alpha") && options.penalty_alpha != 0.0f) {
    validate_contrastive(command, options, sampler);
    session.features |= SOTTO_FEATURE_HIDDEN_HISTORY;
  } else if (options.beam_count > 1) {
    validate_beams(command, options);
  } else if (options.return_count > 1 || is_given(command, "--best-of") || is_given(command, "--vote")) {
    validate_samples(command, sampler, options);
  } else {
    return;
  }
  check_rest(command, options, generate.token_limit);
  options.is_on = true;
  session.sequence_count =
      options.params.mode == SOTTO_SEARCH_CONTRASTIVE ? options.params.contrastive_k : options.params.sequence_count;
  session.sequence_tokens = static_cast<uint32_t>(std::min<int64_t>(generate.token_limit, UINT32_MAX));
  options.params.max_tokens = session.sequence_tokens;
}

void read_search_texts(SearchOptions& options, const LoadedModel& model) {
  const TokenReader reader(model);
  for (uint32_t group = 0; group < options.phrases.size(); ++group) {
    const std::string& word = options.phrases[group];
    std::vector<std::string> texts = {word};
    const auto list = nlohmann::json::parse(word, nullptr, false);
    if (list.is_array() && !parse_ids(word)) {
      if (list.empty()) throw Failure("--force-phrase: " + word + " contains no text", kExitUsage);
      texts.clear();
      for (const auto& text : list) {
        if (!text.is_string()) throw Failure("--force-phrase: " + word + " contains more than texts", kExitUsage);
        texts.push_back(text.get<std::string>());
      }
    }
    for (const std::string& text : texts) {
      for (TokenList& tokens : reader.variants(text, "--force-phrase")) {
        options.params.phrases.push_back(std::move(tokens));
        options.params.phrase_groups.push_back(group);
      }
    }
  }
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

}  // namespace sotto::cli
