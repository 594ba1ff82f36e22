#include "platforms/cli/options/generate.h"

#include <algorithm>
#include <optional>
#include <string>

#include "platforms/cli/options/base.h"
#include "platforms/cli/options/chain.h"
#include "platforms/cli/support/model.h"
#include "platforms/cli/support/text.h"
#include "platforms/command_line/help.h"

namespace sotto::cli {
namespace {

// The prompt, the output and saved states

void add_text_options(Command& command, GenerateOptions& options) {
  command.add_option("-p,--prompt", options.prompt, "The text to continue; -: standard input").metavar("TEXT");
  command
      .add_option("-f,--file", options.prompt_file,
                  "Read the prompt from a file, without its last line end, as with -p -")
      .metavar("FILE")
      .check(check_file_name)
      .excludes("--prompt");
  command
      .add_option("--ids", options.ids,
                  "Token ids of the prompt; the output is ids too, as for models without a tokenizer")
      .metavar("IDS...")
      .excludes("--prompt,--file");
  command
      .add_flag(
          "-e,--escape", options.has_escapes,
          "In the prompt, \\n, \\r, \\t, \\\\, \\', \\\" and \\xNN stand for the character or byte that they name")
      .excludes("--ids");
  command.add_flag("--parse-special", options.parse_special, kSpecialHelp);
  add_token_limit(command, options.token_limit, "Number of tokens to generate; -1: until a stop");
  add_value(command, "--max-length", options.max_length, "Number of tokens of the prompt and the new text together",
            "N")
      .shown_default("")
      .excludes("--max-tokens,--finish-within,--load-state");
  add_value(command, "--min-length", options.min_length,
            "No end of text before the prompt and the new text have N tokens together", "N")
      .shown_default("")
      .excludes("--min-new-tokens,--load-state");
}

void add_output_options(Command& command, GenerateOptions& options) {
  constexpr char kGroup[] = "Output";
  command.add_flag("--no-echo", options.hide_prompt, "Print only the continuation").group(kGroup);
  const auto set_alternatives = [&options](const std::string& text) {
    options.alternative_count = parse_number<uint32_t>("--logprobs", text);
  };
  command
      .add_option("--logprobs,--top-logprobs,--n-probs", set_alternatives,
                  "Print one line per token: id, ln p under the model, ln p as sampled, text, and the N most likely "
                  "tokens; with --json, lists",
                  Values::kOptional)
      .metavar("[N]")
      .implicit_value("0")
      .shown_default("0")
      .group(kGroup);
  command
      .add_flag("--echo-scores,--prompt-logprobs", options.scores_prompt,
                "Also print the tokens of the prompt with their ln p")
      .group(kGroup);
  command
      .add_flag("--statistics", options.statistics,
                "In JSON, report per token the entropy of the model's distribution, the effective vocabulary "
                "exp(entropy), the number of tokens that the sampler keeps, and the repetitiveness of the last tokens")
      .needs("--json,--stream-json,--jsonl")
      .group(kGroup);
  command.add_flag("-q,--quiet", options.quiet, "Print no timings").group(kGroup);
  command
      .add_flag("--json", options.json,
                "Print one JSON object at the end: text, tokens, stop reason, timings, parameters")
      .group(kGroup);
  command
      .add_flag("--stream-json", options.streams_json,
                "Print one JSON object per piece of text at once, {\"event\":\"piece\",...}, and at the end that of "
                "--json, with \"event\":\"end\"")
      .excludes("--json", "it prints that object, too")
      .group(kGroup);
  command
      .add_flag(
          "--jsonl", options.jsonl,
          "Answer each line {\"prompt\":TEXT} or {\"ids\":[...]} of standard input with the object of --json, and "
          "an invalid line with {\"error\":...,\"line\":N}; \"params\" of a line change the options, as in "
          "--params, and \"id\" is repeated")
      .excludes("--json", "all answers are JSON")
      .excludes("--prompt,--file,--ids,--escape,--load-state,--save-state", "lines have prompts of their own")
      .group(kGroup);
  add_value(command, "--parallel", options.parallel_count,
            "Number of lines of --jsonl that are answered at the same time, in one batch, with the same answers", "N")
      .needs("--jsonl")
      .excludes("--stream-json", "events of several lines would be mixed")
      .group(kGroup);
}

void add_state_options(Command& command, GenerateOptions& options) {
  add_value(command, "--load-state", options.load_state,
            "Continue a state of --save-state and append the prompt to it; needs the same model, --ctx and "
            "--overflow, and for the same text the same options; a grammar starts again",
            "FILE")
      .check(check_file_name)
      .excludes("--guidance-scale,--negative-prompt,--contrastive-model,--forced-last-token")
      .group(kSessionGroup);
  add_value(command, "--save-state", options.save_state, "Write the state of the session at the end", "FILE")
      .check(check_file_name)
      .group(kSessionGroup);
}

void add_token_healing(Command& command, bool& heals) {
  command
      .add_flag("--token-healing", heals,
                "For a prompt that ends inside a word: replace its last tokens by one that begins with the same text")
      .excludes("--guidance-scale,--negative-prompt")
      .group(kStopGroup);
}

void validate_state_options(const Command& command, const GenerateOptions& options) {
  if (options.has_prompt) return;
  reject_with(command, "--load-state", {"--token-healing", "--echo-scores"}, "there is no new prompt");
}

// Searches

constexpr char kSearchGroup[] = "Several sequences";

using OptionList = std::vector<std::string>;

// Options that apply only to a single text.
const OptionList kStreamOptions = {"--banned-string",   "--token-healing",     "--guidance-scale",
                                   "--negative-prompt", "--contrastive-model", "--stream-json"};
const OptionList kTemperatures = {"--temp", "--temp-range", "--smoothing-factor"};
const OptionList kSelections = {"--selection", "--mirostat", "--adaptive-p"};

// Returns the options of all truncations except --top-k. Contrastive search uses that one.
OptionList truncations() {
  OptionList options;
  for (const Parameter& parameter : kSamplerParameters) {
    const bool is_truncation = parameter.group == std::string_view("Truncation");
    if (is_truncation && parameter.json_name() != "top_k") options.push_back(parameter.option());
  }
  return options;
}

void check_count(const char* option, uint32_t count) {
  constexpr uint32_t kMax = SessionLimits::kMaxSequenceCount;
  if (count >= 1 && count <= kMax) return;
  reject(option, "is " + std::to_string(count) + "; it must be from 1 to " + std::to_string(kMax));
}

// Throws a UsageError for an option of the sampler that this search does not use.
void reject_unused(const Command& command, const std::string& search, std::initializer_list<OptionList> lists,
                   const char* advice = "") {
  for (const OptionList& list : lists) {
    const std::string option = first_given(command, list);
    if (!option.empty()) reject(option, "has no effect with " + search + advice);
  }
}

void validate_beams(const Command& command, SearchOptions& options) {
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
    reject_unused(command, "--num-beams", {kTemperatures, truncations(), {"--top-k"}, kSelections},
                  "; --do-sample samples the beams");
  }
}

void validate_contrastive(const Command& command, SearchOptions& options, SamplerParams& sampler) {
  options.params.mode = SOTTO_SEARCH_CONTRASTIVE;
  options.params.contrastive_alpha = options.penalty_alpha;
  if (is_given(command, "--top-k")) options.params.contrastive_k = sampler.top_k;
  const uint32_t k = options.params.contrastive_k, max_k = SearchLimits::kMaxContrastiveK;
  if (k < 2 || k > max_k) {
    reject("--top-k",
           "is " + std::to_string(k) + "; with --penalty-alpha it must be from 2 to " + std::to_string(max_k));
  }
  reject_with(command, "--penalty-alpha", {"--num-beams", "--best-of", "--vote", "--n"}, "it finds one text");
  if (options.do_sample) reject_with(command, "--do-sample", {"--penalty-alpha"});
  reject_unused(command, "--penalty-alpha", {kTemperatures, truncations(), kSelections});
  sampler.top_k = 0;  // --top-k has become contrastive_k
  sampler.top_p = 1.0f;
  sampler.min_p = 0.0f;
  sampler.temperature = 1.0f;
}

void validate_samples(const Command& command, const SamplerParams& sampler, SearchOptions& options) {
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

void check_rest(const Command& command, const SearchOptions& options, int64_t token_limit) {
  const std::string search = options.params.mode == SOTTO_SEARCH_CONTRASTIVE ? "--penalty-alpha"
                             : options.params.mode == SOTTO_SEARCH_SAMPLE
                                 ? first_given(command, {"--best-of", "--n", "--vote"})
                                 : "--num-beams";
  const std::string option = first_given(command, kStreamOptions);
  if (!option.empty()) reject(option, "cannot be combined with " + search);
  if (token_limit < 1) reject("--max-tokens", "must be at least 1 with " + search);
}

void require_beams(const Command& command, const SearchOptions& options) {
  if (!is_given(command, "--num-beams") || options.beam_count >= 2) return;
  const std::string option = first_given(command, {"--num-beam-groups", "--diversity-penalty", "--force-phrase",
                                                   "--early-stopping", "--length-penalty", "--length-norm"});
  if (!option.empty()) reject(option, "needs --num-beams of at least 2");
}

void add_search_options(Command& command, SearchOptions& options) {
  const auto grouped = [](Option& option) -> Option& { return option.group(kSearchGroup); };
  SearchParams& params = options.params;
  sotto_search_params& c_params = params;
  grouped(add_value(command, "--n,--num-return-sequences", options.return_count,
                    "Number of texts: sampled independently, or the best beams", "N"));
  grouped(add_value(command, "--best-of", options.best_of, "Sample N texts and return the most likely", "N"))
      .shown_default("");
  grouped(add_choice(command, "--vote", params.rerank,
                     "Put the text of --n or --best-of first that is most similar to all of them (exact: the most "
                     "frequent one)",
                     Names(kRerankNames).subspan(2)))
      .shown_default("")
      .excludes("--length-penalty,--length-norm", "--vote ignores the length");
  grouped(add_value(command, "--num-beams,--beams,--beam-size", options.beam_count,
                    "Beam search with N beams; returns the best --n", "N"));
  grouped(command.add_flag("--do-sample,!--no-sample", options.do_sample,
                           "Sample the text, or with --num-beams the beams; --do-sample=false is --greedy"));
  add_parameters(command, kSearchParameters, &c_params);
  grouped(add_texts(command, "--force-phrase,--force-words", options.phrases,
                    "Beams must contain TEXT, or one of the texts of a JSON list"))
      .needs("--num-beams");
  grouped(
      add_value(command, "--penalty-alpha", options.penalty_alpha,
                "Contrastive search among the --top-k most likely tokens (default 4): weight of the difference from "
                "the text so far",
                "X"))
      .shown_default("");
}

void validate_search_options(const Command& command, GenerateOptions& generate) {
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
    const std::optional<Json> value = try_parse_json(word);
    if (value && value->is_array() && !parse_ids(word)) {
      if (value->list().empty()) throw Failure("--force-phrase: " + word + " contains no text", kExitUsage);
      texts.clear();
      for (const Json& text : value->list()) {
        if (!text.is_string())
          throw Failure("--force-phrase: all elements of " + word + " must be strings", kExitUsage);
        texts.push_back(text.text());
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

// Guides

constexpr char kGuideGroup[] = "Guidance";

void add_guide_options(Command& command, GuideOptions& options) {
  sotto_guide_params& c_params = options.params;
  add_parameters(command, kGuideParameters, &c_params);
  add_value(command, "--negative-prompt,--cfg-negative-prompt", options.negative_prompt,
            "Classifier-free guidance: the text to move away from; by default the last token of the prompt", "TEXT")
      .group(kGuideGroup);
  add_value(command, "--contrastive-model", options.contrastive_model,
            "Contrastive decoding against this weaker model with the same vocabulary", "FILE")
      .check(check_file_name)
      .completes({}, kModelSuffix)
      .excludes("--guidance-scale,--negative-prompt")
      .group(kGuideGroup);
}

void validate_guide_options(const Command& command, GuideOptions& options) {
  if (is_given(command, "--contrastive-model")) {
    options.params.mode = SOTTO_GUIDE_CONTRAST;
  } else if (!first_given(command, {"--guidance-scale", "--negative-prompt"}).empty()) {
    options.params.mode = SOTTO_GUIDE_CFG;
  }
}

// Speculation

constexpr char kDraftGroup[] = "Speculation";

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

// Throws a UsageError for an option of a draft source that is not in use.
void require_sources(const Command& command, uint32_t sources) {
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

void add_draft_options(Command& command, DraftOptions& options) {
  std::vector<std::string> names;
  for (const auto& known : kDraftSources) names.emplace_back(known.name);
  add_texts(command, "--draft,--assistant-model", options.sources,
            "Speculative decoding, which does not change the text: draft with lookup (earlier text), lookahead, "
            "early-exit (the first layers), or a smaller model with the same vocabulary; repeatable",
            "KIND|FILE")
      .check(check_file_name)
      .completes(std::move(names), kModelSuffix)
      .group(kDraftGroup);
  add_value(command, "--draft-tokens,--draft-max,--num-draft-tokens", options.token_count,
            "Maximum number of draft tokens per evaluation; 0 disables all drafts, also of text that a grammar forces",
            "N")
      .group(kDraftGroup);
  const auto look_up = [&options](const std::string& text) {
    options.token_count = parse_number<uint32_t>("--prompt-lookup-num-tokens", text);
    options.sources.emplace_back("lookup");
  };
  command.add_option("--prompt-lookup-num-tokens", look_up, "The same as --draft lookup --draft-tokens N")
      .metavar("N")
      .excludes("--draft-tokens")
      .group(kDraftGroup);
  sotto_speculation_params& c_params = options.params;
  add_parameters(command, kSpeculationParameters, &c_params);
}

void validate_draft_options(const Command& command, GenerateOptions& generate) {
  DraftOptions& options = generate.drafts;
  const bool has_search = generate.search.is_on;
  constexpr uint32_t kMax = SessionLimits::kMaxDraftTokens;
  if (options.token_count > kMax) {
    reject("--draft-tokens",
           "is " + std::to_string(options.token_count) + "; it must be at most " + std::to_string(kMax));
  }
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

}  // namespace

void add_generate_options(Command& command, GenerateOptions& options) {
  add_model_option(command, options.model);
  add_base_options(command, options.sampler, options.stops, options.session, options.token_limit);
  add_text_options(command, options);
  add_sampler_options(command, options.sampler);
  add_stop_options(command, options.stops);
  add_token_healing(command, options.heals);
  add_grammar_options(command, options.grammar);
  add_search_options(command, options.search);
  add_guide_options(command, options.guide);
  add_draft_options(command, options.drafts);
  add_session_options(command, options.session);
  add_weight_options(command, options.model);
  add_state_options(command, options);
  add_output_options(command, options);
  command.set_footer(
      other_spellings(command) +
      "\n\nExamples:\n"
      "  sotto generate -m demo.sotto -p \"Once upon a time\" -n 200\n"
      "  sotto generate -m demo.sotto -p \"It was\" --temp 1.1 --top-k 0 --seed 7\n"
      "  sotto generate -m demo.sotto -p \"It was\" --mirostat 2 --dry-multiplier 0.8\n"
      "  sotto generate -m demo.sotto -p \"She said\" --stop '\"\\n\"' --banned-string Mr --bad-word the\n"
      "  sotto generate -m demo.sotto -p \"The end\" --num-beams 4 --n 2 -n 40\n"
      "  sotto generate -m demo.sotto -p \"The end\" --n 8 --vote ngram --json\n"
      "  sotto generate -m demo.sotto -p \"Her answer: \" --choices yes,no,perhaps\n"
      "  sotto generate -m demo.sotto -p \"Her data: \" --json-schema person.json\n"
      "  sotto generate -m demo.sotto -p \"It was \" --regex '[0-9]{1,2}:[0-9]{2}' --n 4\n"
      "  sotto generate -m demo.sotto -f chapter.txt --draft lookup --draft lookahead\n"
      "  sotto generate -m demo.sotto -f chapter.txt -n -1 --overflow ring\n"
      "  echo \"She said\" | sotto generate -m demo.sotto -p - --greedy --json\n"
      "  sotto generate -m demo.sotto --jsonl < prompts.jsonl > texts.jsonl");
}

void validate_generate_options(const Command& command, GenerateOptions& options) {
  options.has_prompt = options.jsonl || !first_given(command, {"--prompt", "--file", "--ids"}).empty();
  if (!options.has_prompt && !is_given(command, "--load-state")) {
    throw UsageError("Give a prompt with -p TEXT, -p -, -f FILE or --ids ID..., or several with --jsonl");
  }
  options.json = options.json || options.streams_json || options.jsonl;
  options.log_probabilities = is_given(command, "--logprobs") || options.scores_prompt;
  SamplerParams& sampler = options.sampler.params;
  validate_sampler_options(command, options.sampler);
  validate_stop_options(options.stops);
  validate_grammar_options(command, options.grammar);
  options.finishes_by_default = options.grammar.is_on() && !is_given(command, "--finish-within");
  const uint32_t finish_within = options.grammar.matcher.finish_within;
  if (finish_within != 0 && !is_given(command, "--max-tokens")) options.token_limit = finish_within;
  if (options.token_limit >= 0 && options.token_limit < finish_within) {
    reject("--finish-within", "is " + std::to_string(finish_within) + "; it must be at most --max-tokens, " +
                                  std::to_string(options.token_limit));
  }
  if (options.parallel_count < 1 || options.parallel_count > 64) {
    reject("--parallel", "is " + std::to_string(options.parallel_count) + "; it must be from 1 to 64");
  }
  validate_guide_options(command, options.guide);
  validate_search_options(command, options);
  validate_draft_options(command, options);
  validate_state_options(command, options);
  if (reads_standard_input(options.grammar) && (options.prompt == "-" || options.jsonl)) {
    reject(options.jsonl ? "--jsonl" : "--prompt", "standard input cannot be both the grammar and the prompt");
  }
  if (options.search.is_on && options.alternative_count > 0) {
    reject("--logprobs", "has no alternatives for several sequences; it must be 0");
  }
  if (options.search.is_on && options.statistics) reject("--statistics", "is not available for several sequences");
  sampler.log_probabilities = options.log_probabilities ? 1 : 0;
  sampler.alternative_count = options.alternative_count;
  sampler.statistics = options.statistics ? 1 : 0;
  if (is_given(command, "--forced-last-token")) {
    if (options.token_limit < 1) reject("--forced-last-token", "needs --max-tokens of at least 1");
    options.stops.params.max_tokens = static_cast<uint64_t>(options.token_limit);
  }
  if (sampler.dola != SOTTO_DOLA_OFF) options.session.features |= SOTTO_FEATURE_DOLA;
  if (options.guide.is_on()) options.session.features |= SOTTO_FEATURE_GUIDE;
}

void read_request_params(const Command& command, const Json& params, GenerateOptions& options) {
  if (params.contains("max_tokens")) {
    const std::string other = first_given(command, {"--max-length", "--finish-within"});
    if (!other.empty()) throw Failure("max_tokens cannot be combined with " + other);
  }
  read_params_json(params, options.sampler, options.stops, options.session, options.token_limit);
}

void limit_lengths(GenerateOptions& options, size_t prompt_size) {
  if (options.max_length != 0) {
    if (options.max_length <= prompt_size) {
      throw Failure("--max-length is " + std::to_string(options.max_length) +
                    "; it must be greater than the number of " + "tokens of the prompt, " +
                    std::to_string(prompt_size));
    }
    const auto rest = static_cast<uint32_t>(options.max_length - prompt_size);
    options.token_limit = rest;
    if (options.search.is_on) options.session.sequence_tokens = options.search.params.max_tokens = rest;
    if (options.stops.params.max_tokens != 0) options.stops.params.max_tokens = rest;
  }
  if (options.min_length > prompt_size) {
    options.sampler.params.min_new_tokens = static_cast<uint32_t>(options.min_length - prompt_size);
  }
}

void read_generate_texts(GenerateOptions& options, const LoadedModel& model) {
  read_sampler_texts(options.sampler, model);
  read_stop_texts(options.stops, model);
  read_trigger_tokens(options.grammar, model);
  read_search_texts(options.search, model);
  options.session.list_bytes = std::max(list_bytes(options.sampler.params), list_bytes(options.stops.params));
}

}  // namespace sotto::cli
