// `sotto compare` continues one prompt with several strategies, and shows their texts and measures of them.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "platforms/cli/commands.h"
#include "platforms/cli/decoding_analysis/common.h"
#include "platforms/cli/decoding_analysis/svg.h"
#include "platforms/cli/generate/generate.h"
#include "platforms/cli/generate/report.h"
#include "platforms/cli/options/sampler_json.h"
#include "platforms/cli/support/distribution.h"
#include "platforms/cli/support/table.h"
#include "platforms/cli/support/text.h"

namespace sotto::cli {
namespace {

struct Named {
  std::string name;
  std::string words;
};

// Each truncation alone, at temperature 1. The presets follow.
constexpr struct {
  const char* name;
  const char* words;
} kStrategies[] = {{"greedy", "--greedy"},
                   {"default", ""},
                   {"temp-0.5", "--temp 0.5 --top-k 0 --top-p 1 --min-p 0"},
                   {"temp-1", "--temp 1 --top-k 0 --top-p 1 --min-p 0"},
                   {"temp-1.5", "--temp 1.5 --top-k 0 --top-p 1 --min-p 0"},
                   {"top-k", "--temp 1 --top-k 40 --top-p 1 --min-p 0"},
                   {"top-p", "--temp 1 --top-k 0 --top-p 0.9 --min-p 0"},
                   {"min-p", "--temp 1 --top-k 0 --top-p 1 --min-p 0.1"},
                   {"typical", "--temp 1 --top-k 0 --top-p 1 --min-p 0 --typical 0.9"},
                   {"mirostat", "--mirostat 2"},
                   {"beams", "--num-beams 4"},
                   {"contrastive", "--penalty-alpha 0.6 --top-k 4"},
                   {"best-of", "--best-of 4"}};

std::vector<Named> known_strategies() {
  std::vector<Named> list;
  for (const auto& strategy : kStrategies) list.push_back({strategy.name, strategy.words});
  for (const Name& preset : kPresetNames) {
    list.push_back({preset.name, std::string("--preset ") + preset.name});
  }
  return list;
}

struct Strategy {
  std::string name;
  std::string words;
  GenerateOptions options;
};

struct CompareOptions {
  ModelOptions model;
  TextInput input;
  SessionParams session;
  std::string seed;
  uint32_t token_count = 64;
  std::vector<std::string> with;
  std::vector<Strategy> strategies;
  bool special = false;
  bool json = false;
  std::string svg;  // path; empty for none
};

struct StrategyResult {
  std::string text;
  TokenList tokens;
  Status stop = Status::ok;
  double seconds = 0.0;  // after the prompt was evaluated
  // Sums over the tokens: ln p under the model, the entropy of the model's distribution, and the Kullback-Leibler
  // divergence of the distribution that the token was drawn from, from the model's.
  double log_probability = 0.0;
  double entropy = 0.0;
  double divergence = 0.0;

  double per_token(double sum) const { return tokens.empty() ? NAN : sum / static_cast<double>(tokens.size()); }
  double tokens_per_second() const { return seconds > 0.0 ? static_cast<double>(tokens.size()) / seconds : NAN; }

  // Returns the number of different n-grams divided by that of all, or NaN if the text is shorter.
  double distinct(size_t n) const {
    if (tokens.size() < n) return NAN;
    std::set<TokenList> grams;
    const size_t count = tokens.size() - n + 1;
    for (size_t i = 0; i < count; ++i) {
      const auto begin = tokens.begin() + static_cast<ptrdiff_t>(i);
      grams.emplace(begin, begin + static_cast<ptrdiff_t>(n));
    }
    return static_cast<double>(grams.size()) / static_cast<double>(count);
  }
  size_t unique_count() const { return std::set<Token>(tokens.begin(), tokens.end()).size(); }
  double repeated() const { return 1.0 - distinct(2); }
};

constexpr size_t kMaxGram = 4;

// Returns whether a search selects the tokens without drawing.
bool selects_without_drawing(const SearchOptions& search) {
  return search.is_on && (search.params.mode == SOTTO_SEARCH_BEAM || search.params.mode == SOTTO_SEARCH_CONTRASTIVE);
}

// Returns whether the sampler receives other logits than the model's.
bool changes_logits(const GenerateOptions& options) {
  return options.grammar.is_on() || options.guide.is_on() || !options.stops.params.banned_strings.empty() ||
         options.sampler.params.dola != SOTTO_DOLA_OFF;
}

// Logits by the tokens before them.
using LogitsOfTexts = std::map<TokenList, std::vector<float>>;

// Generates the text again and returns the logits that the sampler receives.
LogitsOfTexts sampler_inputs(GenerateOptions options, const TokenList& prompt) {
  LogitsOfTexts inputs;
  SamplerParams& params = options.sampler.params;
  if (!params.stages.empty()) params.stages.insert(params.stages.begin(), SOTTO_STAGE_LOGITS_CALLBACK);
  params.logits_processor = [&inputs](Tokens tokens, uint32_t, View<float> logits) {
    inputs[TokenList(tokens.begin(), tokens.end())].assign(logits.begin(), logits.end());
  };
  generate(std::move(options), prompt, [](Session&, const Generation&) {});
  return inputs;
}

// Computes the divergences of the distributions that the tokens of a text were drawn from.
class DivergenceMeter {
 public:
  DivergenceMeter(const LoadedModel& model, const Strategy& strategy, const TokenList& prompt)
      : options_(resolved(strategy.options, model, prompt.size())),
        prompt_size_(prompt.size()),
        sampler_(Sampler::create(model.get(), list_bytes(options_.sampler.params))) {
    sampler_.set(options_.sampler.params);
    if (changes_logits(strategy.options)) inputs_ = sampler_inputs(strategy.options, prompt);
  }

  // Returns the divergence for `token` after the tokens of `history`, or NaN if the text was longer than the context.
  // Must be called for one token after the other, because the state of Mirostat depends on them.
  double divergence(const TokenList& history, View<const float> logits, const Distribution& of_model, Token token) {
    if (selects_without_drawing(options_.search)) return -of_model.log_probability(token);
    SamplerInput input;
    input.logits = logits;
    input.history = history;
    input.generated_count = history.size() - prompt_size_;
    input.token_limit = options_.token_limit < 0 ? 0 : static_cast<uint64_t>(options_.token_limit);
    if (!inputs_.empty()) {
      const auto found = inputs_.find(history);
      if (found == inputs_.end()) return NAN;
      input.logits = found->second;
    }
    const double divergence = Distribution::of_chain(sampler_, input).divergence_from(of_model);
    if (!options_.search.is_on) sampler_.sample(input);
    return divergence;
  }

 private:
  static GenerateOptions resolved(GenerateOptions options, const LoadedModel& model, size_t prompt_size) {
    read_generate_texts(options, model);
    limit_lengths(options, prompt_size);
    options.sampler.params.dola = SOTTO_DOLA_OFF;  // inputs_ includes it
    return options;
  }

  GenerateOptions options_;
  size_t prompt_size_;
  LogitsOfTexts inputs_;
  Sampler sampler_;
};

// Evaluates the text again and adds up the measures that need the model's distributions.
void measure(const LoadedModel& model, const Strategy& strategy, const TokenList& prompt, Session& session,
             StrategyResult& result) {
  DivergenceMeter meter(model, strategy, prompt);
  session.clear_guide();
  session.clear_matcher();
  session.reset();
  TokenList history = prompt;
  Tokens next = history;
  for (const Token token : result.tokens) {
    if (session.prefill(next) != Status::ok) return;
    const Distribution distribution = Distribution::of_model(session.logits());
    result.entropy += distribution.entropy();
    result.log_probability += distribution.log_probability(token);
    result.divergence += meter.divergence(history, session.logits(), distribution, token);
    history.push_back(token);
    next = Tokens(&history.back(), 1);
  }
}

StrategyResult run(const LoadedModel& model, const Strategy& strategy, const TokenList& prompt) {
  StrategyResult result;
  try {
    generate(strategy.options, prompt, [&](Session& session, const Generation& generation) {
      result.text = model.info().has_tokenizer != 0 ? generation.text : ids_text(generation.tokens);
      result.tokens = generation.tokens;
      result.stop = generation.stop;
      result.seconds = generation.total_seconds - static_cast<double>(session.timings().prefill_ns) * 1e-9;
      if (generation.stop != Status::cancelled) measure(model, strategy, prompt, session, result);
    });
  } catch (const Failure& failure) {
    throw Failure(strategy.name + ": " + failure.what(), failure.exit_code());
  } catch (const Error& error) {
    throw failure_of(strategy.name, error);
  }
  return result;
}

// The results

void print_table(const std::vector<Strategy>& strategies, const std::vector<StrategyResult>& results) {
  OutputWriter stream;
  Table measures({{"strategy", Table::Style::kText},
                  {"tokens"},
                  {"unique"},
                  {"repeated"},
                  {"entropy"},
                  {"KL"},
                  {"ln p"},
                  {"tok/s"}});
  Table texts({{"strategy", Table::Style::kText}, {"text", Table::Style::kWrapped}});
  for (size_t i = 0; i < results.size(); ++i) {
    const StrategyResult& result = results[i];
    const std::string rate = std::isfinite(result.tokens_per_second())
                                 ? with_thousands(static_cast<uint64_t>(result.tokens_per_second()))
                                 : "-";
    measures.add_row({strategies[i].name, with_thousands(result.tokens.size()), with_thousands(result.unique_count()),
                      decimal(result.repeated(), 3), decimal(result.per_token(result.entropy), 3),
                      decimal(result.per_token(result.divergence), 3), decimal(result.log_probability, 1), rate});
    texts.add_row({strategies[i].name, in_quotes(result.text)});
  }
  measures.print(stream);
  stream.write("\n");
  texts.print(stream);
}

Json strategy_json(const Strategy& strategy, const StrategyResult& result) {
  const auto number = [](double value) { return std::isfinite(value) ? Json(value) : Json(); };
  Json object = {{"strategy", strategy.name}, {"options", strategy.words}, {"text", result.text}};
  object["tokens"] = result.tokens;
  object["stop"] = name_of_stop(result.stop);
  object["unique_tokens"] = result.unique_count();
  Json& distinct = object["distinct"] = Json::array();
  for (size_t n = 1; n <= kMaxGram; ++n) distinct.push_back(number(result.distinct(n)));
  object["entropy"] = number(result.per_token(result.entropy));
  object["divergence"] = number(result.per_token(result.divergence));
  object["log_probability"] = result.log_probability;
  object["tokens_per_second"] = number(result.tokens_per_second());
  object["sampler"] = sampler_json(strategy.options.sampler.params);
  return object;
}

std::string picture(const std::string& text, const std::vector<Strategy>& strategies,
                    const std::vector<StrategyResult>& results) {
  std::vector<std::string> labels;
  std::vector<BarPanel> panels = {{"unique tokens", {}, 0},  {"repeated pairs", {}, 3}, {"entropy, nats", {}, 3},
                                  {"KL, nats/token", {}, 3}, {"-ln p/token", {}, 3},    {"tokens/s", {}, 0}};
  for (size_t i = 0; i < results.size(); ++i) {
    const StrategyResult& result = results[i];
    const std::array<double, 6> values = {
        static_cast<double>(result.unique_count()), result.repeated(),
        result.per_token(result.entropy),           result.per_token(result.divergence),
        result.per_token(-result.log_probability),  result.tokens_per_second()};
    labels.push_back(strategies[i].name);
    for (size_t panel = 0; panel < panels.size(); ++panel) panels[panel].values.push_back(values[panel]);
  }
  return bar_chart({"Strategies compared", "texts after " + text}, labels, panels, false);
}

int run_compare(const CompareOptions& options) {
  const LoadedModel model(options.model);
  model.require_text();
  const TokenList prompt = required_tokens(options.input, model, options.special);
  Progress progress("comparing", options.strategies.size() * uint64_t{options.token_count});
  std::vector<StrategyResult> results;
  while (results.size() < options.strategies.size()) {
    progress.show(results.size() * uint64_t{options.token_count});
    results.push_back(run(model, options.strategies[results.size()], prompt));
    if (results.back().stop == Status::cancelled) return kExitInterrupted;
  }
  if (!options.svg.empty()) write_all(options.svg, picture(ending_of(prompt, model), options.strategies, results));
  if (!options.json) {
    print_table(options.strategies, results);
    std::fprintf(stderr, "\nthe seed was %s\n", options.seed.c_str());
    return kExitOk;
  }
  Json list = Json::array();
  for (size_t i = 0; i < results.size(); ++i) list.push_back(strategy_json(options.strategies[i], results[i]));
  const Json object = {{"model", to_utf8(model.path())}, {"prompt_tokens", prompt}, {"strategies", std::move(list)}};
  OutputWriter().write(object.dump() + '\n');
  return kExitOk;
}

// The options

// Parses the options of `sotto generate`. `shared` are those of this command line.
GenerateOptions parse_strategy(const Named& strategy, const std::vector<std::string>& shared) {
  GenerateOptions options;
  Command command("sotto compare --with", "");
  add_generate_options(command, options);
  command.on_parsed([&] {
    const std::string option =
        first_given(command, {"--load-state", "--save-state", "--json", "--stream-json", "--jsonl", "--logprobs",
                              "--echo-scores", "--no-echo", "--parse-special", "--escape", "--token-healing"});
    if (!option.empty()) reject(option, "is not an option of a strategy");
    validate_generate_options(command, options);
  });
  std::vector<std::string> words = shared;
  const std::vector<std::string> own = split_words(strategy.words);
  words.insert(words.end(), own.begin(), own.end());
  parse_setting(command, strategy.words, words);
  options.model.verify_checksums = false;  // they are verified once
  return options;
}

// Returns a strategy for a name, or for options.
Named strategy_of(const std::string& text) {
  if (text.empty() || text.front() == '-') return {text.empty() ? "default" : text, text};
  std::string names;
  for (const Named& known : known_strategies()) {
    if (known.name == text) return known;
    names += (names.empty() ? "" : ", ") + known.name;
  }
  reject("--with", '"' + text + "\" is neither options nor one of " + names);
}

void validate_compare(const Command& command, CompareOptions& options) {
  validate_text_input(command, options.input);
  if (options.token_count == 0) reject("--max-tokens", "is 0; it must be at least 1");
  if (options.seed.empty() || options.seed == "random") options.seed = std::to_string(std::random_device()());
  std::vector<std::string> shared = {
      "--prompt",     options.input.has_text ? "text" : "-", "--model", options.model.path, "--quiet",
      "--max-tokens", std::to_string(options.token_count),   "--seed",  options.seed};
  for (const char* option : {"--threads", "--ctx", "--isa"}) {
    if (is_given(command, option)) shared.insert(shared.end(), {option, command.find(option)->given().front()});
  }
  if (is_given(command, "--no-mmap")) shared.emplace_back("--no-mmap");
  std::vector<Named> chosen;
  for (const std::string& text : options.with) chosen.push_back(strategy_of(text));
  if (chosen.empty()) chosen = known_strategies();
  for (const Named& strategy : chosen) {
    options.strategies.push_back({strategy.name, strategy.words, parse_strategy(strategy, shared)});
  }
}

std::string strategies_help() {
  std::string text;
  for (const auto& strategy : kStrategies) {
    std::string name = strategy.name;
    name.resize(14, ' ');
    text += "  " + name + (*strategy.words != '\0' ? strategy.words : "the default options") + '\n';
  }
  return text + "  " + listed(kPresetNames) + ": --preset NAME\n";
}

}  // namespace

void declare_compare(Command& command, Run& run) {
  auto options = std::make_shared<CompareOptions>();
  options->input.is_prompt = true;
  add_model_option(command, options->model);
  add_text_input(command, options->input);
  command.add_flag("--parse-special", options->special, kSpecialHelp);
  add_value(command, "-n,--max-tokens", options->token_count, "Number of tokens per text", "N");
  command.add_option("-s,--seed", options->seed, "Seed of all strategies").metavar("N").shown_default("random");
  add_texts(command, "--with", options->with,
            "A strategy, instead of all that are listed below: its name, or options of sotto generate such as \"--temp "
            "0.8 --top-p 0.9\"",
            "STRATEGY");
  command.add_flag("--json", options->json, "Print one JSON object");
  add_svg_option(command, options->svg, "the measures of all strategies as bars");
  add_thread_and_context_options(command, options->session);
  add_weight_options(command, options->model);
  command.set_footer(
      "unique: number of different tokens. repeated: share of the pairs of neighbouring tokens that occurred before.\n"
      "entropy: of the model's distributions along the text, in nats per token. KL: how far the strategy moves from\n"
      "the model, in nats: at each token of the text sum q ln(q / p), where q are the probabilities that the token\n"
      "was drawn with, after all masks and samplers, and p those of the model; the mean of these divergences. Beam\n"
      "search and contrastive search do not draw, so q is 1 for their token and the divergence is -ln p. ln p: of\n"
      "the text under the model. tok/s: without the evaluation of the prompt.\n"
      "\n"
      "Strategies:\n" +
      strategies_help() +
      "\n"
      "Examples:\n"
      "  sotto compare -m demo.sotto -p \"Once upon a time\"\n"
      "  sotto compare -m demo.sotto -p \"Once upon a time\" --with greedy --with beams --with \"--num-beams 8\"\n"
      "  sotto compare -m demo.sotto -p \"Once upon a time\" --with default --with \"--repeat-penalty 1.3\" --json\n"
      "  sotto compare -m demo.sotto -p \"Once upon a time\" --svg strategies.svg");
  command.on_parsed([&run, options, &command] {
    validate_compare(command, *options);
    run = [options] { return run_compare(*options); };
  });
}

}  // namespace sotto::cli
