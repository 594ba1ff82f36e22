// Reads lines that a person types. With libedit, the cursor keys edit and repeat lines, and Tab completes names.
// Otherwise the terminal edits lines.
#pragma once

#include <string>
#include <vector>

#include "platforms/cli/support/text.h"

namespace sotto::cli {

class LineEditor {
 public:
  // Tab completes the first word of a line to one of `names`. Only one editor may exist at a time.
  explicit LineEditor(std::vector<std::string> names);

  // Shows "> ", in bold unless NO_COLOR is set, and reads a line without its end. Returns false at the end of the
  // input. Throws a Failure that names line `number`.
  bool read(const Input& input, uint64_t number, std::string& line) const;

 private:
  bool edits_;
};

}  // namespace sotto::cli
