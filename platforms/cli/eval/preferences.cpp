// `sotto eval preferences`: how much a model prefers chosen texts to rejected ones.
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include "platforms/cli/eval/data.h"
#include "platforms/cli/options/common.h"
#include "platforms/cli/support/scoring.h"
#include "platforms/cli/support/text.h"

namespace sotto::cli {
namespace {

struct PreferenceOptions {
  ModelOptions model;
  std::string reference;  // path of the reference model; empty for none
  double beta = 0.1;
  bool has_beta = false;  // --beta was given
  SessionParams session;
  DataOptions data;
};

// A model that gives texts their ln p or their reward.
struct Judge {
  Judge(const ModelOptions& options, const SessionParams& params)
      : model(options), session(model.new_session(params)) {}

  bool gives_rewards() const { return model.info().reward_count > 0; }

  double value_of(const std::string& prompt, const std::string& text) {
    if (!gives_rewards()) return score_answer(prompt, text, model, session).log_probability;
    TokenList tokens = model.tokenize(prompt, false, "prompt");
    const TokenList rest = model.tokenize(text, false, "text");
    tokens.insert(tokens.end(), rest.begin(), rest.end());
    return static_cast<double>(rewards_of(tokens, "text", model, session).front());
  }

  LoadedModel model;
  Session session;
};

// Gives the chosen and the rejected text of a line their rewards.
class Rewarder {
 public:
  explicit Rewarder(const PreferenceOptions& options) : beta_(options.beta) {
    if (options.model.path.empty()) return;
    policy_ = std::make_unique<Judge>(options.model, options.session);
    const uint32_t count = policy_->model.info().reward_count;
    if (count > 1) {
      throw Failure(options.model.path + ": gives " + std::to_string(count) + " rewards; it must give one");
    }
    if (count == 1 && options.has_beta) throw Failure("--beta: has no effect on the rewards of a reward model");
    if (options.reference.empty()) return;
    ModelOptions reference = options.model;
    reference.path = options.reference;
    reference_ = std::make_unique<Judge>(reference, options.session);
    if (policy_->gives_rewards() || reference_->gives_rewards()) {
      throw Failure("--reference: is for models that write texts, not for reward models");
    }
  }

  // Returns the reward of the member `name`, and adds the values that it is computed from to `result`.
  double reward(const Json& line, const std::string& name, Json& result) {
    const Json& value = required(line, name);
    if (!policy_) return given_reward(value, name);
    const std::string& prompt = required_text(line, "prompt");
    const std::string& text = to_text(value, name);
    const double of_policy = policy_->value_of(prompt, text);
    if (policy_->gives_rewards()) return of_policy;
    const double of_reference = reference_ ? reference_->value_of(prompt, text) : 0.0;
    result[name] = {{"policy", of_policy}};
    if (reference_) result[name]["reference"] = of_reference;
    return beta_ * (of_policy - of_reference);
  }

 private:
  double given_reward(const Json& value, const std::string& name) const {
    if (value.is_number()) return value.number();
    if (!value.is_object()) {
      throw Failure(name + " is " + value.dump() +
                    ", neither a reward nor {\"policy\": ln p, \"reference\": ln p}; texts need --model");
    }
    reject_other_members(value, {"policy", "reference"});
    const auto number = [&](const char* member) {
      const Json& part = required(value, member);
      if (!part.is_number()) throw Failure(name + '.' + member + " is " + part.dump() + ", not a number");
      return part.number();
    };
    return beta_ * (number("policy") - number("reference"));
  }

  double beta_;
  std::unique_ptr<Judge> policy_;
  std::unique_ptr<Judge> reference_;
};

int run_preferences(const PreferenceOptions& options) {
  Rewarder rewarder(options);
  size_t preferred = 0;
  const std::vector<Json> results = evaluate_lines(options.data, [&](const Json& line) {
    if (options.model.path.empty()) {
      reject_other_members(line, {"chosen", "rejected", "id"});
    } else {
      reject_other_members(line, {"prompt", "chosen", "rejected", "id"});
    }
    Json result = Json::object();
    const double chosen = rewarder.reward(line, "chosen", result);
    const double rejected = rewarder.reward(line, "rejected", result);
    const double margin = chosen - rejected;
    if (margin > 0.0) ++preferred;
    // The model of Bradley and Terry (1952) and its loss -ln p. With the rewards of DPO (Rafailov et al., 2023), beta
    // ln(p / p of the reference), it is the loss of DPO.
    const double loss = std::fmax(-margin, 0.0) + std::log1p(std::exp(-std::fabs(margin)));
    result.update(Json{{"chosen_reward", chosen},
                       {"rejected_reward", rejected},
                       {"margin", margin},
                       {"probability", std::exp(-loss)},
                       {"loss", loss}});
    return result;
  });
  const double accuracy = static_cast<double>(preferred) / static_cast<double>(results.size());
  Json totals = {{"pairs", results.size()}, {"accuracy", accuracy}};
  Rows rows = {{"pairs", with_thousands(results.size())}, {"accuracy", decimal(accuracy, 4)}};
  for (const auto& [member, name] :
       {std::pair("chosen_reward", "reward of chosen"), std::pair("rejected_reward", "reward of rejected"),
        std::pair("margin", "margin"), std::pair("probability", "probability"), std::pair("loss", "loss")}) {
    const double mean = mean_of(results, member);
    totals[member] = mean;
    rows.emplace_back(name, decimal(mean, 4));
  }
  print_totals(options.data, std::move(totals), results, rows);
  return kExitOk;
}

}  // namespace

void declare_eval_preferences(Command& command, Run& run) {
  auto options = std::make_shared<PreferenceOptions>();
  add_optional_model(command, options->model, "The policy, or a reward model; by default lines have the values");
  add_value(command, "--reference", options->reference, "The reference model of the policy", "FILE")
      .check(check_file_name)
      .completes({}, kModelSuffix)
      .needs("--model");
  add_value(command, "--beta", options->beta, "Factor of ln p in rewards", "X").check([](const std::string& text) {
    const auto beta = parse_number<double>("--beta", text);
    return beta > 0.0 && beta <= 1000.0 ? "" : "is " + text + "; it must be greater than 0 and at most 1000";
  });
  add_data_options(command, options->data);
  add_thread_and_context_options(command, options->session);
  add_weight_options(command, options->model);
  command.set_footer(
      "A line: {\"prompt\": TEXT, \"chosen\": TEXT, \"rejected\": TEXT}; without a model the values are rewards,\n"
      "or {\"policy\": ln p, \"reference\": ln p}. The reward of a text is what a reward model gives, or\n"
      "beta * (ln p of the policy - ln p of the reference). The margin is the difference of the rewards, the\n"
      "probability that of Bradley and Terry, 1 / (1 + exp(-margin)), and the loss -ln of it, which is the loss\n"
      "of DPO for a policy with a reference. Totals are means.\n"
      "\n"
      "Examples:\n"
      "  sotto eval preferences -m policy.sotto --reference base.sotto pairs.jsonl\n"
      "  sotto eval preferences -m reward.sotto pairs.jsonl --json\n"
      "  echo '{\"chosen\": 2.0, \"rejected\": 1.0}' | sotto eval preferences");
  command.on_parsed([&run, options, &command] {
    options->has_beta = is_given(command, "--beta");
    const std::string option = first_given(command, {"--threads", "--ctx", "--isa", "--no-mmap"});
    if (options->model.path.empty() && !option.empty()) reject(option, "needs --model");
    run = [options] { return run_preferences(*options); };
  });
}

}  // namespace sotto::cli
