// Measures how much quality is lost by quantization: perplexity before and after, and the distance between the
// predictions of the runtime and of the float32 model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "converters/readers/checkpoint.h"

namespace sotto {

struct EvaluationOptions {
  size_t window_limit = 0;                                   // 0 means the whole text
  unsigned thread_count = 1;                                 // number of threads for the float32 model
  std::function<void(size_t done, size_t total)> on_window;  // may be empty
};

// A quantized version of the model, as a .sotto file.
struct QuantizedFile {
  std::string name;  // for example "int8"
  std::vector<uint8_t> bytes;
  double lowest_snr_db = 0;  // lowest signal-to-noise ratio of a tensor
};

// Figures of one quantized model compared with float32, over all predictions.
struct QuantizedEvaluation {
  std::string name;
  size_t file_size = 0;
  double lowest_snr_db = 0;
  double loss = 0;             // mean of -ln p for the next token of the text
  double mean_divergence = 0;  // Kullback-Leibler divergence of this model from float32, in nats
  double top1_agreement = 0;   // fraction of predictions with the same most likely token
  double error_rms = 0;        // root mean square of the differences from the float32 logits
  double mean_error = 0;       // mean magnitude of these differences
  double max_error = 0;

  double perplexity() const;
};

struct Evaluation {
  size_t window_count = 0;
  size_t window_tokens = 0;
  size_t prediction_count = 0;
  double float_loss = 0;
  double logit_rms = 0;  // root mean square of the float32 logits around the mean of their row
  std::vector<QuantizedEvaluation> quantized;

  double float_perplexity() const;
};

// Evaluates the models on `text`. The tokenizer of the first file tokenizes it. The tokens are cut into windows of the
// model's whole context; an incomplete last window is dropped unless it is the only one. Each window starts at position
// 0, and every token of it except the first is predicted. Throws std::runtime_error, or sotto::Error (sotto.hpp) for
// errors of the runtime.
Evaluation evaluate(const FloatModel& model, std::span<const QuantizedFile> quantized, std::string_view text,
                    const EvaluationOptions& options);

// Returns a table with one row per quantized file. Ends with a newline.
std::string evaluation_table(const Evaluation& evaluation);
std::string evaluation_json(const Evaluation& evaluation);

}  // namespace sotto
