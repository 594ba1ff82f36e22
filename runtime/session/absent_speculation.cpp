// SOTTO_FEATURE_SPECULATION=OFF: a session evaluates its tokens one by one, and drafts for none.
#include "runtime/session/session.h"

namespace sotto {

Status Session::set_speculation(const SpeculationParams& params, Error* error) {
  if (params.sources == 0) return Status::kOk;
  return fail(error, Status::kUnsupported, "speculation: this library is built with SOTTO_FEATURE_SPECULATION=OFF");
}

void Session::lose_drafter() {}
Status Session::evaluate_ahead() { return Status::kOk; }

}  // namespace sotto
