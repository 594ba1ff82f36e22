// Chooses the tokens for calibration: text of the user, or text that the model itself generates. Generated text
// resembles the training data, so no data is needed (Liu et al. 2023, "LLM-QAT: Data-Free Quantization Aware
// Training").
#pragma once

#include <string_view>
#include <vector>

#include "converters/model_writer.h"

namespace sotto {

// Samples windows from the checkpoint with int8 weights, which is fast and gives the same tokens on every machine. If
// the model has an end-of-text token, half of the windows begin with it; all others begin with a random token.
std::vector<TokenWindow> write_calibration_text(const Checkpoint& checkpoint, const WriteOptions& options);

// Tokenizes `text` with the options' tokenizer and takes windows at equal distances. Throws std::runtime_error if the
// text is empty.
std::vector<TokenWindow> cut_calibration_text(const Checkpoint& checkpoint, const WriteOptions& options,
                                              std::string_view text);

}  // namespace sotto
