// Text of a caller, not terminated. Laid out as sotto_text.
#pragma once

#include <cstddef>

namespace sotto {

struct TextView {
  const char* text;
  size_t size;
};

}  // namespace sotto
