// Tests that run for every instruction set and compare it with the reference.
#pragma once

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

#include "kernels/dispatch/tables.h"
#include "tests/kernels/support.h"

namespace sotto {

inline void PrintTo(Isa isa, std::ostream* out) { *out << isa_name(isa); }

}  // namespace sotto

namespace sotto::test {

// Returns all instruction sets that have a name.
inline std::vector<Isa> named_isas() {
  std::vector<Isa> isas;
  const std::string unknown = "unknown";
  for (int32_t i = 1; unknown != isa_name(static_cast<Isa>(i)); ++i) isas.push_back(static_cast<Isa>(i));
  return isas;
}

// Returns the instruction sets that this build has kernels for. Tests skip those that the CPU cannot run.
inline std::vector<Isa> built_isas() {
  std::vector<Isa> isas = named_isas();
  std::erase_if(isas, [](Isa isa) { return find_instruction_set(isa) == nullptr; });
  return isas;
}

class IsaTest : public testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    kernels_ = find_kernels(GetParam());
    reference_ = find_kernels(Isa::kReference);
    ASSERT_NE(reference_, nullptr);
    if (kernels_ == nullptr) GTEST_SKIP() << "this CPU lacks " << isa_name(GetParam());
  }

  const Kernels* kernels_ = nullptr;
  const Kernels* reference_ = nullptr;
};

inline std::string isa_label(const testing::TestParamInfo<Isa>& info) { return isa_name(info.param); }

}  // namespace sotto::test

#define SOTTO_INSTANTIATE_ISAS(Suite) \
  INSTANTIATE_TEST_SUITE_P(, Suite, testing::ValuesIn(sotto::test::built_isas()), sotto::test::isa_label)
