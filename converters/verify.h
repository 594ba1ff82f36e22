// Compares a .sotto file with a checkpoint.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "converters/readers/checkpoint.h"
#include "converters/readers/model_file.h"

namespace sotto {

struct Verification {
  std::vector<std::string> differences;  // in shapes and settings; if there are any, logits are not compared
  size_t token_count = 0;
  // Root mean square of the differences between the logits, divided by the standard deviation of the checkpoint's
  // logits within a row. Quantization gives a few percent, and other weights give more than 1.
  double logit_error = 0;
  double top1_agreement = 0;  // fraction of the positions with the same most likely token

  bool is_same() const { return differences.empty() && logit_error < 0.5; }
};

// Evaluates both models in float32 on the same window of random tokens, and compares the logits. The window is equal in
// every run. The weights are not compared, because a converter may move factors from one weight to another. Needs
// memory for both models.
Verification verify(const ModelFile& model, const Checkpoint& checkpoint, unsigned thread_count);

// Returns lines of text that end with a newline.
std::string verification_text(const Verification& verification);

}  // namespace sotto
