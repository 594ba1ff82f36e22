#include "runtime/sampling/temperature.h"

namespace sotto {

void temperature(Candidates& candidates, float t) {
  if (t > 0) {
    candidates.divide_by(t);
  } else {
    uint64_t key = sort_key(candidates.logit(candidates.argmax()), candidates.argmax());
    candidates.keep({&key, 1});
  }
}

}  // namespace sotto
