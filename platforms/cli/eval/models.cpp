// The metrics of models: `sotto eval perplexity`, `answers`, `choices` and `kl`.
#include <algorithm>
#include <cmath>
#include <memory>

#include "platforms/cli/eval/data.h"
#include "platforms/cli/options/common.h"
#include "platforms/cli/support/output.h"
#include "platforms/cli/support/scoring.h"
#include "platforms/cli/support/table.h"
#include "platforms/cli/support/text.h"

namespace sotto::cli {
namespace {

struct EvalOptions {
  ModelOptions model;
  SessionParams session;
  DataOptions data;
  uint32_t stride = 0;
  bool starts = false;
  std::string reference;  // path of the model to compare with
  TextInput input;
};

// A model that writes texts, with a session.
struct Subject {
  Subject(const ModelOptions& options, const SessionParams& params) : model(options), session(new_session(params)) {}

  LoadedModel model;
  Session session;

 private:
  Session new_session(const SessionParams& params) const {
    model.require_text();
    return model.new_session(params);
  }
};

constexpr char kStrideHelp[] =
    "For texts longer than the context: number of tokens from one window to the next; with the whole context, windows "
    "do not overlap";

void add_model_options(Command& command, EvalOptions& options) {
  add_model_option(command, options.model);
  add_thread_and_context_options(command, options.session);
  add_weight_options(command, options.model);
}

// Adds the scores of a text to the totals.
void add_scores(const Scores& scores, Scores& totals) {
  totals.count += scores.count;
  totals.byte_count += scores.byte_count;
  totals.log_probability += scores.log_probability;
}

Json scores_json(const Scores& scores) {
  return {{"scored_tokens", scores.count},
          {"scored_bytes", scores.byte_count},
          {"log_probability", scores.log_probability},
          {"perplexity", scores.perplexity()},
          {"bits_per_byte", scores.byte_count > 0 ? Json(scores.bits_per_byte()) : Json()}};
}

Rows rows_of(const char* name, size_t count, const Scores& totals) {
  Rows rows = {{name, with_thousands(count)},
               {"tokens", with_thousands(totals.count) + " scored"},
               {"ln p", decimal(totals.log_probability, 3)},
               {"perplexity", decimal(totals.perplexity(), 3)}};
  if (totals.byte_count > 0) rows.emplace_back("bits per byte", decimal(totals.bits_per_byte(), 4));
  return rows;
}

int run_perplexity(const EvalOptions& options) {
  Subject subject(options.model, options.session);
  const size_t stride = window_stride(options.stride, subject.session);
  const Token start = subject.model.info().end_of_text_token;
  if (options.starts && start < 0) throw Failure(options.model.path + ": has no end-of-text token for --start");
  Scores totals;
  const std::vector<Json> results = evaluate_lines(options.data, [&](const Json& line) {
    TokenList tokens = tokens_of_request(line, subject.model, false);
    if (options.starts) tokens.insert(tokens.begin(), start);
    if (tokens.size() < 2) throw Failure("has nothing to score: the first token follows no other");
    const Scores scores = score_tokens(tokens, 1, stride, subject.model, subject.session);
    add_scores(scores, totals);
    return scores_json(scores);
  });
  Json json = {{"texts", results.size()}};
  json.update(scores_json(totals));
  const Rows rows = rows_of("texts", results.size(), totals);
  print_totals(options.data, std::move(json), results, rows);
  return kExitOk;
}

int run_answers(const EvalOptions& options) {
  Subject subject(options.model, options.session);
  Scores totals;
  const std::vector<Json> results = evaluate_lines(options.data, [&](const Json& line) {
    reject_other_members(line, {"prompt", "answer", "id"});
    const Scores scores =
        score_answer(required_text(line, "prompt"), required_text(line, "answer"), subject.model, subject.session);
    add_scores(scores, totals);
    return scores_json(scores);
  });
  Json json = {{"answers", results.size()}};
  json.update(scores_json(totals));
  json["mean_log_probability"] = mean_of(results, "log_probability");
  Rows rows = rows_of("answers", results.size(), totals);
  rows.emplace_back("ln p per answer", decimal(json["mean_log_probability"].number(), 3));
  print_totals(options.data, std::move(json), results, rows);
  return kExitOk;
}

// The lengths that ln p of a choice is divided by.
struct Normalization {
  const char* name;
  const char* json;
};
constexpr Normalization kNormalizations[] = {
    {"none", "by_log_probability"}, {"tokens", "by_token"}, {"bytes", "by_byte"}};

int run_choices(const EvalOptions& options) {
  Subject subject(options.model, options.session);
  size_t correct_counts[std::size(kNormalizations)] = {};
  const std::vector<Json> results = evaluate_lines(options.data, [&](const Json& line) {
    reject_other_members(line, {"prompt", "choices", "correct", "id"});
    const std::string& prompt = required_text(line, "prompt");
    const std::vector<std::string> choices = required_texts(line, "choices");
    const uint32_t correct = to_count(required(line, "correct"), "correct");
    if (correct >= choices.size()) {
      throw Failure("correct is " + std::to_string(correct) + "; it must be less than the number of choices, " +
                    std::to_string(choices.size()));
    }
    std::vector<double> values[std::size(kNormalizations)];
    for (const std::string& choice : choices) {
      const Scores scores = score_answer(prompt, choice, subject.model, subject.session);
      values[0].push_back(scores.log_probability);
      values[1].push_back(scores.mean());
      values[2].push_back(scores.log_probability / static_cast<double>(choice.size()));
    }
    Json result = {{"log_probabilities", values[0]}, {"correct", correct}};
    for (size_t i = 0; i < std::size(kNormalizations); ++i) {
      const auto best = static_cast<size_t>(std::max_element(values[i].begin(), values[i].end()) - values[i].begin());
      result[kNormalizations[i].json] = best;
      if (best == correct) ++correct_counts[i];
    }
    return result;
  });
  Json totals = {{"questions", results.size()}, {"accuracy", Json::object()}};
  Table table({{"ln p divided by", Table::Style::kText}, {"accuracy"}, {"correct"}});
  for (size_t i = 0; i < std::size(kNormalizations); ++i) {
    const double accuracy = static_cast<double>(correct_counts[i]) / static_cast<double>(results.size());
    totals["accuracy"][kNormalizations[i].json] = accuracy;
    table.add_row({kNormalizations[i].name, decimal(accuracy, 4),
                   with_thousands(correct_counts[i]) + " of " + with_thousands(results.size())});
  }
  if (options.data.json) {
    print_totals(options.data, std::move(totals), results, {});
  } else {
    OutputWriter stream;
    table.print(stream);
  }
  return kExitOk;
}

// ln p of all tokens, from logits. NaN counts as -infinity.
std::vector<double> log_softmax(View<const float> logits) {
  std::vector<double> values;
  for (const float logit : logits) values.push_back(std::isnan(logit) ? -INFINITY : static_cast<double>(logit));
  const double largest = *std::max_element(values.begin(), values.end());
  double sum = 0.0;
  for (const double value : values) sum += std::exp(value - largest);
  for (double& value : values) value -= largest + std::log(sum);
  return values;
}

struct Difference {
  double divergence;  // sum p ln (p / q), in nats
  bool same_top;      // both models have the same most likely token
};

Difference difference_of(View<const float> p_logits, View<const float> q_logits) {
  const std::vector<double> p = log_softmax(p_logits), q = log_softmax(q_logits);
  Difference difference = {0.0, false};
  for (size_t i = 0; i < p.size(); ++i) {
    if (p[i] > -INFINITY) difference.divergence += std::exp(p[i]) * (p[i] - q[i]);
  }
  difference.same_top =
      std::max_element(p.begin(), p.end()) - p.begin() == std::max_element(q.begin(), q.end()) - q.begin();
  return difference;
}

int run_kl(const EvalOptions& options) {
  ModelOptions reference_options = options.model;
  reference_options.path = options.reference;
  const LoadedModel model(options.model), reference(reference_options);
  model.require_text();
  reference.require_text();
  if (model.info().vocabulary_size != reference.info().vocabulary_size) {
    throw Failure("--reference: vocabulary_size is " + std::to_string(reference.info().vocabulary_size) +
                  "; it must be " + std::to_string(model.info().vocabulary_size) + ", as in the model");
  }
  SessionParams params = options.session;
  if (params.context_tokens == 0) {
    params.context_tokens = std::min(model.info().max_context_tokens, reference.info().max_context_tokens);
  }
  Session p = model.new_session(params), q = reference.new_session(params);
  const size_t stride = window_stride(options.stride, p);
  const TokenList tokens = options.input.tokens(model, false);
  if (!options.input.has_ids && options.input.tokens(reference, false) != tokens) {
    throw Failure("--reference: splits the text into other tokens than the model");
  }
  if (tokens.size() < 2) throw Failure(options.input.name() + ": nothing to compare: the first token follows no other");

  std::vector<double> divergences(tokens.size(), NAN);
  size_t count = 0, same_count = 0, largest = 0;
  double sum = 0.0;
  Progress progress("kl", tokens.size());
  for_each_window(tokens.size(), stride, p, [&](size_t begin, size_t done, size_t end) {
    q.reset();
    size_t evaluated = begin;
    for (size_t i = std::max(done, begin + 1); i < end; ++i) {
      const Tokens before(tokens.data() + evaluated, i - evaluated);
      for (Session* session : {&p, &q}) call("text", [&] { return session->prefill(before); });
      evaluated = i;
      const Difference difference = difference_of(p.logits(), q.logits());
      divergences[i] = difference.divergence;
      sum += difference.divergence;
      same_count += difference.same_top ? 1 : 0;
      ++count;
      if (largest == 0 || divergences[i] > divergences[largest]) largest = i;
      progress.show(i);
    }
  });
  const double mean = sum / static_cast<double>(count);
  const double same = static_cast<double>(same_count) / static_cast<double>(count);
  if (options.data.json) {
    Json list = Json::array();
    for (const double divergence : divergences) list.push_back(std::isnan(divergence) ? Json() : Json(divergence));
    OutputWriter().write(Json{{"model", to_utf8(model.path())},
                              {"reference", to_utf8(reference.path())},
                              {"tokens", tokens},
                              {"divergences", std::move(list)},
                              {"mean", mean},
                              {"max", divergences[largest]},
                              {"same_top", same}}
                             .dump() +
                         '\n');
    return kExitOk;
  }
  print_totals(options.data, {}, {},
               {{"tokens", with_thousands(count) + " compared"},
                {"KL", decimal(mean, 6) + " nats on average"},
                {"largest", decimal(divergences[largest], 6) + " nats at token " + with_thousands(largest) + ", " +
                                shown_token(tokens[largest], model)},
                {"same choice", decimal(100.0 * same, 2) + "% have the same most likely token"}});
  return kExitOk;
}

}  // namespace

void declare_eval_perplexity(Command& command, Run& run) {
  auto options = std::make_shared<EvalOptions>();
  add_model_options(command, *options);
  add_data_options(command, options->data);
  add_value(command, "--stride", options->stride, kStrideHelp, "N").shown_default("half the context");
  command.add_flag("--start", options->starts, "Also score the first token of each text, after an end-of-text token");
  command.set_footer(
      "A line: {\"text\": TEXT} or {\"ids\": [...]}. The totals are those of all tokens together.\n"
      "\n"
      "Examples:\n"
      "  sotto eval perplexity -m demo.sotto texts.jsonl\n"
      "  sotto eval perplexity -m demo.sotto --ctx 128 --stride 128 texts.jsonl --json");
  command.on_parsed([&run, options] { run = [options] { return run_perplexity(*options); }; });
}

void declare_eval_answers(Command& command, Run& run) {
  auto options = std::make_shared<EvalOptions>();
  add_model_options(command, *options);
  add_data_options(command, options->data);
  command.set_footer(
      "A line: {\"prompt\": TEXT, \"answer\": TEXT}. Only the tokens of the answer are scored, which are those of\n"
      "its text alone: a space between both texts belongs to the answer.\n"
      "\n"
      "Examples:\n"
      "  sotto eval answers -m demo.sotto answers.jsonl");
  command.on_parsed([&run, options] { run = [options] { return run_answers(*options); }; });
}

void declare_eval_choices(Command& command, Run& run) {
  auto options = std::make_shared<EvalOptions>();
  add_model_options(command, *options);
  add_data_options(command, options->data);
  command.set_footer(
      "A line: {\"prompt\": TEXT, \"choices\": [TEXT, ...], \"correct\": INDEX}, where 0 is the first choice. The\n"
      "model chooses the most likely continuation of the prompt: by ln p, or by ln p per token or per byte.\n"
      "\n"
      "Examples:\n"
      "  sotto eval choices -m demo.sotto questions.jsonl --json");
  command.on_parsed([&run, options] { run = [options] { return run_choices(*options); }; });
}

void declare_eval_kl(Command& command, Run& run) {
  auto options = std::make_shared<EvalOptions>();
  add_model_options(command, *options);
  add_value(command, "--reference", options->reference, "The other model, with the same vocabulary", "FILE")
      .check(check_file_name)
      .completes({}, kModelSuffix)
      .required();
  add_text_input(command, options->input);
  add_value(command, "--stride", options->stride, kStrideHelp, "N").shown_default("half the context");
  command.add_flag("--json", options->data.json, "Print one JSON object, with the divergence at each token");
  command.set_footer(
      "At each token of the text: sum p ln(p / q) in nats, where p are the probabilities of the model for this\n"
      "token, and q those of the reference.\n"
      "\n"
      "Examples:\n"
      "  sotto eval kl -m policy.sotto --reference base.sotto -f chapter.txt\n"
      "  sotto eval kl -m int8.sotto --reference int4.sotto -f chapter.txt --json");
  command.on_parsed([&run, options, &command] {
    validate_text_input(command, options->input);
    run = [options] { return run_kl(*options); };
  });
}

}  // namespace sotto::cli
