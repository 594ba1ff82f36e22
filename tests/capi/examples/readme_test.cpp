// Tests that the program and the memory figures in README.md agree with the tree.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <string>

#include "capi/include/sotto_memory.h"
#include "tests/cli/program.h"

namespace sotto::test {
namespace {

std::string readme() { return read_file(std::string(SOTTO_SOURCE_DIR) + "/README.md"); }

TEST(Readme, ShowsTheExampleProgram) {
  const std::string program = read_file(std::string(SOTTO_SOURCE_DIR) + "/capi/examples/generate.c");
  EXPECT_NE(readme().find("```c\n" + program + "```\n"), std::string::npos)
      << "README.md does not hold capi/examples/generate.c";
}

struct Shape {
  const char* name;
  size_t embedding, heads, layers;
};

size_t session_size(const Shape& shape, size_t context) {
  return SOTTO_SESSION_MEMORY_BYTES(50257, shape.embedding, shape.heads, shape.layers, 4 * shape.embedding, context,
                                    128, 0);
}

size_t kv_size(const Shape& shape, size_t context) {
  return SOTTO_KV_BYTES_(shape.embedding, shape.heads, shape.layers, context);
}

std::string memory_row(const Shape& shape) {
  const size_t weights =
      SOTTO_MODEL_MEMORY_BYTES(50257, shape.embedding, shape.heads, shape.layers, 4 * shape.embedding);
  std::string row = std::string("| ") + shape.name + " |";
  const auto add = [&row](size_t bytes) {
    char cell[32];
    std::snprintf(cell, sizeof cell, " %.1f |", static_cast<double>(bytes) / (1 << 20));
    row += cell;
  };
  add(weights);
  add(kv_size(shape, 256));
  add(kv_size(shape, 1024));
  add(session_size(shape, 1024) - kv_size(shape, 1024));
  add(weights + session_size(shape, 256));
  add(weights + session_size(shape, 1024));
  return row + '\n';
}

TEST(Readme, MemoryTableMatchesTheLibrary) {
  const std::string text = readme();
  for (const Shape& shape : {Shape{"DistilGPT-2, 82M", 768, 12, 6}, Shape{"GPT-2, 124M", 768, 12, 12},
                             Shape{"GPT-2 medium, 355M", 1024, 16, 24}, Shape{"GPT-2 large, 774M", 1280, 20, 36},
                             Shape{"GPT-2 XL, 1.5B", 1600, 25, 48}}) {
    EXPECT_NE(text.find(memory_row(shape)), std::string::npos) << "README.md lacks the row " << memory_row(shape);
  }
}

}  // namespace
}  // namespace sotto::test
