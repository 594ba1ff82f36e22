#include "platforms/cli/support/failure.h"

#include <cstdio>

#include "platforms/cli/support/text.h"
#include "platforms/command_line/system.h"

namespace sotto::cli {

int run_main(const char* program, int (*run)(int argc, char** argv), int argc, char** argv) {
  return run_main(program, [&]() -> int {
    try {
      return run(argc, argv);
    } catch (const Failure& failure) {
      std::fprintf(stderr, "%s: %s\n", program, for_terminal(failure.what()).c_str());
      return failure.exit_code();
    }
  });
}

}  // namespace sotto::cli
