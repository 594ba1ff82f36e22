#include "platforms/cli/support/failure.h"

#include <cstdio>
#include <exception>
#include <new>
#include <string>

#include "platforms/cli/support/text.h"
#include "platforms/command_line/system.h"

namespace sotto::cli {

int run_main(const char* program, int (*run)(int argc, char** argv), int argc, char** argv) {
  prepare_streams();
  std::string message;
  ExitCode exit_code = kExitFailure;
  try {
    return run(argc, argv);
  } catch (const Failure& failure) {
    message = for_terminal(failure.what());
    exit_code = failure.exit_code();
  } catch (const std::bad_alloc&) {
    message = "not enough memory";
  } catch (const std::exception& exception) {
    message = exception.what();
  }
  std::fprintf(stderr, "%s: %s\n", program, message.c_str());
  return exit_code;
}

}  // namespace sotto::cli
