// `sotto next` shows which tokens may follow a text, with their probabilities under the model and after each stage of
// the sampler.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "platforms/cli/commands.h"
#include "platforms/cli/decoding_analysis/common.h"
#include "platforms/cli/decoding_analysis/svg.h"
#include "platforms/cli/options/chain.h"
#include "platforms/cli/options/sampler.h"
#include "platforms/cli/options/sampler_json.h"
#include "platforms/cli/support/distribution.h"
#include "platforms/cli/support/json.h"
#include "platforms/cli/support/table.h"
#include "platforms/cli/support/text.h"

namespace sotto::cli {
namespace {

struct NextOptions {
  ModelOptions model;
  TextInput input;
  SamplerOptions sampler;
  SessionParams session;
  uint32_t top = 10;
  bool special = false;
  bool all = false;
  bool by_stage = false;
  bool json = false;
  std::string svg;  // path; empty for none
};

struct StageResult {
  const char* name;
  Distribution distribution;
};

// The distributions after the first `length` tokens of the text.
struct Position {
  size_t length;
  Distribution model;
  Distribution sampled;
  std::vector<StageResult> stages;
};

class DistributionProbe {
 public:
  DistributionProbe(const NextOptions& options, const LoadedModel& model)
      : options_(options),
        tokens_(required_tokens(options.input, model, options.special)),
        sampler_(call("sampler", [&] { return Sampler::create(model.get(), list_bytes(options.sampler.params)); })),
        stages_(stages_of(options.sampler.params)) {}

  const TokenList& tokens() const { return tokens_; }

  // Calls `show` with each position that is wanted.
  template <typename Show>
  void look(Session& session, const Show& show) {
    const uint32_t context = session.info().context_tokens;
    if (tokens_.size() > context) {
      throw Failure(options_.input.name() + ": " + std::to_string(tokens_.size()) + " tokens do not fit a context of " +
                    std::to_string(context));
    }
    size_t done = 0;
    for (size_t length = options_.all ? 1 : tokens_.size(); length <= tokens_.size(); ++length) {
      call(options_.input.name(), [&] { return session.prefill({tokens_.data() + done, length - done}); });
      done = length;
      show(position(session.logits(), length));
    }
  }

 private:
  Position position(View<const float> logits, size_t length) {
    SamplerInput input;
    input.logits = logits;
    input.history = {tokens_.data(), length};
    const auto sampled = [&](const SamplerParams& params) {
      call_with_options("sampler", [&] { sampler_.set(params); });
      return Distribution::of_chain(sampler_, input);
    };
    Position position = {length, Distribution::of_model(logits), sampled(options_.sampler.params), {}};
    if (!options_.by_stage) return position;
    for (const Stage& stage : stages_) position.stages.push_back({stage.name, sampled(stage.params)});
    const SamplerParams& params = options_.sampler.params;
    if (is_greedy_temperature(params) || params.selection == SOTTO_SELECT_GREEDY) {
      position.stages.push_back({"greedy", position.sampled});
    }
    return position;
  }

  const NextOptions& options_;
  TokenList tokens_;
  Sampler sampler_;
  std::vector<Stage> stages_;
};

std::string summary(const Position& position) {
  const Distribution& model = position.model;
  return "after " + with_thousands(position.length) + (position.length == 1 ? " token" : " tokens") + ": entropy " +
         decimal(model.entropy(), 3) + " nats, like " + decimal(model.effective_vocabulary(), 1) +
         " equally likely tokens; the sampler keeps " + with_thousands(position.sampled.outcomes().size()) + '\n';
}

void print_tokens(const NextOptions& options, const LoadedModel& model, const Position& position,
                  OutputWriter& stream) {
  Table table({{"rank"}, {"id"}, {"p"}, {"ln p"}, {"sampled"}, {"text", Table::Style::kText}});
  const std::vector<Outcome>& outcomes = position.model.outcomes();
  const size_t count = std::min<size_t>(options.top, outcomes.size());
  for (size_t i = 0; i < count; ++i) {
    const Outcome& outcome = outcomes[i];
    table.add_row(
        {std::to_string(i + 1), std::to_string(outcome.token), decimal(outcome.probability(), 4),
         decimal(outcome.log_probability, 3), decimal(std::exp(position.sampled.log_probability(outcome.token)), 4),
         shown_token(outcome.token, model)},
        outcome.probability() / outcomes[0].probability());
  }
  table.print(stream);
}

// Tokens that are listed in one line.
size_t listed_count(const NextOptions& options) { return std::min(options.top, 3u); }

void print_stages(const NextOptions& options, const LoadedModel& model, const Position& position,
                  OutputWriter& stream) {
  Table table({{"stage", Table::Style::kText},
               {"kept"},
               {"entropy"},
               {"effective"},
               {"mass"},
               {"most likely", Table::Style::kText}});
  const auto add = [&](const char* name, const Distribution& distribution) {
    table.add_row({name, with_thousands(distribution.outcomes().size()), decimal(distribution.entropy(), 3),
                   decimal(distribution.effective_vocabulary(), 1), decimal(distribution.mass_in(position.model), 4),
                   likeliest(distribution, model, listed_count(options))});
  };
  add("model", position.model);
  for (const StageResult& stage : position.stages) add(stage.name, stage.distribution);
  stream.write("\n");
  table.print(stream);
}

// One line per token of the text: its probability, and the tokens that were more likely.
Table position_table() {
  return Table({{"next", Table::Style::kText},
                {"p"},
                {"ln p"},
                {"rank"},
                {"entropy"},
                {"kept"},
                {"most likely", Table::Style::kText}});
}

void add_position(const NextOptions& options, const LoadedModel& model, const TokenList& tokens,
                  const Position& position, Table& table) {
  std::vector<std::string> cells = {"-", "-", "-", "-"};
  if (position.length < tokens.size()) {
    const Token next = tokens[position.length];
    const double log_probability = position.model.log_probability(next);
    cells = {shown_token(next, model), decimal(std::exp(log_probability), 4), decimal(log_probability, 3),
             with_thousands(position.model.rank(next))};
  }
  cells.insert(cells.end(), {decimal(position.model.entropy(), 3), with_thousands(position.sampled.outcomes().size()),
                             likeliest(position.model, model, listed_count(options))});
  table.add_row(std::move(cells));
}

Json position_json(const NextOptions& options, const LoadedModel& model, const TokenList& tokens,
                   const Position& position) {
  Json object = {{"length", position.length}};
  object.update(distribution_json(position.model));
  object["kept"] = position.sampled.outcomes().size();
  object["top"] = likeliest_json(position.model, model, options.top, &position.sampled);
  if (position.length < tokens.size()) {
    const Token next = tokens[position.length];
    Json& entry = object["next"] = token_json(next, model);
    entry["rank"] = position.model.rank(next);
    entry["log_probability"] = position.model.log_probability(next);
  }
  if (!options.by_stage) return object;
  Json& stages = object["stages"] = Json::array();
  for (const StageResult& stage : position.stages) {
    Json entry = {{"stage", stage.name}};
    entry.update(distribution_json(stage.distribution));
    entry["mass"] = stage.distribution.mass_in(position.model);
    entry["top"] = likeliest_json(stage.distribution, model, options.top);
    stages.push_back(std::move(entry));
  }
  return object;
}

// The picture of --svg: the bars of the last position, or with --all the text.
class Painter {
 public:
  Painter(const NextOptions& options, const LoadedModel& model, const TokenList& tokens)
      : options_(options), model_(model), tokens_(tokens) {}

  void add(const Position& position) {
    if (options_.svg.empty()) return;
    if (!options_.all) return write_all(options_.svg, bars(position));
    if (position.length == 1) add_part(tokens_[0], 0.0, "the first token, which has no probability");
    if (position.length == tokens_.size()) return write_all(options_.svg, text());
    const Token next = tokens_[position.length];
    const double log_probability = position.model.log_probability(next);
    sum_ += log_probability;
    add_part(next, -log_probability / kMaxSurprise,
             "p " + decimal(std::exp(log_probability), 4) + ", rank " + with_thousands(position.model.rank(next)) +
                 "; likelier: " + likeliest(position.model, model_, listed_count(options_)));
  }

 private:
  static constexpr double kMaxSurprise = 10.0;  // nats; the darkest colour

  void add_part(Token token, double heat, const std::string& hint) {
    const std::string bytes = model_.text_of({token});
    std::string text = model_.info().has_tokenizer != 0 ? printable(bytes) : std::to_string(token) + ' ';
    parts_.push_back({std::move(text), heat, hint, bytes.ends_with('\n')});
  }

  std::string bars(const Position& position) const {
    std::vector<std::string> labels;
    BarPanel model_panel = {"p", {}, 4}, sampled_panel = {"sampled", {}, 4};
    const std::vector<Outcome>& outcomes = position.model.outcomes();
    for (size_t i = 0; i < std::min<size_t>(options_.top, outcomes.size()); ++i) {
      labels.push_back(shown_token(outcomes[i].token, model_));
      model_panel.values.push_back(outcomes[i].probability());
      sampled_panel.values.push_back(std::exp(position.sampled.log_probability(outcomes[i].token)));
    }
    const std::string kept = with_thousands(position.sampled.outcomes().size());
    return bar_chart(
        {"What may follow " + ending_of(tokens_, model_),
         "entropy " + decimal(position.model.entropy(), 3) + " nats; the sampler keeps " + kept + " tokens"},
        labels, {model_panel, sampled_panel}, true);
  }

  std::string text() const {
    std::vector<std::pair<double, std::string>> scale;
    for (const double nats : {0.0, 2.0, 4.0, 6.0, 8.0, kMaxSurprise}) {
      scale.emplace_back(nats / kMaxSurprise,
                         "ln p " + decimal(0.0 - nats, 0) + (nats < kMaxSurprise ? "" : " or less"));
    }
    const size_t count = tokens_.size() - 1;
    std::string subtitle = with_thousands(tokens_.size()) + " tokens";
    if (count > 0) subtitle += ", mean ln p " + decimal(sum_ / static_cast<double>(count), 3);
    return coloured_text({"How likely each token was", subtitle}, parts_, scale);
  }

  const NextOptions& options_;
  const LoadedModel& model_;
  const TokenList& tokens_;
  double sum_ = 0.0;
  std::vector<ColouredPart> parts_;
};

int run_next(NextOptions options) {
  const LoadedModel model(options.model);
  model.require_text();
  read_sampler_texts(options.sampler, model);
  DistributionProbe probe(options, model);
  Session session = model.new_session(options.session);
  OutputWriter stream;
  Painter painter(options, model, probe.tokens());
  const auto look = [&](const auto& show) {
    probe.look(session, [&](const Position& position) {
      show(position);
      painter.add(position);
    });
  };
  if (options.json) {
    Json positions = Json::array();
    look([&](const Position& position) {
      positions.push_back(position_json(options, model, probe.tokens(), position));
    });
    const Json object = {{"model", to_utf8(model.path())},
                         {"tokens", probe.tokens()},
                         {"positions", std::move(positions)},
                         {"parameters", sampler_json(options.sampler.params)}};
    stream.write(object.dump() + '\n');
    return kExitOk;
  }
  if (options.all && !options.by_stage) {
    Table table = position_table();
    look([&](const Position& position) { add_position(options, model, probe.tokens(), position, table); });
    table.print(stream);
    return kExitOk;
  }
  look([&](const Position& position) {
    if (position.length > 1 && options.all) stream.write("\n");
    stream.write(summary(position));
    print_tokens(options, model, position, stream);
    if (options.by_stage) print_stages(options, model, position, stream);
  });
  return kExitOk;
}

}  // namespace

void declare_next(Command& command, Run& run) {
  auto options = std::make_shared<NextOptions>();
  options->input.is_prompt = true;
  add_model_option(command, options->model);
  add_text_input(command, options->input);
  command.add_flag("--parse-special", options->special, kSpecialHelp);
  add_value(command, "--top", options->top, "Number of tokens to show", "N");
  command.add_flag("--all", options->all,
                   "After every token of the text: how likely the next one was, and what was more likely");
  command.add_flag("--by-stage", options->by_stage,
                   "What each stage of the sampler leaves: kept tokens, entropy in nats, effective vocabulary "
                   "exp(entropy), and the probability of the kept tokens under the model");
  command.add_flag("--json", options->json, "Print one JSON object");
  add_svg_option(command, options->svg, "the probabilities, or with --all the text, coloured by how likely it was");
  add_thread_and_context_options(command, options->session);
  add_weight_options(command, options->model);
  add_sampler_options(command, options->sampler);
  command.set_footer(
      "p is the probability under the model, \"sampled\" the one after the sampler's stages.\n"
      "\n"
      "Examples:\n"
      "  sotto next -m demo.sotto -p \"Once upon a time\"\n"
      "  sotto next -m demo.sotto -p \"Once upon a time\" --by-stage --temp 1.2 --top-p 0.9\n"
      "  sotto next -m demo.sotto --all --svg chapter.svg < chapter.txt\n"
      "  sotto next -m demo.sotto --all --json < chapter.txt");
  command.on_parsed([&run, options, &command] {
    validate_text_input(command, options->input);
    validate_sampler_options(command, options->sampler);
    if (options->top == 0) reject("--top", "is 0; it must be at least 1");
    run = [options] { return run_next(*options); };
  });
}

}  // namespace sotto::cli
