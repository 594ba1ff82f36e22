// The arguments of sotto-convert.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "converters/model_writer.h"
#include "converters/readers/checkpoint.h"

namespace sotto {

struct Command {
  std::filesystem::path checkpoint;  // empty with --synthetic
  std::string synthetic;             // name of the shape of a synthetic model
  ModelShape synthetic_shape;
  uint64_t seed = 0;
  std::filesystem::path output;  // empty with --evaluate
  std::filesystem::path evaluation_text;
  uint32_t window_limit = 0;         // 0 means all of the text
  std::filesystem::path vocabulary;  // if empty, the directory of the checkpoint
  std::string name;                  // if empty, the name of the checkpoint
  WeightKind weights = WeightKind::kInt8;
  WeightKind head = WeightKind::kInt8;
  std::string pack = "none";
  bool force = false;
  bool json = false;
  bool quiet = false;
};

// Returns nullopt if the program must end with `*exit_code`. Help or the error has been printed then.
std::optional<Command> parse_command_line(int argc, char** argv, int* exit_code);

}  // namespace sotto
