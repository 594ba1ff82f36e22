#include "converters/evaluate.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <stdexcept>

#include "converters/file.h"
#include "converters/float_forward.h"
#include "converters/model_writer.h"

namespace sotto {
namespace {

// ln sum exp(x).
double log_sum_exp(std::span<const float> x) {
  const double max = *std::max_element(x.begin(), x.end());
  double sum = 0;
  for (const float value : x) sum += std::exp(value - max);
  return max + std::log(sum);
}

size_t argmax(std::span<const float> x) {
  return static_cast<size_t>(std::max_element(x.begin(), x.end()) - x.begin());
}

// Sums over predictions; the means are taken at the end.
struct Sums {
  size_t prediction_count = 0;
  size_t agreement_count = 0;
  size_t logit_count = 0;
  double float_loss = 0;
  double int8_loss = 0;
  double divergence = 0;
  double logit_squares = 0;
  double error_squares = 0;
  double errors = 0;
  double max_error = 0;
};

// One prediction: the logits (vocabulary) of both and the token that came.
void add_prediction(std::span<const float> expected, std::span<const float> actual, size_t token,
                    Sums* sums) {
  const double expected_log_sum = log_sum_exp(expected);
  const double actual_log_sum = log_sum_exp(actual);
  sums->float_loss += expected_log_sum - expected[token];
  sums->int8_loss += actual_log_sum - actual[token];

  double mean = 0;
  for (const float logit : expected) mean += logit;
  mean /= static_cast<double>(expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    const double log_p = expected[i] - expected_log_sum;
    const double log_q = actual[i] - actual_log_sum;
    sums->divergence += std::exp(log_p) * (log_p - log_q);
    const double error = std::abs(static_cast<double>(actual[i]) - expected[i]);
    sums->errors += error;
    sums->error_squares += error * error;
    sums->max_error = std::max(sums->max_error, error);
    sums->logit_squares += (expected[i] - mean) * (expected[i] - mean);
  }
  sums->logit_count += expected.size();
  sums->agreement_count += argmax(expected) == argmax(actual);
  ++sums->prediction_count;
}

void evaluate_window(const FloatModel& model, std::span<const sotto_token> window,
                     unsigned thread_count, Int8Session* session, Sums* sums) {
  const size_t vocabulary = model.shape.vocabulary_size;
  const std::vector<float> expected = float_forward(model, window, thread_count);
  session->reset();
  for (size_t t = 0; t + 1 < window.size(); ++t) {
    session->prefill(window.subspan(t, 1));
    add_prediction(std::span(expected).subspan(t * vocabulary, vocabulary), session->logits(),
                   static_cast<size_t>(window[t + 1]), sums);
  }
}

Evaluation summarize(const Sums& sums, size_t window_count, size_t window_tokens) {
  const double predictions = static_cast<double>(sums.prediction_count);
  const double logits = static_cast<double>(sums.logit_count);
  Evaluation evaluation;
  evaluation.window_count = window_count;
  evaluation.window_tokens = window_tokens;
  evaluation.prediction_count = sums.prediction_count;
  evaluation.float_loss = sums.float_loss / predictions;
  evaluation.int8_loss = sums.int8_loss / predictions;
  evaluation.mean_divergence = sums.divergence / predictions;
  evaluation.top1_agreement = static_cast<double>(sums.agreement_count) / predictions;
  evaluation.logit_rms = std::sqrt(sums.logit_squares / logits);
  evaluation.error_rms = std::sqrt(sums.error_squares / logits);
  evaluation.mean_error = sums.errors / logits;
  evaluation.max_error = sums.max_error;
  return evaluation;
}

// A name in the system's directory for temporary files; the file is removed at the end.
class TemporaryPath {
 public:
  TemporaryPath()
      : path_(std::filesystem::temp_directory_path() /
              ("sotto-" + std::to_string(std::random_device{}()) + ".sotto")) {}
  ~TemporaryPath() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  TemporaryPath(const TemporaryPath&) = delete;
  TemporaryPath& operator=(const TemporaryPath&) = delete;

  const std::filesystem::path& get() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace

std::vector<uint8_t> convert_to_bytes(const Checkpoint& checkpoint,
                                      const TokenizerData* tokenizer) {
  const TemporaryPath path;
  WriteOptions options;
  options.tokenizer = tokenizer;
  write_model(checkpoint, path.get(), options);
  const InputFile file(path.get());
  std::vector<uint8_t> bytes(file.size());
  file.read_at(0, bytes.data(), bytes.size());
  return bytes;
}

double Evaluation::float_perplexity() const { return std::exp(float_loss); }
double Evaluation::int8_perplexity() const { return std::exp(int8_loss); }

Evaluation evaluate(const FloatModel& model, const Int8Model& int8,
                    std::span<const sotto_token> tokens, const EvaluationOptions& options) {
  if (tokens.size() < 2) throw std::runtime_error("the text has nothing to predict");
  if (int8.info().vocabulary_size != model.shape.vocabulary_size) {
    throw std::runtime_error("the two models do not share a vocabulary");
  }
  const size_t window_tokens = std::min<size_t>(model.shape.position_count, tokens.size());
  size_t window_count = tokens.size() / window_tokens;
  if (options.window_limit != 0) window_count = std::min(window_count, options.window_limit);

  Int8Session session(int8);
  Sums sums;
  for (size_t k = 0; k < window_count; ++k) {
    evaluate_window(model, tokens.subspan(k * window_tokens, window_tokens), options.thread_count,
                    &session, &sums);
    if (options.on_window) options.on_window(k + 1, window_count);
  }
  return summarize(sums, window_count, window_tokens);
}

std::string evaluation_table(const Evaluation& e) {
  char text[1024];
  std::snprintf(text, sizeof text,
                "%zu windows of %zu tokens, %zu predictions\n"
                "                       float32        int8\n"
                "loss (nats)         %10.5f  %10.5f\n"
                "perplexity          %10.4f  %10.4f  (%+.3f%%)\n"
                "mean KL divergence  %10.6f  nats, float32 against int8\n"
                "top-1 agreement     %9.2f%%\n"
                "logit error         %10.5f  rms (logits: %.4f rms), %.5f mean, %.5f max\n",
                e.window_count, e.window_tokens, e.prediction_count, e.float_loss, e.int8_loss,
                e.float_perplexity(), e.int8_perplexity(),
                100 * (e.int8_perplexity() / e.float_perplexity() - 1), e.mean_divergence,
                100 * e.top1_agreement, e.error_rms, e.logit_rms, e.mean_error, e.max_error);
  return text;
}

std::string evaluation_json(const Evaluation& e) {
  const nlohmann::ordered_json json = {
      {"windows", e.window_count},
      {"window_tokens", e.window_tokens},
      {"predictions", e.prediction_count},
      {"float32", {{"loss", e.float_loss}, {"perplexity", e.float_perplexity()}}},
      {"int8", {{"loss", e.int8_loss}, {"perplexity", e.int8_perplexity()}}},
      {"perplexity_ratio", e.int8_perplexity() / e.float_perplexity()},
      {"mean_kl", e.mean_divergence},
      {"top1_agreement", e.top1_agreement},
      {"logit_rms", e.logit_rms},
      {"logit_error", {{"rms", e.error_rms}, {"mean", e.mean_error}, {"max", e.max_error}}}};
  return json.dump(2) + "\n";
}

}  // namespace sotto
