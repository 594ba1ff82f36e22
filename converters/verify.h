// Compares a .sotto file with a checkpoint.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "converters/readers/checkpoint.h"
#include "converters/readers/model_file.h"

namespace sotto {

struct Verification {
  std::vector<std::string> differences;  // in shapes and settings; the rest is 0 if there are any
  size_t token_count = 0;
  // Root mean square of the differences between the logits of both, as a fraction of the root mean square of the
  // checkpoint's logits around the mean of their row. Quantization gives a few percent, other weights more than 1.
  double logit_error = 0;
  double top1_agreement = 0;  // fraction of the positions with the same most likely token

  bool is_same() const { return differences.empty() && logit_error < 0.5; }
};

// Computes both models in float32 on a window of random tokens, the same ones in every run. This compares what the
// models compute, because a converter may exchange factors between weights. Both models are in memory as a whole.
Verification verify(const ModelFile& model, const Checkpoint& checkpoint, unsigned thread_count);

// Returns lines of text that end with a newline.
std::string verification_text(const Verification& verification);

}  // namespace sotto
