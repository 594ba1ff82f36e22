// Random small GPT-2 configurations against transformers: the float path to rounding, the
// int8 runtime within the error stated for each.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "converters/float_forward.h"
#include "tests/golden/golden_support.h"

namespace sotto {
namespace {

struct Golden {
  std::vector<int32_t> ids;
  std::vector<float> logits;  // (token, vocabulary)
};

Golden read_golden(const std::string& name) {
  std::ifstream file(golden_data() / name / "golden.json");
  const std::vector<uint8_t> bytes = read_bytes(golden_data() / name / "logits.f32");
  Golden golden = {nlohmann::json::parse(file).at("ids"), {}};
  golden.logits.resize(bytes.size() / sizeof(float));
  std::memcpy(golden.logits.data(), bytes.data(), bytes.size());
  return golden;
}

class TransformersTest : public testing::TestWithParam<std::string> {};

TEST_P(TransformersTest, FloatPathEqualsTransformers) {
  const Golden golden = read_golden(GetParam());
  const FloatModel model = load_checkpoint(golden_data() / GetParam());
  const std::vector<float> logits = float_forward(model, golden.ids);
  ASSERT_EQ(logits.size(), golden.logits.size());
  for (size_t i = 0; i < logits.size(); ++i) ASSERT_NEAR(logits[i], golden.logits[i], 1e-4) << i;
}

TEST_P(TransformersTest, FloatPathDoesNotDependOnThreads) {
  const Golden golden = read_golden(GetParam());
  const FloatModel model = load_checkpoint(golden_data() / GetParam());
  EXPECT_EQ(float_forward(model, golden.ids, 1), float_forward(model, golden.ids, 3));
}

TEST_P(TransformersTest, Int8RuntimeStaysWithinItsError) {
  const Golden golden = read_golden(GetParam());
  const Int8Model model(convert_checkpoint(golden_data() / GetParam()));
  const std::vector<float> logits = int8_logits(model, golden.ids);
  const LogitError error = compare_logits(golden.logits, logits, model.info().vocabulary_size);
  std::printf("%s: relative rms %.4f, max %.4f, top-1 %.3f\n", GetParam().c_str(),
              error.relative_rms, error.max, error.top1_agreement);
  EXPECT_LT(error.relative_rms, 0.03);
  EXPECT_GE(error.top1_agreement, 0.9);
}

INSTANTIATE_TEST_SUITE_P(Configurations, TransformersTest, testing::ValuesIn(golden_names()),
                         [](const auto& p) { return p.param; });

}  // namespace
}  // namespace sotto
