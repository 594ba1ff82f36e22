// JSON lines: a request a line in, its answer a line out.
#include "platforms/cli/support/json_lines.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "platforms/cli/support/failure.h"
#include "platforms/cli/support/text.h"

namespace sotto::cli {
namespace {

// Returns false at the end. The last line need not be ended.
bool read_line(const Input& input, uint64_t number, std::string& line) {
  const auto fail = [&](const std::string& what) {
    throw Failure(input.name + ": line " + std::to_string(number) + ": " + what);
  };
  FILE* file = input.file.get();
  line.clear();
  int c;
  while ((c = getc_unlocked(file)) != EOF && c != '\n') {
    if (line.size() == kMaxTextSize) fail("longer than 256 MiB");
    line += static_cast<char>(c);
  }
  if (std::ferror(file)) fail(std::strerror(errno));
  return c == '\n' || !line.empty();
}

}  // namespace

bool answer_lines(const std::string& path, const AnswerLine& answer, const RefuseLine& refuse) {
  const Input input(path);
  bool good = true;
  std::string line;
  for (uint64_t number = 1; read_line(input, number, line); ++number) {
    Json object;
    try {
      object = answer(line);
    } catch (const Failure& failure) {
      object = refuse(failure.what(), number);
      good = false;
    }
    std::printf("%s\n", object.dump().c_str());
    flush_output();  // the other end of a pipe may wait for each answer
  }
  return good;
}

}  // namespace sotto::cli
