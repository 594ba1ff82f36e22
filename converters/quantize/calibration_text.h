// The tokens on which weights are calibrated: text of the user, or text that the model writes itself, which needs no
// data and resembles what the model has learned (Liu et al. 2023, "LLM-QAT: Data-Free Quantization Aware Training").
#pragma once

#include <string_view>
#include <vector>

#include "converters/model_writer.h"

namespace sotto {

// Samples windows from the checkpoint with int8 weights, which is fast and gives the same tokens on every machine. Half
// of the windows begin with the end-of-text token, where the model has one, the others with a random token.
std::vector<TokenWindow> write_calibration_text(const Checkpoint& checkpoint, const WriteOptions& options);

// Tokenizes `text` with the options' tokenizer and takes windows at equal distances. Throws std::runtime_error if the
// text is empty.
std::vector<TokenWindow> cut_calibration_text(const Checkpoint& checkpoint, const WriteOptions& options,
                                              std::string_view text);

}  // namespace sotto
