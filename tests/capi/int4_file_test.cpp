// Tests model files with 4-bit weights. Hostile files are rejected or harmless, and valid ones run with the same bits
// on every instruction set.
#include <cstring>
#include <limits>
#include <string>

#include "kernels/linear/int4.h"
#include "runtime/model/file_header.h"
#include "runtime/model/model_generated.h"
#include "tests/capi/hostile_file.h"
#include "tests/capi/open_session.h"

namespace sotto {
namespace {

constexpr ModelShape kShape = {300, 32, 64, 2, 48, 2};

const format::Model& model_of(const std::vector<uint8_t>& bytes) {
  return *format::GetModel(bytes.data() + sizeof(FileHeader));
}

void expect_refused(const std::vector<uint8_t>& bytes, const char* part) {
  const Outcome outcome = try_file(bytes);
  EXPECT_EQ(outcome.status, SOTTO_MODEL_CORRUPT);
  EXPECT_NE(outcome.message.find(part), std::string::npos) << outcome.message;
}

TEST(Int4File, RunsWithTheBitsOfTheReference) {
  for (const bool int8_head : {false, true}) {
    const auto bytes = make_int4_model_file(kShape, false, int8_head);
    std::vector<float> logits[2];
    for (const sotto_isa isa : {SOTTO_ISA_AUTO, SOTTO_ISA_REFERENCE}) {
      LoadedModel model(bytes, isa);
      OpenSession session(model.get(), [](auto& p) { p.batch_tokens = 4; });
      const sotto_token tokens[] = {1, 2, 3};
      ASSERT_EQ(sotto_session_prefill(session.get(), tokens, 3), SOTTO_OK);
      logits[isa == SOTTO_ISA_REFERENCE] = session.logits();
    }
    EXPECT_EQ(logits[0].size(), kShape.vocabulary_size);
    EXPECT_EQ(logits[0], logits[1]);
  }
}

TEST(Int4File, CountsTheSameParametersAsInt8) {
  LoadedModel int4(make_int4_model_file(kShape, false)), int8(make_model_file(kShape, false));
  sotto_model_info of4 = {}, of8 = {};
  of4.struct_size = of8.struct_size = sizeof of4;
  ASSERT_EQ(sotto_model_get_info(int4.get(), &of4), SOTTO_OK);
  ASSERT_EQ(sotto_model_get_info(int8.get(), &of8), SOTTO_OK);
  EXPECT_EQ(of4.parameter_count, of8.parameter_count);
  EXPECT_LT(of4.weight_bytes, of8.weight_bytes);
}

TEST(Int4File, ScalesAndBiasesMustBeUsable) {
  const auto good = make_int4_model_file(kShape, false);
  const auto* qkv = model_of(good).layers()->Get(1)->attention_qkv();
  const uint64_t second_tile = qkv->tiles()->offset() + int4_tile_size(qkv->inputs());
  const struct {
    size_t offset;
    float value;
    const char* part;
  } cases[] = {
      {offsetof(Int4Frame, scales) + 4, 0.0f, "layer 1 attention_qkv tiles: scale 17 is 0"},
      {offsetof(Int4Frame, scales), -1.0f, "layer 1 attention_qkv tiles: scale 16"},
      {offsetof(Int4Frame, scales) + 8, 1e-40f, "layer 1 attention_qkv tiles: scale 18"},
      {offsetof(Int4Frame, biases) + 60, std::numeric_limits<float>::quiet_NaN(),
       "layer 1 attention_qkv tiles: bias 31"},
  };
  for (const auto& bad : cases) {
    auto bytes = good;
    std::memcpy(bytes.data() + second_tile + bad.offset, &bad.value, sizeof bad.value);
    expect_refused(bytes, bad.part);
  }
}

TEST(Int4File, TilesMustHaveTheirSizeAndPlace) {
  const auto good = make_int4_model_file(kShape, false);
  const auto spoil = [&](size_t field, uint64_t add) {
    auto bytes = good;
    const auto* range = model_of(bytes).layers()->Get(0)->feed_forward_up()->tiles();
    auto* at = const_cast<uint8_t*>(reinterpret_cast<const uint8_t*>(range)) + field;
    uint64_t value;
    std::memcpy(&value, at, sizeof value);
    value += add;
    std::memcpy(at, &value, sizeof value);
    repair_checksums(bytes);
    return bytes;
  };
  expect_refused(spoil(8, 64), "layer 0 feed_forward_up tiles: has ");
  expect_refused(spoil(0, 32), "not aligned");
  expect_refused(spoil(0, good.size()), "beyond the end");
}

TEST(Int4File, DamagedTilesAreDetected) {
  auto bytes = make_int4_model_file(kShape, false);
  const auto* tiles = model_of(bytes).layers()->Get(0)->feed_forward_down()->tiles();
  bytes[tiles->offset() + tiles->size() - 1] ^= 4;
  EXPECT_EQ(try_file(bytes).status, SOTTO_MODEL_CORRUPT);
  EXPECT_EQ(try_file(bytes, /*verify_checksums=*/false).status, SOTTO_OK);
}

TEST(Int4File, HostileMetadataIsRejectedOrHarmless) {
  const auto good = make_int4_model_file(kShape, true, /*int8_head=*/true);
  std::mt19937 random(3);
  size_t refused = 0;
  constexpr size_t kRounds = 3000;
  for (size_t i = 0; i < kRounds; ++i) {
    refused += try_file(with_other_metadata(good, random), i % 2 == 0).status != SOTTO_OK;
  }
  EXPECT_GT(refused, kRounds / 8);
}

// Damages the field table that all linear layers share.
std::vector<uint8_t> with_field(std::vector<uint8_t> bytes, size_t field, size_t like) {
  auto* table = const_cast<uint8_t*>(reinterpret_cast<const uint8_t*>(model_of(bytes).token_embedding()));
  int32_t to_fields;
  std::memcpy(&to_fields, table, sizeof to_fields);
  constexpr size_t kAbsent = SIZE_MAX;
  uint16_t place = 0;
  if (like != kAbsent) std::memcpy(&place, table - to_fields + like, sizeof place);
  std::memcpy(table - to_fields + field, &place, sizeof place);
  repair_checksums(bytes);
  return bytes;
}

TEST(Int4File, ALayerHasOneForm) {
  const auto good = make_int4_model_file(kShape, false);
  constexpr size_t kBias = format::Linear::VT_BIAS, kTiles = format::Linear::VT_TILES;
  constexpr size_t kWeights = format::Linear::VT_WEIGHTS, kScales = format::Linear::VT_SCALES;
  for (const size_t field : {kBias, kWeights, kScales}) {
    expect_refused(with_field(good, field, kTiles), "token_embedding form: parts of int8 weights");
  }
  expect_refused(with_field(good, kTiles, SIZE_MAX), "token_embedding form: neither");
  const auto int8 = make_model_file(kShape, false);
  expect_refused(with_field(int8, kScales, SIZE_MAX), "token_embedding form: neither");
  expect_refused(with_field(int8, kWeights, SIZE_MAX), "token_embedding form: neither");
}

}  // namespace
}  // namespace sotto
