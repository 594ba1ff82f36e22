// The command line of sotto-convert.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "converters/model_writer.h"
#include "converters/readers/checkpoint.h"
#include "platforms/command_line/command_line.h"

namespace sotto {

// The parsed command line.
struct Arguments {
  std::filesystem::path checkpoint;  // empty with --synthetic
  std::string synthetic;             // name of the shape of a synthetic model
  ModelShape synthetic_shape;
  uint64_t seed = 0;
  std::filesystem::path output;   // empty with --dry-run, --simulate, --evaluate, --compare and --verify
  std::filesystem::path picture;  // of the summary, as SVG, or empty
  std::filesystem::path evaluation_text;
  bool compares_all = false;         // --compare: evaluate every width and calibration
  uint32_t window_limit = 0;         // 0 means all of the text
  std::filesystem::path vocabulary;  // if empty, the directory of the checkpoint
  std::string name;                  // if empty, the name of the checkpoint
  std::string source;                // if empty, the file or directory
  ReadOptions reading;
  WeightKind weights = WeightKind::kInt8;
  WeightKind head = WeightKind::kInt8;
  std::string calibration = "outliers";  // "outliers", "model", "none", or a file of text
  std::string pack = "none";
  std::string export_format;       // "safetensors" or "gguf", or empty
  std::filesystem::path verified;  // the .sotto file to verify, or empty
  bool dry_run = false;
  bool simulates = false;     // --simulate
  double kept_percent = 1.0;  // of the weights, with --simulate
  bool force = false;
  bool json = false;
  bool quiet = false;
};

// Declares the options of the program, whose values go to `arguments`, and their checks.
void add_arguments(cli::Command& command, Arguments& arguments);

}  // namespace sotto
