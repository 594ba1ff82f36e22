// Runs searches under the counter of allocations.
#pragma once

#include <string>

#include "capi/include/sotto_search.h"
#include "tests/memory/allocation_counter.h"

namespace sotto {

template <typename Adjust>
void expect_search_does_not_allocate(sotto_session* session, const std::string& name, Adjust&& adjust) {
  sotto_search_params params;
  sotto_search_params_init(&params, sizeof params);
  adjust(params);
  const sotto_sequence* sequences = nullptr;
  size_t count = 0;
  expect_no_allocation(name, [&] { return sotto_session_search(session, &params, &sequences, &count, nullptr); });
  EXPECT_GT(count, 0u) << name;
}

}  // namespace sotto
