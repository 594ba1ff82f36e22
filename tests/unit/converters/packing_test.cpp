#include "converters/packing.h"

#include <cstring>
#include <memory>
#include <optional>

#include "converters/model_writer.h"
#include "converters/readers/synthetic.h"
#include "runtime/model/file_header.h"
#include "runtime/model/model_generated.h"
#include "tests/unit/converters/checkpoint_support.h"

namespace sotto {
namespace {

struct AlignedBytes {
  alignas(64) uint8_t bytes[1 << 16] = {};
};

TEST(PackingTest, RejectsInstructionSetsWithoutPacking) {
  EXPECT_ERROR(Packer("reference"), "\"reference\" is not an instruction set of this build with packed weights");
  EXPECT_ERROR(Packer("x87"), "\"x87\" is not an instruction set");
}

// Packs for every instruction set, whether this CPU has it or not.
TEST(PackingTest, WritesTheLayoutOfTheKernels) {
  for (const Isa isa : packing_isas()) {
    SCOPED_TRACE(isa_name(isa));
    const TileLayout& layout = *packed_layout(isa);
    const Packer packer(isa_name(isa));
    const TemporaryDirectory directory;
    const SyntheticCheckpoint checkpoint("tiny", {70, 9, 24, 3, 40, 2}, 7);
    const WriteReport report = write_model(checkpoint, directory / "m.sotto", {.packer = &packer});
    const std::string file = read_file(directory / "m.sotto");
    const format::Model* model = format::GetModel(file.data() + sizeof(FileHeader));
    ASSERT_EQ(model->packed()->size(), 1u);
    const format::Packed* packed = model->packed()->Get(0);
    EXPECT_EQ(packed->fingerprint(), layout_fingerprint(layout));
    EXPECT_EQ(packed->isa()->str(), packer.isa());

    std::vector<const format::Linear*> linears;
    for (const format::Layer* layer : *model->layers()) {
      linears.insert(linears.end(), {layer->attention_qkv(), layer->attention_output(), layer->feed_forward_up(),
                                     layer->feed_forward_down()});
    }
    linears.push_back(model->token_embedding());
    ASSERT_EQ(packed->weights()->size(), linears.size());
    const auto bytes_at = [&](const format::DataRange* range) {
      return range == nullptr ? nullptr : file.data() + range->offset();
    };
    uint64_t total = 0;
    for (uint32_t i = 0; i < linears.size(); ++i) {
      const format::Linear* linear = linears[i];
      const LinearWeights weights = {.inputs = linear->inputs(),
                                     .outputs = linear->outputs(),
                                     .rows = reinterpret_cast<const int8_t*>(bytes_at(linear->weights())),
                                     .scales = reinterpret_cast<const float*>(bytes_at(linear->scales())),
                                     .bias = reinterpret_cast<const float*>(bytes_at(linear->bias())),
                                     .packed = nullptr};
      const auto expected = std::make_unique<AlignedBytes>();
      ASSERT_LE(packed_size_bound(weights.inputs, weights.outputs), sizeof expected->bytes);
      const size_t size = pack_linear(layout, weights, expected->bytes);
      const format::DataRange* range = packed->weights()->Get(i);
      EXPECT_EQ(range->offset() % 64, 0u);
      ASSERT_EQ(range->size(), (size + 63) / 64 * 64);
      EXPECT_EQ(std::memcmp(bytes_at(range), expected->bytes, size), 0) << i;
      total += range->size();
    }
    EXPECT_EQ(report.packed_size, total);
  }
}

// Data that is used together with packed weights is between the start of a page and the packed weights. Other data is
// before that page.
TEST(PackingTest, StartsOnAPageIfItFillsMany) {
  if (packed_layout(find_kernels(Isa::kAuto)->isa) == nullptr) {
    GTEST_SKIP() << "this CPU multiplies from plain weights";
  }
  const Packer packer("native");
  const TemporaryDirectory directory;
  const SyntheticCheckpoint checkpoint("tiny", {70, 10, 24, 3, 40, 2}, 7);
  constexpr uint64_t kPage = 256;
  for (const uint64_t page_size : {kPage, WriteOptions().page_size}) {
    const WriteReport report =
        write_model(checkpoint, directory / "m.sotto", {.packer = &packer, .page_size = page_size});
    ASSERT_GE(report.packed_size, WriteOptions::kMinPages * kPage);
    const std::string file = read_file(directory / "m.sotto");
    const format::Model* model = format::GetModel(file.data() + sizeof(FileHeader));
    const uint64_t start = model->token_embedding()->scales()->offset();
    EXPECT_EQ(start % kPage == 0, page_size == kPage);
    EXPECT_LT(model->layers()->Get(1)->feed_forward_down()->bias()->offset(), start);
    EXPECT_GT(model->layers()->Get(0)->attention_norm()->gain()->offset(), start);
    const format::DataRange* last = model->final_norm()->bias();
    const uint64_t packed = model->packed()->Get(0)->weights()->Get(0)->offset();
    EXPECT_EQ(packed, (last->offset() + last->size() + 63) / 64 * 64);
  }
}

}  // namespace
}  // namespace sotto
