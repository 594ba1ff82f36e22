#include "converters/verify.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <span>
#include <string_view>
#include <type_traits>

#include "converters/quantize/float_forward.h"
#include "runtime/base/random.h"

namespace sotto {
namespace {

std::vector<std::string> find_differences(const CheckpointInfo& model, const CheckpointInfo& checkpoint) {
  std::vector<std::string> differences;
  const auto compare = [&](const char* name, const auto& a, const auto& b) {
    if (a == b) return;
    const auto text = [](const auto& value) {
      if constexpr (std::is_convertible_v<decltype(value), std::string_view>) {
        return std::string(value);
      } else {
        return std::to_string(value);
      }
    };
    differences.push_back(std::string(name) + " is " + text(a) + " in the file, " + text(b) + " in the checkpoint");
  };
  compare("the vocabulary size", model.shape.vocabulary_size, checkpoint.shape.vocabulary_size);
  compare("the number of rewards", model.reward_count, checkpoint.reward_count);
  compare("the number of positions", model.shape.position_count, checkpoint.shape.position_count);
  compare("the embedding size", model.shape.embedding_size, checkpoint.shape.embedding_size);
  compare("the number of heads", model.shape.head_count, checkpoint.shape.head_count);
  compare("the feed-forward size", model.shape.feed_forward_size, checkpoint.shape.feed_forward_size);
  compare("the number of layers", model.shape.layer_count, checkpoint.shape.layer_count);
  compare("the activation", activation_name(model.activation), activation_name(checkpoint.activation));
  compare("the epsilon of the norms", model.norm_epsilon, checkpoint.norm_epsilon);
  compare("the end-of-text token", model.end_of_text_token, checkpoint.end_of_text_token);
  return differences;
}

}  // namespace

Verification verify(const ModelFile& model, const Checkpoint& checkpoint, unsigned thread_count) {
  Verification result;
  result.differences = find_differences(model.info(), checkpoint.info());
  if (!result.differences.empty()) return result;

  constexpr uint32_t kMaxTokens = 64;
  const ModelShape& shape = checkpoint.info().shape;
  result.token_count = std::min(kMaxTokens, shape.position_count);
  std::vector<int32_t> tokens(result.token_count);
  for (size_t i = 0; i < tokens.size(); ++i) {
    tokens[i] = static_cast<int32_t>(split_mix(0, i) % shape.vocabulary_size);
  }
  const std::vector<float> expected = float_forward(load_float_model(checkpoint), tokens, thread_count);
  const std::vector<float> actual = float_forward(load_float_model(model), tokens, thread_count);

  double error = 0, signal = 0;
  size_t agreements = 0;
  for (size_t row = 0; row < tokens.size(); ++row) {
    const auto a = std::span(expected).subspan(row * shape.vocabulary_size, shape.vocabulary_size);
    const auto b = std::span(actual).subspan(row * shape.vocabulary_size, shape.vocabulary_size);
    const double mean = std::accumulate(a.begin(), a.end(), 0.0) / static_cast<double>(a.size());
    for (size_t i = 0; i < a.size(); ++i) {
      error += (a[i] - double{b[i]}) * (a[i] - double{b[i]});
      signal += (a[i] - mean) * (a[i] - mean);
    }
    const auto best = [](auto logits) { return std::max_element(logits.begin(), logits.end()) - logits.begin(); };
    if (best(a) == best(b)) ++agreements;
  }
  result.logit_error = signal > 0 ? std::sqrt(error / signal) : error;
  result.top1_agreement = static_cast<double>(agreements) / static_cast<double>(tokens.size());
  return result;
}

std::string verification_text(const Verification& verification) {
  std::string text;
  for (const std::string& difference : verification.differences) text += difference + "\n";
  if (verification.differences.empty()) {
    char line[160];
    std::snprintf(line, sizeof line, "error of the logits %.2f%%, same most likely token at %.0f%% of %zu positions\n",
                  100 * verification.logit_error, 100 * verification.top1_agreement, verification.token_count);
    text += line;
  }
  return text + (verification.is_same() ? "the file holds the checkpoint's weights\n"
                                        : "the file does not hold the checkpoint's weights\n");
}

}  // namespace sotto
