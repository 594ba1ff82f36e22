// The command line of sotto-bench.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "capi/include/sotto.h"
#include "tests/bench/machine/memory.h"

namespace sotto::bench {

struct Options {
  std::string model;  // a path or "synthetic-NAME"
  std::string keep;   // path where a synthetic model is kept; empty to delete it
  uint32_t thread_count = 1;
  uint32_t runs = 7;
  // Empty lists mean defaults that fit the model.
  std::vector<uint32_t> prompt_lengths;
  std::vector<uint32_t> contexts;
  Pages pages = Pages::kHuge;
  sotto_isa isa = SOTTO_ISA_AUTO;
  bool micro = false;
  bool grammar = false;
  std::string grammar_directory;  // empty for none
  bool speculation = false;
  bool no_cache = false;
  std::string peers;        // directory that peers/setup.sh has set up; empty for none
  std::string draft_model;  // like `model`; empty for none
  std::string against;      // like `model`; empty for none
  bool report = false;
  bool json = false;
  bool is_synthetic() const;
};

// Parses the command line. Returns nullopt if the program must exit with `*exit_code`.
std::optional<Options> parse_options(int argc, char** argv, int* exit_code);

// Replaces empty lists by defaults. Throws std::runtime_error if a setting does not fit the model.
void set_default_lengths(const sotto_model_info& info, Options* options);

}  // namespace sotto::bench
