// The command line of sotto-convert.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "converters/model_writer.h"
#include "converters/readers/checkpoint.h"
#include "platforms/command_line/command_line.h"

namespace sotto {

// The tasks of the program. kConvert also stands for --dry-run.
enum class Task { kConvert, kExport, kEvaluate, kCompare, kSimulate, kVerify };

// The parsed command line.
struct Arguments {
  Task task = Task::kConvert;
  std::filesystem::path checkpoint;  // empty with --synthetic
  std::string synthetic;             // name of the shape of a synthetic model
  ModelShape synthetic_shape;
  uint64_t seed = 0;
  std::filesystem::path output;           // empty with --dry-run, and for tasks that write no file
  std::filesystem::path picture;          // of the summary, as SVG, or empty
  std::filesystem::path evaluation_text;  // for kEvaluate and kCompare
  uint32_t window_limit = 0;              // 0 means all of the text
  std::filesystem::path vocabulary;       // if empty, the directory of the checkpoint
  std::string name;                       // if empty, the name of the checkpoint
  std::string source;                     // if empty, the file or directory
  ReadOptions reading;
  WeightKind weights = WeightKind::kInt8;
  WeightKind head = WeightKind::kInt8;
  std::string calibration = "outliers";  // "outliers", "model", "none", or a file of text
  std::string pack = "none";
  std::string export_format;       // "safetensors" or "gguf", for kExport
  std::filesystem::path verified;  // the .sotto file, for kVerify
  bool dry_run = false;
  double kept_percent = 1.0;  // of the weights, for kSimulate
  bool force = false;
  bool json = false;
  bool quiet = false;
};

// Declares the options of the program and their checks. Values go to `arguments`.
void add_arguments(cli::Command& command, Arguments& arguments);

}  // namespace sotto
