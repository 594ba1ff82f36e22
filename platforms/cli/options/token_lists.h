// The sampler's lists of tokens as options and as JSON: a generated table.
#pragma once

#include <string>

#include "platforms/cli/options/parameters.h"
#include "platforms/cli/support/model.h"

namespace sotto::cli {

struct TokenListParam {
  const char* names;  // in JSON, the library's first
  TokenList SamplerParams::*list;
  const char* option = nullptr;  // its values are ids or texts; null if the option is declared in code
  const char* group = nullptr;
  const char* help = nullptr;
  const char* needs = nullptr;  // another option, or ""

  std::string main_option() const { return split_names(option).front(); }
};

#include "platforms/cli/generated/token_lists.inc"

}  // namespace sotto::cli
