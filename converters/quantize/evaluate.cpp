#include "converters/quantize/evaluate.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "converters/quantize/float_forward.h"
#include "converters/quantize/open_file.h"

namespace sotto {
namespace {

// Returns ln(sum of exp(x)).
double log_sum_exp(std::span<const float> x) {
  const double max = *std::max_element(x.begin(), x.end());
  double sum = 0;
  for (const float value : x) sum += std::exp(value - max);
  return max + std::log(sum);
}

size_t argmax(std::span<const float> x) {
  return static_cast<size_t>(std::max_element(x.begin(), x.end()) - x.begin());
}

// Sums over predictions, which become means at the end.
struct FloatSums {
  size_t prediction_count = 0;
  size_t logit_count = 0;
  double loss = 0;
  double logit_squares = 0;
};

struct QuantizedSums {
  size_t agreement_count = 0;
  double loss = 0;
  double divergence = 0;
  double error_squares = 0;
  double errors = 0;
  double max_error = 0;
};

// Adds one prediction: the logits (vocabulary) and the token that followed.
void add_prediction(std::span<const float> logits, size_t token, FloatSums* sums) {
  sums->loss += log_sum_exp(logits) - logits[token];
  double mean = 0;
  for (const float logit : logits) mean += logit;
  mean /= static_cast<double>(logits.size());
  for (const float logit : logits) sums->logit_squares += (logit - mean) * (logit - mean);
  sums->logit_count += logits.size();
  ++sums->prediction_count;
}

void add_prediction(std::span<const float> expected, std::span<const float> actual, size_t token, QuantizedSums* sums) {
  const double expected_log_sum = log_sum_exp(expected);
  const double actual_log_sum = log_sum_exp(actual);
  sums->loss += actual_log_sum - actual[token];
  for (size_t i = 0; i < expected.size(); ++i) {
    const double log_p = expected[i] - expected_log_sum;
    const double log_q = actual[i] - actual_log_sum;
    sums->divergence += std::exp(log_p) * (log_p - log_q);
    const double error = std::abs(static_cast<double>(actual[i]) - expected[i]);
    sums->errors += error;
    sums->error_squares += error * error;
    sums->max_error = std::max(sums->max_error, error);
  }
  sums->agreement_count += argmax(expected) == argmax(actual);
}

// Adds the predictions of a quantized model for a window. `expected` holds the float32 logits (token, vocabulary).
void evaluate_window(std::span<const float> expected, std::span<const sotto_token> window, Session* session,
                     QuantizedSums* sums) {
  const size_t vocabulary = expected.size() / window.size();
  session->reset();
  for (size_t t = 0; t + 1 < window.size(); ++t) {
    if (session->prefill({&window[t], 1}) != Status::ok) throw std::logic_error("a window exceeds the context");
    const View<const float> logits = session->logits();
    add_prediction(expected.subspan(t * vocabulary, vocabulary), {logits.data(), logits.size()},
                   static_cast<size_t>(window[t + 1]), sums);
  }
}

QuantizedEvaluation summarize(const QuantizedFile& file, const FloatSums& all, const QuantizedSums& sums) {
  const double predictions = static_cast<double>(all.prediction_count);
  const double logits = static_cast<double>(all.logit_count);
  return {.name = file.name,
          .file_size = file.bytes.size(),
          .lowest_snr_db = file.lowest_snr_db,
          .loss = sums.loss / predictions,
          .mean_divergence = sums.divergence / predictions,
          .top1_agreement = static_cast<double>(sums.agreement_count) / predictions,
          .error_rms = std::sqrt(sums.error_squares / logits),
          .mean_error = sums.errors / logits,
          .max_error = sums.max_error};
}

}  // namespace

double Evaluation::float_perplexity() const { return std::exp(float_loss); }
double QuantizedEvaluation::perplexity() const { return std::exp(loss); }

Evaluation evaluate(const FloatModel& model, std::span<const QuantizedFile> quantized, std::string_view text,
                    const EvaluationOptions& options) {
  std::vector<Session> sessions;
  std::vector<sotto_token> all_tokens;
  for (const QuantizedFile& file : quantized) {
    const Model other = open_file(file.bytes);
    if (other.info().vocabulary_size != model.shape.vocabulary_size) {
      throw std::runtime_error("the models do not share a vocabulary");
    }
    if (sessions.empty()) all_tokens = other.tokenize(text);
    sessions.push_back(Session::create(other));
  }
  const std::span<const sotto_token> tokens = all_tokens;
  if (tokens.size() < 2) throw std::runtime_error("the text must have at least 2 tokens");
  if (model.shape.position_count < 2) {
    throw std::runtime_error("the model must have at least 2 positions");
  }
  Evaluation result;
  result.window_tokens = std::min<size_t>(model.shape.position_count, tokens.size());
  result.window_count = tokens.size() / result.window_tokens;
  if (options.window_limit != 0) {
    result.window_count = std::min(result.window_count, options.window_limit);
  }

  FloatSums float_sums;
  std::vector<QuantizedSums> sums(quantized.size());
  const size_t vocabulary = model.shape.vocabulary_size;
  for (size_t k = 0; k < result.window_count; ++k) {
    const auto window = tokens.subspan(k * result.window_tokens, result.window_tokens);
    const std::vector<float> expected = float_forward(model, window, options.thread_count);
    for (size_t t = 0; t + 1 < window.size(); ++t) {
      add_prediction(std::span(expected).subspan(t * vocabulary, vocabulary), static_cast<size_t>(window[t + 1]),
                     &float_sums);
    }
    for (size_t i = 0; i < sums.size(); ++i) {
      evaluate_window(expected, window, &sessions[i], &sums[i]);
    }
    if (options.on_window) options.on_window(k + 1, result.window_count);
  }
  result.prediction_count = float_sums.prediction_count;
  result.float_loss = float_sums.loss / static_cast<double>(float_sums.prediction_count);
  result.logit_rms = std::sqrt(float_sums.logit_squares / static_cast<double>(float_sums.logit_count));
  for (size_t i = 0; i < sums.size(); ++i) {
    result.quantized.push_back(summarize(quantized[i], float_sums, sums[i]));
  }
  return result;
}

std::string evaluation_table(const Evaluation& e) {
  const auto format = [](const char* text, auto... values) {
    char line[256];
    std::snprintf(line, sizeof line, text, values...);
    return std::string(line);
  };
  std::string text = format("%zu windows of %zu tokens, %zu predictions; float32: perplexity %.4f, logits %.4f (rms)\n",
                            e.window_count, e.window_tokens, e.prediction_count, e.float_perplexity(), e.logit_rms);
  text += format("%-27s %11s %8s %9s %20s %8s   %s\n", "weights", "bytes", "min SNR", "mean KL", "perplexity", "top-1",
                 "logit error: rms, mean, largest");
  for (const QuantizedEvaluation& q : e.quantized) {
    text +=
        format("%-27s %11zu %5.1f dB %9.6f %10.4f %+8.3f%% %7.2f%%   %.5f %.5f %.5f\n", q.name.c_str(), q.file_size,
               q.lowest_snr_db, q.mean_divergence, q.perplexity(), 100 * (q.perplexity() / e.float_perplexity() - 1),
               100 * q.top1_agreement, q.error_rms, q.mean_error, q.max_error);
  }
  return text;
}

std::string evaluation_json(const Evaluation& e) {
  nlohmann::ordered_json json = {{"windows", e.window_count},
                                 {"window_tokens", e.window_tokens},
                                 {"predictions", e.prediction_count},
                                 {"logit_rms", e.logit_rms},
                                 {"float32", {{"loss", e.float_loss}, {"perplexity", e.float_perplexity()}}}};
  for (const QuantizedEvaluation& q : e.quantized) {
    json[q.name] = {{"bytes", q.file_size},
                    {"lowest_snr_db", q.lowest_snr_db},
                    {"loss", q.loss},
                    {"perplexity", q.perplexity()},
                    {"perplexity_ratio", q.perplexity() / e.float_perplexity()},
                    {"mean_kl", q.mean_divergence},
                    {"top1_agreement", q.top1_agreement},
                    {"logit_error", {{"rms", q.error_rms}, {"mean", q.mean_error}, {"max", q.max_error}}}};
  }
  return json.dump(2) + "\n";
}

}  // namespace sotto
