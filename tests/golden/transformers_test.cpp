// Compares random small GPT-2 configurations with transformers: the float path up to rounding, and the int8 runtime
// within the error stated for each configuration.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "converters/quantize/float_forward.h"
#include "tests/golden/quantized_model.h"

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

// The error of int8 for each configuration. Activations and weights each keep about 7 bits in every product, which adds
// 0.7% to 1% of noise per layer. Attention without scaling amplifies it.
struct Bound {
  double relative_rms;
  double top1_agreement;
};

const std::map<std::string, Bound>& bounds() {
  static const std::map<std::string, Bound> all = {{"attention_by_layer", {0.025, 0.96}},
                                                   {"attention_unscaled", {0.048, 0.96}},
                                                   {"deep_tied", {0.028, 0.95}},
                                                   {"deep_untied", {0.026, 0.97}},
                                                   {"head128", {0.026, 0.92}},
                                                   {"head16_erf", {0.022, 0.96}},
                                                   {"head20_narrow_inner", {0.025, 1.0}},
                                                   {"head32_untied", {0.028, 0.91}},
                                                   {"head40_long", {0.020, 0.98}},
                                                   {"head64_wide_vocabulary", {0.022, 0.95}},
                                                   {"head7_odd", {0.022, 1.0}},
                                                   {"head8_three_tokens", {0.031, 0.90}}};
  return all;
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
  const Model model = convert_model(golden_data() / GetParam());
  const std::vector<float> logits = quantized_logits(model, golden.ids);
  const LogitError error = compare_logits(golden.logits, logits, model.info().vocabulary_size);
  std::printf("%s: relative rms %.4f, max %.4f, top-1 %.3f\n", GetParam().c_str(), error.relative_rms, error.max,
              error.top1_agreement);
  const Bound& bound = bounds().at(GetParam());
  EXPECT_LT(error.relative_rms, bound.relative_rms);
  EXPECT_GE(error.top1_agreement, bound.top1_agreement);
}

INSTANTIATE_TEST_SUITE_P(Configurations, TransformersTest, testing::ValuesIn(golden_names()),
                         [](const auto& p) { return p.param; });

}  // namespace
}  // namespace sotto
