#include "converters/tensors/tensors.h"

#include "tests/unit/converters/checkpoint_support.h"

namespace sotto {
namespace {

using nlohmann::json;

class TensorsTest : public testing::Test {
 protected:
  void save_shards(const json& weight_map) const {
    write_bytes(directory_ / "one.safetensors", safetensors_bytes({{"a", make_tensor("F32", {1}, {1})}}));
    write_bytes(directory_ / "two.safetensors", safetensors_bytes({{"b", make_tensor("F16", {1}, {2})}}));
    write_bytes(directory_ / "model.safetensors.index.json",
                json({{"metadata", {{"total_size", 6}}}, {"weight_map", weight_map}}).dump());
  }

  Tensors open() const { return Tensors::from_index(directory_ / "model.safetensors.index.json"); }

  TemporaryDirectory directory_;
};

TEST_F(TensorsTest, ReadsShards) {
  save_shards({{"a", "one.safetensors"}, {"b", "two.safetensors"}});
  const Tensors tensors = open();
  EXPECT_EQ(tensors.names(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(tensors.read("a", 0, 1), std::vector<float>{1});
  EXPECT_EQ(tensors.read("b", 0, 1), std::vector<float>{2});
  EXPECT_ERROR(tensors.entry("c"), "tensor \"c\": is missing");
}

TEST_F(TensorsTest, RejectsWrongIndexes) {
  save_shards({{"a", "two.safetensors"}});
  EXPECT_ERROR(open(), "two.safetensors: tensor \"a\": is missing");
  save_shards({{"a", "three.safetensors"}});
  EXPECT_ERROR(open(), "three.safetensors: cannot open");
  for (const char* name : {"../one.safetensors", "/etc/passwd", "..", "", "x/one.safetensors"}) {
    save_shards({{"a", name}});
    EXPECT_ERROR(open(), "is not the name of a file next to the index");
  }
  save_shards({{"a", 1}});
  EXPECT_ERROR(open(), "the file of tensor \"a\" is not a string");
  save_shards(7);
  EXPECT_ERROR(open(), "\"weight_map\" is missing or not an object");
}

}  // namespace
}  // namespace sotto
