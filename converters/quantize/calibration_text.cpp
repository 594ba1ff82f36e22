#include "converters/quantize/calibration_text.h"

#include <algorithm>
#include <random>
#include <span>
#include <stdexcept>

#include "converters/quantize/open_file.h"
#include "kernels/kernels.h"

namespace sotto {
namespace {

constexpr size_t kWindows = 8;
constexpr size_t kWindowTokens = 512;

size_t window_tokens(const Checkpoint& checkpoint) {
  return std::min<size_t>(kWindowTokens, checkpoint.info().shape.position_count);
}

Model open_int8(const Checkpoint& checkpoint, const WriteOptions& options) {
  WriteOptions plain;
  plain.tokenizer = options.tokenizer;
  return open_file(convert_to_bytes(checkpoint, plain));
}

// Draws a token with the probabilities softmax(logits).
int32_t draw_token(std::span<const float> logits, std::mt19937& random) {
  const Kernels& kernels = *find_kernels(Isa::kAuto);
  std::vector<float> weights(logits.size());
  const float sum =
      kernels.exp_shifted(logits.data(), logits.size(), kernels.max(logits.data(), logits.size()), weights.data());
  double rest = sum * (random() / 4294967296.0);
  for (size_t i = 0; i < weights.size(); ++i) {
    rest -= weights[i];
    if (rest < 0) return static_cast<int32_t>(i);
  }
  // Rounding errors may leave a rest, although the sum of the weights is used up.
  return static_cast<int32_t>(kernels.argmax(logits.data(), logits.size()));
}

}  // namespace

std::vector<TokenWindow> write_calibration_text(const Checkpoint& checkpoint, const WriteOptions& options) {
  const Model model = open_int8(checkpoint, options);
  const CheckpointInfo& info = checkpoint.info();
  Session session = Session::create(model);
  std::mt19937 random(1);
  std::vector<TokenWindow> windows(kWindows);
  for (size_t i = 0; i < kWindows; ++i) {
    TokenWindow& window = windows[i];
    const bool begins_text = i % 2 == 0 && info.end_of_text_token >= 0;
    window = {begins_text ? info.end_of_text_token : static_cast<int32_t>(random() % info.shape.vocabulary_size)};
    session.reset();
    while (window.size() < window_tokens(checkpoint)) {
      if (session.prefill({&window.back(), 1}) != Status::ok) throw std::logic_error("a window exceeds the context");
      const View<const float> logits = session.logits();
      window.push_back(draw_token({logits.data(), logits.size()}, random));
    }
    if (options.progress) options.progress(0);
  }
  return windows;
}

std::vector<TokenWindow> cut_calibration_text(const Checkpoint& checkpoint, const WriteOptions& options,
                                              std::string_view text) {
  const std::vector<sotto_token> tokens = open_int8(checkpoint, options).tokenize(text);
  if (tokens.empty()) throw std::runtime_error("the text for calibration is empty");
  const size_t size = std::min(window_tokens(checkpoint), tokens.size());
  const size_t count = std::min(kWindows, tokens.size() / size);
  std::vector<TokenWindow> windows;
  for (size_t i = 0; i < count; ++i) {
    const auto first = tokens.begin() + static_cast<ptrdiff_t>(i * (tokens.size() / count));
    windows.emplace_back(first, first + static_cast<ptrdiff_t>(size));
  }
  return windows;
}

}  // namespace sotto
