// Tests copy_weights: weights that could be used in place are copied into the model's memory. Afterwards only the copy
// is read.
#include <cstring>
#include <string>
#include <utility>

#include "kernels/kernels.h"
#include "tests/capi/open_session.h"

namespace sotto {
namespace {

// The head has more than 4 MiB, so it is copied in pieces.
constexpr ModelShape kShape = {17000, 32, 256, 2, 300, 4};
constexpr size_t kPieceBytes = size_t{4} << 20;

struct Released {
  const uint8_t* begin;
  const uint8_t* end;
  std::vector<std::pair<uint8_t*, size_t>> ranges;
};

void note_released(void* user_data, const void* bytes, size_t size) {
  auto* released = static_cast<Released*>(user_data);
  auto* first = static_cast<uint8_t*>(const_cast<void*>(bytes));
  EXPECT_TRUE(first >= released->begin && first + size <= released->end);
  released->ranges.emplace_back(first, size);
}

std::vector<float> logits_of(sotto_model* model) {
  OpenSession session(model, [](auto& p) { p.batch_tokens = 4; });
  const sotto_token tokens[] = {1, 2, 16999};
  EXPECT_EQ(sotto_session_prefill(session.get(), tokens, 3), SOTTO_OK);
  session.generate(3);
  return session.logits();
}

// Loads a copy, destroys the original, and expects the logits of a model that is used in place.
void expect_runs_from_copy(const std::vector<uint8_t>& bytes, sotto_isa isa, bool verify) {
  LoadedModel in_place(bytes, isa);
  const std::vector<float> expected = logits_of(in_place.get());

  AlignedBytes file(bytes);
  Released released = {file.data(), file.data() + file.size(), {}};
  sotto_model_params params;
  sotto_model_params_init(&params, sizeof params);
  EXPECT_EQ(params.copy_weights, 0u);
  params.isa = isa;
  params.verify_checksums = verify ? 1 : 0;
  params.copy_weights = 1;
  params.release = note_released;
  params.release_user_data = &released;
  std::string log;
  params.log = [](void* user_data, sotto_log_level, const char* message) {
    *static_cast<std::string*>(user_data) += message;
  };
  params.log_user_data = &log;
  size_t size;
  ASSERT_EQ(sotto_model_memory_size(file.data(), file.size(), &params, &size, nullptr), SOTTO_OK);
  GuardedBytes memory(size);
  sotto_model* model;
  ASSERT_EQ(sotto_model_init(file.data(), file.size(), &params, memory.data(), size, &model, nullptr), SOTTO_OK);
  EXPECT_TRUE(memory.guards_intact());

  sotto_model_info info = {};
  info.struct_size = sizeof info;
  ASSERT_EQ(sotto_model_get_info(model, &info), SOTTO_OK);
  EXPECT_EQ(info.packed_in_place, 0u);
  EXPECT_NE(log.find(", weights copied to memory"), std::string::npos) << log;
  // Positions and metadata are always released last, and scales and biases as well if weights are packed, because
  // generating text needs them again.
  const size_t last_count = info.isa == SOTTO_ISA_REFERENCE || info.layer_weight_bits == 4 ? 2 : 3;
  ASSERT_GT(released.ranges.size(), last_count);
  released.ranges.resize(released.ranges.size() - last_count);
  size_t total = 0;
  for (const auto& [first, count] : released.ranges) {
    total += count;
    EXPECT_LE(count, kPieceBytes);
    std::memset(first, 0x55, count);
  }
  EXPECT_GE(total, info.weight_bytes);
  EXPECT_EQ(logits_of(model), expected);
}

TEST(CopyWeights, PlainWeightsAreCopied) {
  const auto file = make_model_file(kShape, false);
  expect_runs_from_copy(file, SOTTO_ISA_REFERENCE, true);
}

TEST(CopyWeights, PackedWeightsOfTheFileAreCopied) {
  if (find_kernels(Isa::kAuto)->isa == Isa::kReference) {
    GTEST_SKIP() << "this CPU multiplies from plain weights";
  }
  const auto file = make_model_file(kShape, false, "native");
  // Verification also releases the embeddings, which some packings leave to the plain weights.
  expect_runs_from_copy(file, SOTTO_ISA_AUTO, false);
}

TEST(CopyWeights, WeightsPackedWhileLoadingAreUnchanged) {
  if (find_kernels(Isa::kAuto)->isa == Isa::kReference) {
    GTEST_SKIP() << "this CPU multiplies from plain weights";
  }
  AlignedBytes file(make_model_file(kShape, false));
  sotto_model_params params;
  sotto_model_params_init(&params, sizeof params);
  size_t packed, copied;
  ASSERT_EQ(sotto_model_memory_size(file.data(), file.size(), &params, &packed, nullptr), SOTTO_OK);
  params.copy_weights = 1;
  ASSERT_EQ(sotto_model_memory_size(file.data(), file.size(), &params, &copied, nullptr), SOTTO_OK);
  EXPECT_EQ(copied, packed);  // they are in memory in either case
}

TEST(CopyWeights, Int4WeightsAreCopied) {
  expect_runs_from_copy(make_int4_model_file(kShape, false), SOTTO_ISA_AUTO, true);
  expect_runs_from_copy(make_int4_model_file(kShape, false), SOTTO_ISA_REFERENCE, true);
  expect_runs_from_copy(make_int4_model_file(kShape, false, /*int8_head=*/true), SOTTO_ISA_REFERENCE, true);
}

TEST(CopyWeights, DamagedFilesAreDetectedBeforeCopying) {
  const auto good = make_model_file(kShape, false);
  auto bad = good;
  bad[bad.size() / 2] ^= 1;
  AlignedBytes file(bad);
  sotto_error error = {sizeof error, SOTTO_OK, 0, ""};
  sotto_model_params params;
  sotto_model_params_init(&params, sizeof params);
  params.isa = SOTTO_ISA_REFERENCE;
  params.copy_weights = 1;
  size_t size;
  ASSERT_EQ(sotto_model_memory_size(file.data(), file.size(), &params, &size, nullptr), SOTTO_OK);
  AlignedBytes memory(size);
  sotto_model* model;
  EXPECT_EQ(sotto_model_init(file.data(), file.size(), &params, memory.data(), size, &model, &error),
            SOTTO_MODEL_CORRUPT);
  EXPECT_NE(std::strstr(error.message, "checksum"), nullptr) << error.message;
}

}  // namespace
}  // namespace sotto
