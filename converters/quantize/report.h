// What a conversion tells its user: a table for people, JSON for programs.
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
  std::string packed_isa;  // empty: not packed
  std::vector<std::string> notes;
  WriteReport written;
};

// One row a group of tensors, totals below. Ends with a newline.
std::string summary_table(const ConversionSummary& summary);

// The same and every single tensor. Ends with a newline.
std::string summary_json(const ConversionSummary& summary);

}  // namespace sotto
