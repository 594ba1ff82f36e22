// The distribution of the next token: under the model, and after the stages of a sampler.
#pragma once

#include <string>
#include <vector>

#include "platforms/cli/support/json.h"
#include "platforms/cli/support/model.h"

namespace sotto::cli {

struct Outcome {
  Token token;
  double log_probability;
  double probability() const;
};

// The tokens that can be drawn, most likely first. Equally likely tokens are in the order of their ids.
class Distribution {
 public:
  // Returns softmax(logits). NaN counts as -infinity.
  static Distribution of_model(View<const float> logits);
  // Returns what the chain of the sampler leaves.
  static Distribution of_chain(Sampler& sampler, const SamplerInput& input);
  // Returns the distribution p^(1/T), normalized. `temperature` is greater than 0.
  Distribution at_temperature(double temperature) const;

  const std::vector<Outcome>& outcomes() const { return outcomes_; }
  double entropy() const { return entropy_; }  // in nats
  // Returns the number of equally likely tokens with the same entropy, exp(H).
  double effective_vocabulary() const;
  // Returns the size of the nucleus: the smallest number of tokens that have this probability together.
  size_t nucleus_size(double mass) const;
  double log_probability(Token token) const;  // -infinity for a token that cannot be drawn
  size_t rank(Token token) const;             // 1 for the most likely token, or 0 for a token that cannot be drawn
  // Returns the Kullback-Leibler divergence from `other`, sum p ln(p / q), where q are the probabilities of `other`.
  double divergence_from(const Distribution& other) const;
  // Returns the probability that `other` draws one of the tokens of this distribution.
  double mass_in(const Distribution& other) const;

 private:
  explicit Distribution(std::vector<Outcome> outcomes);

  std::vector<Outcome> outcomes_;
  std::vector<size_t> places_;  // per token: its place in outcomes_ plus 1, or 0
  double entropy_ = 0.0;
};

// Returns for example `" the" 0.312, " a" 0.101`, for at most `count` tokens.
std::string likeliest(const Distribution& distribution, const LoadedModel& model, size_t count);

// Returns {"token", "text"}.
Json token_json(Token token, const LoadedModel& model);

// Returns {"kept", "entropy", "effective_vocabulary"}.
Json distribution_json(const Distribution& distribution);

// Returns a list of at most `count` objects {"token", "text", "rank", "probability", "log_probability"}, most likely
// first. If `sampled` is given, they also have its probability as "sampled_probability".
Json likeliest_json(const Distribution& distribution, const LoadedModel& model, size_t count,
                    const Distribution* sampled = nullptr);

}  // namespace sotto::cli
