// The names that options and JSON have for the values of the C interface.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "capi/include/sotto.h"

namespace sotto::cli {

struct Name {
  const char* name;
  int32_t value;
};

// The first name of a value is the one that is printed.
using Names = std::span<const Name>;

Names order_names();
Names stage_names();
Names selection_names();
Names dola_names();
Names watermark_names();
Names overflow_names();
Names search_names();
Names length_norm_names();
Names early_stopping_names();
Names rerank_names();
Names pooling_names();
Names guide_names();
Names stop_names();
Names grammar_names();
Names json_space_names();

// Also with "-" for "_", in lower or upper case.
std::optional<int32_t> find_value(Names names, std::string_view name);

// "unknown" for a value without one.
const char* name_of(Names names, int32_t value);

// "a, b, c": the first names.
std::string listed(Names names);

}  // namespace sotto::cli
