// The report of a conversion: a human-readable table and picture, and JSON for programs.
#pragma once

#include <string>
#include <vector>

#include "converters/model_writer.h"
#include "converters/readers/checkpoint.h"

namespace sotto {

struct ConversionSummary {
  CheckpointInfo info;
  std::string output;
  bool has_tokenizer = false;
  std::string packed_isa;  // empty if the weights are not packed
  std::vector<std::string> notes;
  WriteReport written;
};

// Returns a table with one row per group of tensors, and totals. Ends with a newline.
std::string summary_table(const ConversionSummary& summary);

// Returns a picture of the signal-to-noise ratios of the quantized tensors by layer. Ends with a newline.
std::string summary_svg(const ConversionSummary& summary);

// Returns the figures of the table and of every single tensor as JSON. Ends with a newline.
std::string summary_json(const ConversionSummary& summary);

}  // namespace sotto
