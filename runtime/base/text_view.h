// A text of the caller, not terminated. It has the layout of sotto_text.
#pragma once

#include <cstddef>

namespace sotto {

struct TextView {
  const char* text;
  size_t size;
};

}  // namespace sotto
