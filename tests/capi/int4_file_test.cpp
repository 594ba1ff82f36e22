// Tests model files with 4-bit weights. Hostile files are rejected or harmless, and valid ones run with the same bits
// on every instruction set.
#include <cstring>
#include <limits>
#include <string>

#include "kernels/linear/int4.h"
#include "runtime/base/xxhash64.h"
#include "runtime/model/file_header.h"
#include "runtime/model/model_generated.h"
#include "tests/capi/open_session.h"

namespace sotto {
namespace {

constexpr ModelShape kShape = {300, 32, 64, 2, 48, 2};

struct Outcome {
  sotto_status status;
  std::string message;
  std::vector<float> logits;
};

Outcome try_file(const std::vector<uint8_t>& bytes, bool verify_checksums = true) {
  AlignedBytes file(bytes);
  sotto_error error = {sizeof error, SOTTO_OK, 0, ""};
  sotto_model_params params;
  sotto_model_params_init(&params, sizeof params);
  params.verify_checksums = verify_checksums ? 1 : 0;
  size_t needed;
  sotto_status status = sotto_model_memory_size(file.data(), file.size(), &params, &needed, &error);
  if (status != SOTTO_OK) return {status, error.message, {}};
  if (needed > size_t{1} << 28) return {SOTTO_MODEL_UNSUPPORTED, "too large for this test", {}};
  AlignedBytes memory(needed);
  sotto_model* model;
  status = sotto_model_init(file.data(), file.size(), &params, memory.data(), needed, &model, &error);
  if (status != SOTTO_OK) return {status, error.message, {}};
  sotto_model_info info = {};
  info.struct_size = sizeof info;
  EXPECT_EQ(sotto_model_get_info(model, &info), SOTTO_OK);
  if (info.vocabulary_size < 4) return {SOTTO_OK, "", {}};
  OpenSession session(model, [](auto& p) { p.batch_tokens = 4; });
  const sotto_token tokens[] = {1, 2, 3};
  if (sotto_session_prefill(session.get(), tokens, 3) != SOTTO_OK) return {SOTTO_OK, "", {}};
  return {SOTTO_OK, "", session.logits()};
}

void repair_checksums(std::vector<uint8_t>& bytes) {
  FileHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  header.metadata_checksum = xxhash64(bytes.data() + sizeof header, header.metadata_size);
  std::memcpy(bytes.data(), &header, sizeof header);
  header.header_checksum = xxhash64(bytes.data(), offsetof(FileHeader, header_checksum));
  std::memcpy(bytes.data(), &header, sizeof header);
}

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
    const std::vector<float> logits = try_file(bytes).logits;
    ASSERT_EQ(logits.size(), kShape.vocabulary_size);
    LoadedModel reference(bytes, SOTTO_ISA_REFERENCE);
    OpenSession session(reference.get(), [](auto& p) { p.batch_tokens = 4; });
    const sotto_token tokens[] = {1, 2, 3};
    ASSERT_EQ(sotto_session_prefill(session.get(), tokens, 3), SOTTO_OK);
    EXPECT_EQ(session.logits(), logits);
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
  FileHeader header;
  std::memcpy(&header, good.data(), sizeof header);
  std::mt19937 random(3);
  size_t refused = 0;
  constexpr size_t kRounds = 3000;
  for (size_t i = 0; i < kRounds; ++i) {
    auto bytes = good;
    for (uint32_t change = 0; change <= random() % 3; ++change) {
      const size_t at = sizeof header + random() % header.metadata_size;
      constexpr uint8_t kValues[] = {0, 1, 0x7f, 0x80, 0xff, 4, 0x40};
      bytes[at] = random() % 2 == 0 ? static_cast<uint8_t>(random()) : kValues[random() % 7];
    }
    repair_checksums(bytes);
    refused += try_file(bytes, i % 2 == 0).status != SOTTO_OK;
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
