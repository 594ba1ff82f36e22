#include "converters/tensors/safetensors.h"

#include <cmath>
#include <limits>

#include "tests/unit/converters/checkpoint_support.h"

namespace sotto {
namespace {

using nlohmann::json;

class SafetensorsTest : public testing::Test {
 protected:
  SafetensorsFile open(const std::string& bytes) {
    write_bytes(file(), bytes);
    return SafetensorsFile(file());
  }
  std::filesystem::path file() const { return directory_ / "x.safetensors"; }

  // Two tensors: "a" of 3 elements, then "b" of shape (2, 2).
  static RawTensors tensors(const std::string& type = "F32") {
    return {{"a", make_tensor(type, {3}, {1, -2, 0.5f})}, {"b", make_tensor(type, {2, 2}, {0, 3, -0.25f, 1024})}};
  }

  TemporaryDirectory directory_;
};

class SafetensorsTypeTest : public SafetensorsTest, public testing::WithParamInterface<const char*> {};

TEST_P(SafetensorsTypeTest, ReadsEveryFloatType) {
  const SafetensorsFile file = open(safetensors_bytes(tensors(GetParam())));
  EXPECT_EQ(file.tensors().size(), 2u);
  EXPECT_EQ(file.tensors().at("b").shape, (std::vector<uint64_t>{2, 2}));
  EXPECT_EQ(file.tensors().at("b").type_name, GetParam());
  EXPECT_EQ(file.read("a", 0, 3), (std::vector<float>{1, -2, 0.5f}));
  EXPECT_EQ(file.read("b", 0, 4), (std::vector<float>{0, 3, -0.25f, 1024}));
  EXPECT_EQ(file.read("b", 1, 2), (std::vector<float>{3, -0.25f}));
}

INSTANTIATE_TEST_SUITE_P(Types, SafetensorsTypeTest, testing::Values("F32", "F64", "F16", "BF16"));

RawTensor halves(const std::vector<uint16_t>& bits) {
  RawTensor tensor = {"F16", {bits.size()}, {}};
  for (const uint16_t value : bits) {
    tensor.bytes += {static_cast<char>(value & 0xFF), static_cast<char>(value >> 8)};
  }
  return tensor;
}

TEST_F(SafetensorsTest, DecodesEveryFiniteHalf) {
  std::vector<uint16_t> bits;
  for (uint32_t value = 0; value < 0x10000; ++value) {
    if ((value & 0x7C00) != 0x7C00) bits.push_back(static_cast<uint16_t>(value));
  }
  const SafetensorsFile file = open(safetensors_bytes({{"h", halves(bits)}}));
  const std::vector<float> values = file.read("h", 0, bits.size());
  for (size_t i = 0; i < bits.size(); ++i) {
    const int exponent = bits[i] >> 10 & 31;
    const int mantissa = bits[i] & 1023;
    const double magnitude = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
    const double expected = (bits[i] & 0x8000) != 0 ? -magnitude : magnitude;
    ASSERT_EQ(values[i], expected) << bits[i];
    ASSERT_EQ(std::signbit(values[i]), std::signbit(expected)) << bits[i];
  }
}

TEST_F(SafetensorsTest, AcceptsEmptyAndScalarTensors) {
  const SafetensorsFile file =
      open(safetensors_bytes({{"empty", make_tensor("F32", {0, 5}, {})}, {"scalar", make_tensor("F32", {}, {7})}}));
  EXPECT_EQ(file.read("empty", 0, 0).size(), 0u);
  EXPECT_EQ(file.read("scalar", 0, 1), std::vector<float>{7});
}

TEST_F(SafetensorsTest, RejectsNumbersThatAreNotFinite) {
  const float infinity = std::numeric_limits<float>::infinity();
  RawTensor f32 = make_tensor("F32", {3}, {1, 2, infinity});
  EXPECT_ERROR(open(safetensors_bytes({{"w", f32}})).read("w", 0, 3),
               "tensor \"w\": element 2 is not a finite float32 number");
  EXPECT_ERROR(open(safetensors_bytes({{"w", f32}})).read("w", 1, 2), "element 2");
  EXPECT_ERROR(open(safetensors_bytes({{"h", halves({0, 0x7E00})}})).read("h", 0, 2), "element 1 is not");
  RawTensor f64 = {"F64", {1}, std::string("\x00\x00\x00\x00\x00\x00\xf0\x7e", 8)};  // 1e303
  EXPECT_ERROR(open(safetensors_bytes({{"d", f64}})).read("d", 0, 1), "element 0 is not");
}

TEST_F(SafetensorsTest, RejectsOtherTypesOnlyWhenRead) {
  const SafetensorsFile file = open(safetensors_bytes({{"mask", {"BOOL", {3}, "\1\1\1"}}}));
  EXPECT_EQ(file.tensors().at("mask").element_count, 3u);
  EXPECT_ERROR(file.read("mask", 0, 3), "its dtype is BOOL, not a float type");
}

TEST_F(SafetensorsTest, RejectsEveryTruncation) {
  const std::string whole = safetensors_bytes(tensors());
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NE(error_of([&] { open(whole.substr(0, size)); }), "no error") << size;
  }
  EXPECT_ERROR(open(whole.substr(0, 7)), "too short for a safetensors file: 7 bytes");
  EXPECT_ERROR(open(whole.substr(0, 20)), "invalid header size");
  EXPECT_ERROR(open(whole.substr(0, whole.size() - 1)), "damaged or incomplete");
}

// A reader with quadratic time, for example one with a callback of the JSON parser, would take minutes.
TEST_F(SafetensorsTest, TheHeaderIsReadInLinearTime) {
  constexpr size_t kCount = 50000;
  json header;
  for (size_t i = 0; i < kCount; ++i) {
    header["t" + std::to_string(i)] = {{"dtype", "F32"}, {"shape", {1}}, {"data_offsets", {4 * i, 4 * i + 4}}};
  }
  EXPECT_EQ(open(safetensors_bytes(header.dump(), std::string(4 * kCount, '\0'))).tensors().size(), kCount);
}

TEST_F(SafetensorsTest, RejectsWrongHeaders) {
  EXPECT_ERROR(open(std::string("\xff\xff\xff\xff\xff\xff\xff\xff{}", 10)), "invalid header size 1844674");
  EXPECT_ERROR(open(std::string("\x01\xe1\xf5\x05\0\0\0\0{}", 10)), "invalid header size 100000001");
  EXPECT_ERROR(open(safetensors_bytes("{\"a\":", "")), "not valid JSON");
  EXPECT_ERROR(open(safetensors_bytes("[]", "")), "the header is not an object");
  EXPECT_ERROR(open(safetensors_bytes("{\"a\":1}", "")), "tensor \"a\": its description");
  EXPECT_ERROR(open(safetensors_bytes("{\"\xff\":1}", "")), "not valid JSON");
  EXPECT_ERROR(open(safetensors_bytes(std::string("{}\0{{", 5), "")), "not valid JSON: byte 2");
  EXPECT_ERROR(open(safetensors_bytes(std::string(100000, '['), "")), "nested too deeply");
  const std::string a = R"("a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
  EXPECT_ERROR(open(safetensors_bytes("{" + a + "," + a + "}", "1234")), "duplicate key: \"a\"");
}

TEST_F(SafetensorsTest, RejectsWrongEntries) {
  const auto with = [&](const char* key, const json& value) {
    return [this, key, value] {
      open(safetensors_bytes(tensors(), [&](json& header) {
        if (value.is_null()) {
          header["b"].erase(key);
        } else {
          header["b"][key] = value;
        }
      }));
    };
  };
  const std::pair<std::function<void()>, const char*> cases[] = {
      {with("dtype", nullptr), "\"dtype\" is missing"},
      {with("dtype", 3), "\"dtype\" is not a string"},
      {with("dtype", "F31"), "unknown dtype \"F31\""},
      {with("dtype", "F64"), "need 32 bytes, its range [12, 28) has 16"},
      {with("shape", nullptr), "\"shape\" is missing"},
      {with("shape", 4), "\"shape\" is not an array"},
      {with("shape", {2, -2}), "\"shape\" holds -2"},
      {with("shape", {2.0, 2}), "\"shape\" holds 2.0"},
      {with("shape", {2, 3}), "need 24 bytes"},
      {with("shape", {uint64_t{1} << 62, 2}), "its shape is too large"},
      {with("shape", {UINT64_MAX, UINT64_MAX}), "its shape is too large"},
      {with("data_offsets", nullptr), "\"data_offsets\" is missing"},
      {with("data_offsets", {12}), "not a pair of offsets"},
      {with("data_offsets", {12, "28"}), "not a pair of offsets"},
      {with("data_offsets", {-1, 15}), "not a pair of offsets"},
      {with("data_offsets", {28, 12}), "begins at offset 28 and ends before"},
      {with("data_offsets", {13, 29}), "its data ends at offset 29, the file's at 28"},
      {with("data_offsets", {UINT64_MAX - 15, UINT64_MAX}), "damaged or incomplete"},
      {with("data_offsets", {8, 24}), "overlaps another tensor's"},
  };
  for (const auto& [action, part] : cases) {
    const std::string message = error_of(action);
    EXPECT_NE(message.find(part), std::string::npos) << part << "\n" << message;
    EXPECT_NE(message.find("tensor \"b\""), std::string::npos) << message;
    EXPECT_NE(message.find(file().string()), std::string::npos) << message;
  }
}

TEST_F(SafetensorsTest, RejectsBytesOutsideTensors) {
  EXPECT_ERROR(open(safetensors_bytes(tensors()) + "x"), "belong to no tensor");
  EXPECT_ERROR(open(safetensors_bytes(tensors(), [](json& header) { header.erase("a"); })), "belong to no tensor");
}

}  // namespace
}  // namespace sotto
