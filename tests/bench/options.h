// The command line of sotto-bench.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "capi/include/sotto.h"
#include "tests/bench/memory.h"

namespace sotto::bench {

struct Options {
  std::string model;  // a path, or "synthetic-NAME"
  std::string keep;   // where a synthetic model stays; empty: nowhere
  uint32_t thread_count = 1;
  uint32_t runs = 7;
  // Empty: the defaults that fit the model.
  std::vector<uint32_t> prompt_lengths;
  std::vector<uint32_t> contexts;
  Pages pages = Pages::kHuge;
  sotto_isa isa = SOTTO_ISA_AUTO;
  bool micro = false;
  bool grammar = false;
  std::string grammar_directory;  // empty: none
  bool speculation = false;
  std::string peers;        // the directory of their set-up; empty: none
  std::string draft_model;  // as `model`; empty: none
  std::string against;      // as `model`; empty: none
  bool json = false;
  bool is_synthetic() const;
};

// nullopt: nothing to do but to exit with `*exit_code`.
std::optional<Options> parse_options(int argc, char** argv, int* exit_code);

// Puts the defaults in place of empty lists, and throws std::runtime_error where something
// does not fit the model.
void settle_lengths(const sotto_model_info& info, Options* options);

}  // namespace sotto::bench
