// `sotto explore` shows the effect of temperatures and other settings on the model's distribution after a text. It
// prints tables, texts sampled at several temperatures, and ranges of settings that follow from the distribution.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "platforms/cli/commands.h"
#include "platforms/cli/decoding_analysis/common.h"
#include "platforms/cli/decoding_analysis/svg.h"
#include "platforms/cli/options/chain.h"
#include "platforms/cli/options/common.h"
#include "platforms/cli/options/sampler.h"
#include "platforms/cli/options/sampler_json.h"
#include "platforms/cli/support/distribution.h"
#include "platforms/cli/support/interrupt.h"
#include "platforms/cli/support/json.h"
#include "platforms/cli/support/table.h"
#include "platforms/cli/support/text.h"

namespace sotto::cli {
namespace {

// Options that alone change the model's distribution.
struct Setting {
  std::string text;
  SamplerOptions sampler;
};

struct ExploreOptions {
  ModelOptions model;
  TextInput input;
  SamplerOptions sampler;
  SessionParams session;
  std::string temperature_list = "0.2,0.5,0.8,1,1.5";
  std::vector<float> temperatures;
  std::vector<std::string> with;
  std::vector<Setting> settings;
  uint32_t sample_count = 3;
  uint32_t token_count = 24;  // of a sample
  uint32_t top = 3;
  bool special = false;
  bool json = false;
  std::string svg;  // path; empty for none
};

// Shown unless --with is given.
constexpr const char* kSettings[] = {"--top-k 10",   "--top-k 40",    "--top-p 0.8",    "--top-p 0.95",
                                     "--min-p 0.05", "--typical 0.9", "--top-n-sigma 1"};

struct SettingResult {
  std::string text;
  Distribution distribution;
};

struct Sample {
  float temperature;
  uint64_t seed;
  std::string text;
  TokenList tokens;
};

struct Range {
  double low;
  double high;
};

// Settings that follow from the distribution of the next token. `use` is their purpose, and `rule` the reason.
struct TemperatureAdvice {
  const char* use;
  const char* rule;
  Range temperature;
};

struct TruncationAdvice {
  Range mass;
  Range top_k;
  Range min_p;
};

// Returns the largest temperature up to 1 with an entropy of at most `entropy`. The entropy grows with the temperature.
double temperature_for(const Distribution& model, double entropy) {
  constexpr int kSteps = 20;
  Range range = {0.0, 1.0};
  for (int step = 0; step < kSteps; ++step) {
    const double middle = (range.low + range.high) / 2;
    (model.at_temperature(middle).entropy() <= entropy ? range.low : range.high) = middle;
  }
  return range.high;
}

std::vector<TemperatureAdvice> temperature_advice(const Distribution& model) {
  const double third = temperature_for(model, model.entropy() / 3);
  const double two_thirds = temperature_for(model, model.entropy() * 2 / 3);
  return {{"focused", "up to a third of the model's entropy", {0.0, third}},
          {"balanced", "a third to two thirds of it", {third, two_thirds}},
          {"varied", "two thirds to all of it", {two_thirds, 1.0}}};
}

TruncationAdvice truncation_advice(const Distribution& model) {
  TruncationAdvice advice = {{0.8, 0.95}, {}, {}};
  const size_t few = model.nucleus_size(advice.mass.low);
  const size_t many = model.nucleus_size(advice.mass.high);
  const auto ratio = [&](size_t count) {
    return std::exp(model.outcomes()[count - 1].log_probability - model.outcomes()[0].log_probability);
  };
  advice.top_k = {static_cast<double>(few), static_cast<double>(many)};
  advice.min_p = {ratio(many), ratio(few)};
  return advice;
}

class Explorer {
 public:
  Explorer(const ExploreOptions& options, const LoadedModel& model)
      : options_(options), model_(model), tokens_(required_tokens(options.input, model, options.special)) {}

  const TokenList& tokens() const { return tokens_; }

  // Evaluates the text. Returns false if Ctrl-C stopped it.
  bool evaluate(Session& session) const {
    const uint32_t context = session.info().context_tokens;
    if (tokens_.size() + options_.token_count > context) {
      throw Failure(options_.input.name() + ": " + std::to_string(tokens_.size()) + " tokens and " +
                    std::to_string(options_.token_count) + " new ones do not fit a context of " +
                    std::to_string(context));
    }
    return call(options_.input.name(), [&] { return session.prefill(tokens_); }) == Status::ok;
  }

  // Returns the results of each setting for the logits. The last result is that of the command's own options.
  std::vector<SettingResult> results(View<const float> logits) const {
    uint32_t bytes = list_bytes(options_.sampler.params);
    for (const Setting& setting : options_.settings) bytes = std::max(bytes, list_bytes(setting.sampler.params));
    Sampler sampler = call("sampler", [&] { return Sampler::create(model_.get(), bytes); });
    SamplerInput input;
    input.logits = logits;
    input.history = tokens_;
    std::vector<SettingResult> results;
    const auto add = [&](const std::string& text, const SamplerParams& params) {
      call_with_options(text, [&] { sampler.set(params); });
      results.push_back({text, Distribution::of_chain(sampler, input)});
    };
    for (const Setting& setting : options_.settings) add(setting.text, setting.sampler.params);
    add("all options", options_.sampler.params);
    return results;
  }

  // Returns the texts of all temperatures, with the same seeds at each.
  std::vector<Sample> samples(Session& session) const {
    std::vector<Sample> samples;
    SamplerParams params = options_.sampler.params;
    for (const float temperature : options_.temperatures) {
      params.temperature = temperature;
      for (uint32_t i = 0; i < options_.sample_count; ++i) {
        params.seed = options_.sampler.params.seed + i;
        call("samples", [&] { session.rewind(tokens_.size()); });
        call_with_options("sampler", [&] { session.set_sampler(params); });
        Sample sample = {temperature, params.seed, "", {}};
        const Status stop = call(model_.path(), [&] {
          return session.generate(options_.token_count, [&](const Piece& piece) {
            sample.text += piece.text();
            if (piece.token() >= 0) sample.tokens.push_back(piece.token());
          });
        });
        if (model_.info().has_tokenizer == 0) sample.text = ids_text(sample.tokens);
        samples.push_back(std::move(sample));
        if (stop == Status::cancelled) return samples;
      }
    }
    return samples;
  }

 private:
  const ExploreOptions& options_;
  const LoadedModel& model_;
  TokenList tokens_;
};

// For people

void print_results(const ExploreOptions& options, const LoadedModel& model, const Distribution& whole,
                   const std::vector<SettingResult>& results, OutputWriter& stream) {
  constexpr size_t kWide = 110;  // columns for several tokens and bars
  const size_t width = stream.width();
  const size_t listed = width == 0 || width >= kWide ? options.top : 1;
  Table table({{"setting", Table::Style::kText},
               {"kept"},
               {"entropy"},
               {"effective"},
               {"mass"},
               {"most likely", Table::Style::kText}});
  double longest = std::max(whole.entropy(), 1e-9);
  for (const SettingResult& result : results) longest = std::max(longest, result.distribution.entropy());
  const auto add = [&](const std::string& text, const Distribution& distribution) {
    table.add_row({text, with_thousands(distribution.outcomes().size()), decimal(distribution.entropy(), 3),
                   decimal(distribution.effective_vocabulary(), 1), decimal(distribution.mass_in(whole), 4),
                   likeliest(distribution, model, listed)},
                  distribution.entropy() / longest);
  };
  add("model", whole);
  for (const SettingResult& result : results) add(result.text, result.distribution);
  table.print(stream);
}

std::string temperature_text(float temperature) { return "--temp " + number_text(temperature); }

// Prints the samples of each temperature below each other, and the temperatures side by side if they fit.
void print_samples(const ExploreOptions& options, const std::vector<Sample>& samples, OutputWriter& stream) {
  constexpr size_t kColumnWidth = 20;
  if (samples.empty()) return;
  stream.write("\n");
  const size_t width = stream.width();
  if (width != 0 && width < options.temperatures.size() * kColumnWidth) {
    Table table({{"sampled", Table::Style::kText}, {"text", Table::Style::kWrapped}});
    for (const Sample& sample : samples) table.add_row({temperature_text(sample.temperature), in_quotes(sample.text)});
    return table.print(stream);
  }
  std::vector<Table::Column> columns;
  for (const float temperature : options.temperatures) {
    columns.push_back({temperature_text(temperature), Table::Style::kWrapped});
  }
  Table table(columns);
  for (uint32_t i = 0; i < options.sample_count; ++i) {
    if (i > 0) table.add_row(std::vector<std::string>(columns.size()));
    std::vector<std::string> cells;
    for (size_t column = 0; column < columns.size(); ++column) {
      const size_t index = column * options.sample_count + i;
      cells.push_back(index < samples.size() ? in_quotes(samples[index].text) : "");
    }
    table.add_row(std::move(cells));
  }
  table.print(stream);
}

void print_advice(const Distribution& model, OutputWriter& stream) {
  const auto range = [](const char* option, const Range& values, int digits) {
    return std::string(option) + ' ' + decimal(values.low, digits) + " to " + decimal(values.high, digits);
  };
  stream.write("\n");
  Table table({{"range", Table::Style::kText}, {"options", Table::Style::kText}, {"rule", Table::Style::kText}});
  for (const TemperatureAdvice& advice : temperature_advice(model)) {
    table.add_row({advice.use, range("--temp", advice.temperature, 2), advice.rule});
  }
  const TruncationAdvice advice = truncation_advice(model);
  const std::string rule = "keeps 80% to 95% of the probability";
  table.add_row({"truncation", range("--top-k", advice.top_k, 0), rule});
  table.add_row({"or", range("--top-p", advice.mass, 2), rule});
  table.add_row({"or", range("--min-p", advice.min_p, 4), rule});
  table.print(stream);
}

// For machines

Json setting_json(const ExploreOptions& options, const LoadedModel& model, const Distribution& whole,
                  const std::string& text, const Distribution& distribution) {
  Json object = {{"setting", text}};
  object.update(distribution_json(distribution));
  object["mass"] = distribution.mass_in(whole);
  object["top"] = likeliest_json(distribution, model, options.top);
  return object;
}

Json samples_json(const std::vector<Sample>& samples) {
  Json list = Json::array();
  for (const Sample& sample : samples) {
    list.push_back({{"temperature", number_json(sample.temperature)},
                    {"seed", sample.seed},
                    {"text", sample.text},
                    {"tokens", sample.tokens}});
  }
  return list;
}

Json advice_json(const Distribution& model) {
  const auto range = [](const Range& values) { return Json(std::vector<double>{values.low, values.high}); };
  Json object = Json::object();
  for (const TemperatureAdvice& advice : temperature_advice(model)) {
    object[advice.use] = {{"temperature", range(advice.temperature)}};
  }
  const TruncationAdvice advice = truncation_advice(model);
  object["truncation"] = {
      {"top_k", range(advice.top_k)}, {"top_p", range(advice.mass)}, {"min_p", range(advice.min_p)}};
  return object;
}

// Returns the curves of the entropy, the effective vocabulary and the likeliest tokens over the temperature.
std::string curves(const LoadedModel& model, const Distribution& whole, const std::string& text) {
  constexpr int kSteps = 40;
  constexpr double kEnd = 2.0;
  constexpr size_t kTokens = 5;
  Line entropy, effective;
  std::vector<Line> tokens;
  for (size_t i = 0; i < std::min(kTokens, whole.outcomes().size()); ++i) {
    tokens.push_back({shown_token(whole.outcomes()[i].token, model), {}});
  }
  for (int step = 1; step <= kSteps; ++step) {
    const double temperature = kEnd * step / kSteps;
    const Distribution distribution = whole.at_temperature(temperature);
    entropy.points.emplace_back(temperature, distribution.entropy());
    effective.points.emplace_back(temperature, distribution.effective_vocabulary());
    for (size_t i = 0; i < tokens.size(); ++i) {
      tokens[i].points.emplace_back(temperature, distribution.outcomes()[i].probability());
    }
  }
  std::vector<Mark> marks;
  for (const TemperatureAdvice& advice : temperature_advice(whole)) {
    marks.push_back({advice.temperature.high, advice.use});
  }
  return line_chart({"What the temperature does", "the next token after " + text}, "temperature",
                    {{"entropy, nats", {entropy}, false},
                     {"effective vocabulary, tokens", {effective}, true},
                     {"probability", tokens, false}},
                    marks);
}

int run_explore(ExploreOptions options) {
  const LoadedModel model(options.model);
  model.require_text();
  read_sampler_texts(options.sampler, model);
  for (Setting& setting : options.settings) read_sampler_texts(setting.sampler, model);
  options.session.list_bytes = list_bytes(options.sampler.params);
  const Explorer explorer(options, model);
  Session session = model.new_session(options.session);
  const CancelOnInterrupt cancel_on_interrupt(session);
  if (!explorer.evaluate(session)) return kExitInterrupted;
  const View<const float> logits = session.logits();
  const Distribution whole = Distribution::of_model(logits);
  const std::vector<SettingResult> results = explorer.results(logits);
  const std::vector<Sample> samples = explorer.samples(session);
  if (samples.size() < options.temperatures.size() * options.sample_count) return kExitInterrupted;
  if (!options.svg.empty()) write_all(options.svg, curves(model, whole, ending_of(explorer.tokens(), model)));
  OutputWriter stream;
  if (options.json) {
    Json object = {{"model", to_utf8(model.path())}, {"tokens", explorer.tokens()}};
    Json& settings = object["settings"] = Json::array();
    settings.push_back(setting_json(options, model, whole, "model", whole));
    for (const SettingResult& result : results) {
      settings.push_back(setting_json(options, model, whole, result.text, result.distribution));
    }
    object["samples"] = samples_json(samples);
    object["ranges"] = advice_json(whole);
    object["parameters"] = sampler_json(options.sampler.params);
    stream.write(object.dump() + '\n');
    return kExitOk;
  }
  print_results(options, model, whole, results, stream);
  print_samples(options, samples, stream);
  print_advice(whole, stream);
  if (options.sample_count > 0) {
    std::fprintf(stderr, "\nthe seed was %s\n", std::to_string(options.sampler.params.seed).c_str());
  }
  return kExitOk;
}

// The options

Setting parse_setting(const std::string& text) {
  Setting setting = {text, {}};
  setting.sampler.params = without_stages(setting.sampler.params);
  Command command("sotto explore --with", "");
  add_sampler_options(command, setting.sampler);
  command.on_parsed([&] {
    validate_sampler_options(command, setting.sampler);
    const std::string option = first_given(command, {"--mirostat", "--selection", "--adaptive-p"});
    if (!option.empty()) reject(option, "chooses among the kept tokens, which it does not change; see sotto compare");
  });
  parse_setting(command, text, split_words(text));
  return setting;
}

void validate_explore(const Command& command, ExploreOptions& options) {
  validate_text_input(command, options.input);
  validate_sampler_options(command, options.sampler);
  if (options.top == 0) reject("--top", "is 0; it must be at least 1");
  for (const std::string& number : split_names(options.temperature_list)) {
    const auto temperature = parse_number<float>("--temps", number);
    if (!(temperature >= 0.0f && temperature <= 100.0f)) {
      reject("--temps", "contains " + number + "; temperatures must be from 0 to 100");
    }
    options.temperatures.push_back(temperature);
    options.settings.push_back(parse_setting(temperature_text(temperature)));
  }
  if (options.temperatures.empty()) reject("--temps", "is empty; it must contain at least one temperature");
  if (options.with.empty()) options.with.assign(std::begin(kSettings), std::end(kSettings));
  for (const std::string& text : options.with) options.settings.push_back(parse_setting(text));
}

}  // namespace

void declare_explore(Command& command, Run& run) {
  auto options = std::make_shared<ExploreOptions>();
  options->input.is_prompt = true;
  add_model_option(command, options->model);
  add_text_input(command, options->input);
  command.add_flag("--parse-special", options->special, kSpecialHelp);
  add_value(command, "--temps", options->temperature_list, "Temperatures, separated by commas", "LIST");
  add_texts(
      command, "--with", options->with,
      "A setting for the table, instead of the usual ones: options of the sampler, which alone change the model's "
      "distribution, such as \"--temp 0.8 --top-p 0.9\"",
      "OPTIONS");
  add_value(command, "--samples", options->sample_count, "Number of texts per temperature", "N");
  add_value(command, "-n,--max-tokens", options->token_count, "Number of tokens of each text", "N");
  add_value(command, "--top", options->top, "Number of most likely tokens to show", "N");
  command.add_flag("--json", options->json, "Print one JSON object");
  add_svg_option(command, options->svg,
                 "the entropy, the effective vocabulary and the most likely tokens over the temperature");
  add_thread_and_context_options(command, options->session);
  add_weight_options(command, options->model);
  add_sampler_options(command, options->sampler);
  command.set_footer(
      "The first table has one line per setting, which alone changes the model's distribution of the next token:\n"
      "the number of tokens that it keeps, their entropy in nats, the effective vocabulary exp(entropy), and their\n"
      "probability under the model. \"all options\" are those of this command line, as in sotto generate; the texts\n"
      "are sampled with them, at each temperature with the same seeds.\n"
      "\n"
      "Examples:\n"
      "  sotto explore -m demo.sotto -p \"Once upon a time\"\n"
      "  sotto explore -m demo.sotto -p \"Once upon a time\" --temps 0.5,1,2 --samples 5 -n 40 --top-k 0 --top-p 1\n"
      "  sotto explore -m demo.sotto -p \"Once upon a time\" --with \"--temp 0.8 --top-p 0.9\" --with \"--top-h 0.4\"\n"
      "  sotto explore -m demo.sotto -p \"Once upon a time\" --svg curves.svg\n"
      "  sotto explore -m demo.sotto --json < chapter.txt");
  command.on_parsed([&run, options, &command] {
    validate_explore(command, *options);
    run = [options] { return run_explore(*options); };
  });
}

}  // namespace sotto::cli
