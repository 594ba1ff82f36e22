// --verify: checks that a .sotto file was quantized from a checkpoint.
#include "converters/verify.h"

#include <algorithm>
#include <thread>

#include "converters/commands/commands.h"
#include "converters/readers/model_file.h"

namespace sotto {

bool verify_model(const Arguments& arguments) {
  const auto checkpoint = open_input(arguments);
  const Verification result =
      verify(ModelFile(arguments.verified), *checkpoint, std::max(1u, std::thread::hardware_concurrency()));
  if (!arguments.quiet) print(verification_text(result));
  return result.is_same();
}

}  // namespace sotto
