#include "platforms/cli/support/distribution.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "platforms/cli/support/text.h"

namespace sotto::cli {

double Outcome::probability() const { return std::exp(log_probability); }

Distribution::Distribution(std::vector<Outcome> outcomes) : outcomes_(std::move(outcomes)) {
  std::sort(outcomes_.begin(), outcomes_.end(), [](const Outcome& a, const Outcome& b) {
    return a.log_probability != b.log_probability ? a.log_probability > b.log_probability : a.token < b.token;
  });
  Token last = -1;
  for (const Outcome& outcome : outcomes_) {
    last = std::max(last, outcome.token);
    entropy_ -= outcome.probability() * outcome.log_probability;
  }
  entropy_ = std::max(entropy_, 0.0);
  places_.resize(static_cast<size_t>(last + 1));
  for (size_t i = 0; i < outcomes_.size(); ++i) places_[static_cast<size_t>(outcomes_[i].token)] = i + 1;
}

Distribution Distribution::of_model(View<const float> logits) {
  double max = -std::numeric_limits<double>::infinity();
  for (const float logit : logits) max = std::max<double>(max, std::isnan(logit) ? max : logit);
  std::vector<Outcome> outcomes;
  double sum = 0.0;
  for (size_t i = 0; i < logits.size(); ++i) {
    const double difference = static_cast<double>(logits[i]) - max;
    if (!(difference > -std::numeric_limits<double>::infinity())) continue;
    sum += std::exp(difference);
    outcomes.push_back({static_cast<Token>(i), difference});
  }
  for (Outcome& outcome : outcomes) outcome.log_probability -= std::log(sum);
  return Distribution(std::move(outcomes));
}

Distribution Distribution::of_chain(Sampler& sampler, const SamplerInput& input) {
  std::vector<Outcome> outcomes;
  for (const Candidate& candidate : sampler.apply(input)) {
    if (candidate.probability > 0.0f) outcomes.push_back({candidate.token, std::log(double{candidate.probability})});
  }
  return Distribution(std::move(outcomes));
}

Distribution Distribution::at_temperature(double temperature) const {
  std::vector<Outcome> outcomes = outcomes_;
  double sum = 0.0;
  for (Outcome& outcome : outcomes) {
    outcome.log_probability = (outcome.log_probability - outcomes_.front().log_probability) / temperature;
    sum += outcome.probability();
  }
  for (Outcome& outcome : outcomes) outcome.log_probability -= std::log(sum);
  return Distribution(std::move(outcomes));
}

double Distribution::effective_vocabulary() const { return std::exp(entropy_); }

size_t Distribution::nucleus_size(double mass) const {
  double sum = 0.0;
  size_t count = 0;
  while (count < outcomes_.size() && sum < mass) sum += outcomes_[count++].probability();
  return count;
}

size_t Distribution::rank(Token token) const {
  return static_cast<size_t>(token) < places_.size() ? places_[static_cast<size_t>(token)] : 0;
}

double Distribution::log_probability(Token token) const {
  const size_t place = rank(token);
  return place != 0 ? outcomes_[place - 1].log_probability : -std::numeric_limits<double>::infinity();
}

double Distribution::divergence_from(const Distribution& other) const {
  double sum = 0.0;
  for (const Outcome& outcome : outcomes_) {
    sum += outcome.probability() * (outcome.log_probability - other.log_probability(outcome.token));
  }
  return std::max(sum, 0.0);
}

double Distribution::mass_in(const Distribution& other) const {
  double sum = 0.0;
  for (const Outcome& outcome : outcomes_) sum += std::exp(other.log_probability(outcome.token));
  return sum;
}

std::string likeliest(const Distribution& distribution, const LoadedModel& model, size_t count) {
  std::string text;
  for (const Outcome& outcome : distribution.outcomes()) {
    if (count-- == 0) break;
    text += (text.empty() ? "" : ", ") + shown_token(outcome.token, model) + ' ' + decimal(outcome.probability(), 3);
  }
  return text;
}

Json token_json(Token token, const LoadedModel& model) {
  Json object = {{"token", token}};
  object.update(text_json(model.text_of({token})));
  return object;
}

Json distribution_json(const Distribution& distribution) {
  return {{"kept", distribution.outcomes().size()},
          {"entropy", distribution.entropy()},
          {"effective_vocabulary", distribution.effective_vocabulary()}};
}

Json likeliest_json(const Distribution& distribution, const LoadedModel& model, size_t count,
                    const Distribution* sampled) {
  Json list = Json::array();
  for (size_t i = 0; i < std::min(count, distribution.outcomes().size()); ++i) {
    const Outcome& outcome = distribution.outcomes()[i];
    Json entry = token_json(outcome.token, model);
    entry["rank"] = i + 1;
    entry["probability"] = outcome.probability();
    entry["log_probability"] = outcome.log_probability;
    if (sampled != nullptr) entry["sampled_probability"] = std::exp(sampled->log_probability(outcome.token));
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace sotto::cli
