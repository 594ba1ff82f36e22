// Tests that damaged and hostile model files are rejected with a message or harmless, and that weights packed for this
// CPU are used in place.

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <memory>
#include <string>

#include "kernels/kernels.h"
#include "kernels/linear/linear.h"
#include "runtime/model/file_header.h"
#include "runtime/model/model_generated.h"
#include "tests/capi/hostile_file.h"
#include "tests/capi/open_session.h"

namespace sotto {
namespace {

constexpr ModelShape kShape = {300, 32, 32, 2, 48, 2};

TEST(ModelFile, TruncationIsDetectedEverywhere) {
  const auto good = make_model_file(kShape, true);
  ASSERT_EQ(try_file(good).status, SOTTO_OK);
  std::mt19937 random(1);
  std::vector<size_t> sizes = {0, 1, 7, 8, 63, 64, 65, good.size() - 1};
  for (int i = 0; i < 300; ++i) sizes.push_back(random() % good.size());
  for (const size_t size : sizes) {
    const Outcome outcome = try_file({good.begin(), good.begin() + static_cast<ptrdiff_t>(size)});
    ASSERT_EQ(outcome.status, SOTTO_MODEL_CORRUPT) << size;
    ASSERT_NE(outcome.message.find(size == 0 ? "empty" : "truncated"), std::string::npos)
        << size << ": " << outcome.message;
  }
}

TEST(ModelFile, EveryFlippedBitOutsidePaddingIsDetected) {
  const auto good = make_model_file(kShape, true);
  const Outcome expected = try_file(good);
  std::mt19937 random(2);
  size_t refused = 0, harmless = 0;
  for (size_t i = 0; i < 4000; ++i) {
    // All bits of the header, then random bits.
    const size_t bit = i < 64 * 8 ? i : random() % (good.size() * 8);
    auto bytes = good;
    bytes[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
    const Outcome outcome = try_file(bytes);
    if (outcome.status == SOTTO_OK) {
      ASSERT_EQ(outcome.logits, expected.logits) << "bit " << bit;
      ++harmless;
    } else {
      ASSERT_TRUE(outcome.status == SOTTO_MODEL_CORRUPT || outcome.status == SOTTO_MODEL_UNSUPPORTED);
      ASSERT_FALSE(outcome.message.empty());
      ++refused;
    }
  }
  EXPECT_GT(refused, 20 * harmless);
}

TEST(ModelFile, HostileMetadataIsRejectedOrHarmless) {
  const auto good = make_model_file(kShape, true);
  std::mt19937 random(3);
  size_t refused = 0;
  constexpr size_t kRounds = 6000;
  for (size_t i = 0; i < kRounds; ++i) refused += try_file(with_other_metadata(good, random)).status != SOTTO_OK;
  EXPECT_GT(refused, kRounds / 4);
}

// Returns the ranges of a tensor of each layer, which a test may change.
std::vector<format::DataRange*> ranges_of_layers(std::vector<uint8_t>& bytes) {
  std::vector<format::DataRange*> ranges;
  for (const format::Layer* layer : *format::GetModel(bytes.data() + sizeof(FileHeader))->layers()) {
    ranges.push_back(const_cast<format::DataRange*>(layer->attention_output()->weights()));
  }
  return ranges;
}

TEST(ModelFile, TensorsThatShareBytesAreRejected) {
  const auto good = make_model_file({300, 32, 32, 2, 48, 40}, true);  // more tensors than one block of the check
  ASSERT_EQ(try_file(good).status, SOTTO_OK);
  struct Change {
    size_t layer;
    size_t of_layer;
    int64_t distance;
  };
  for (const Change change : {Change{0, 1, 0}, Change{39, 0, 0}, Change{0, 39, 0}, Change{17, 25, 64},
                              Change{25, 17, -64}, Change{1, 0, 64}}) {
    auto bytes = good;
    const auto ranges = ranges_of_layers(bytes);
    *ranges[change.layer] =
        format::DataRange(ranges[change.of_layer]->offset() + static_cast<uint64_t>(change.distance),
                          ranges[change.layer]->size(), ranges[change.of_layer]->checksum());
    repair_checksums(bytes);
    const Outcome outcome = try_file(bytes);
    EXPECT_EQ(outcome.status, SOTTO_MODEL_CORRUPT) << change.layer << ' ' << change.of_layer;
    EXPECT_NE(outcome.message.find("two tensors share the bytes"), std::string::npos) << outcome.message;
  }
}

// Returns a file in which all layers are the same table, as are all packed sections. Only opening is valid: the tensors
// are zeros.
std::vector<uint8_t> file_of_shared_tables(size_t layer_count, size_t section_count) {
  constexpr uint32_t kWidth = 4, kVocabulary = 8, kPositions = 2;
  constexpr uint64_t kDataBegin = 1 << 20;
  uint64_t end = kDataBegin;
  const auto range = [&](uint64_t size) {
    const format::DataRange taken(end, size, 0);
    end += (size + 63) / 64 * 64;
    return taken;
  };
  flatbuffers::FlatBufferBuilder builder;
  const auto norm = [&] {
    const format::DataRange gain = range(kWidth * sizeof(float)), bias = range(kWidth * sizeof(float));
    return format::CreateNorm(builder, &gain, &bias);
  };
  const auto linear = [&](uint32_t outputs) {
    const format::DataRange weights = range(uint64_t{kWidth} * outputs), scales = range(outputs * sizeof(float));
    return format::CreateLinear(builder, kWidth, outputs, &weights, &scales);
  };
  const std::vector layers(layer_count, format::CreateLayer(builder, norm(), linear(3 * kWidth), linear(kWidth), norm(),
                                                            linear(kWidth), linear(kWidth)));
  const std::vector empty(4 * layer_count + 1, format::DataRange(kDataBegin, 0, 0));
  const std::vector sections(section_count, format::CreatePackedDirect(builder, 1, "other", &empty));
  const format::DataRange positions = range(kPositions * kWidth * sizeof(float));
  const auto embedding = linear(kVocabulary);
  builder.Finish(format::CreateModelDirect(builder, "", "", kVocabulary, kPositions, kWidth, 1, kWidth,
                                           format::Activation::GeluTanh, 1e-5f, -1, 0, &positions, embedding, &layers,
                                           norm(), 0, &sections),
                 format::ModelIdentifier());

  FileHeader header = {};
  std::memcpy(header.magic, FileHeader::kMagic, sizeof header.magic);
  header.version = FileHeader::kVersion;
  header.file_size = end;
  header.metadata_size = builder.GetSize();
  std::vector<uint8_t> bytes(end);
  EXPECT_LE(sizeof header + builder.GetSize(), kDataBegin);
  std::memcpy(bytes.data(), &header, sizeof header);
  std::memcpy(bytes.data() + sizeof header, builder.GetBufferPointer(), builder.GetSize());
  repair_checksums(bytes);
  return bytes;
}

// A FlatBuffer may refer to one table any number of times, so that a small file asks for much memory or time.
TEST(ModelFile, SharedTablesAreRejected) {
  const auto measure = [](size_t layer_count, size_t section_count, uint32_t copies) {
    const AlignedBytes file(file_of_shared_tables(layer_count, section_count));
    sotto_model_params params;
    sotto_model_params_init(&params, sizeof params);
    params.copy_weights = copies;
    sotto_error error = {};
    error.struct_size = sizeof error;
    size_t size = 0;
    const sotto_status status = sotto_model_memory_size(file.data(), file.size(), &params, &size, &error);
    return status == SOTTO_OK ? "" : std::string(error.message);
  };
  for (const uint32_t copies : {0u, 1u}) {
    EXPECT_EQ(measure(1, 8, copies), "");
    EXPECT_EQ(measure(1024, 0, copies), "two tensors share the bytes from this offset on");
    EXPECT_EQ(measure(2, 8, copies), "two tensors share the bytes from this offset on");
    EXPECT_EQ(measure(1, 9, copies), "count of packed sections is 9; it must be from 0 to 8");
    EXPECT_EQ(measure(1, 200000, copies), "count of packed sections is 200000; it must be from 0 to 8");
  }
}

TEST(ModelFile, OtherKindsAndVersionsAreRejected) {
  auto bytes = make_model_file(kShape, false);
  auto other = bytes;
  std::memcpy(other.data(), "GGUF", 4);
  EXPECT_EQ(try_file(other).status, SOTTO_MODEL_CORRUPT);
  EXPECT_NE(try_file(other).message.find("not a .sotto file"), std::string::npos);
  bytes[offsetof(FileHeader, version)] = 9;
  repair_checksums(bytes);
  const Outcome outcome = try_file(bytes);
  EXPECT_EQ(outcome.status, SOTTO_MODEL_UNSUPPORTED);
  EXPECT_NE(outcome.message.find("version 9"), std::string::npos) << outcome.message;
}

TEST(ModelFile, ChecksumsCanBeSkipped) {
  auto bytes = make_model_file(kShape, false);
  const auto& model = *format::GetModel(bytes.data() + sizeof(FileHeader));
  bytes[model.layers()->Get(1)->feed_forward_up()->weights()->offset() + 5] ^= 1;
  const Outcome outcome = try_file(bytes);
  EXPECT_EQ(outcome.status, SOTTO_MODEL_CORRUPT);
  EXPECT_NE(outcome.message.find("checksum"), std::string::npos);
  AlignedBytes file(bytes);
  sotto_model_params params;
  sotto_model_params_init(&params, sizeof params);
  params.verify_checksums = 0;
  size_t needed;
  ASSERT_EQ(sotto_model_memory_size(file.data(), file.size(), &params, &needed, nullptr), SOTTO_OK);
  AlignedBytes memory(needed);
  sotto_model* loaded;
  EXPECT_EQ(sotto_model_init(file.data(), file.size(), &params, memory.data(), needed, &loaded, nullptr), SOTTO_OK);
}

TEST(ModelFile, FloatsMustBeUsable) {
  const auto good = make_model_file(kShape, false);
  const auto& model = *format::GetModel(good.data() + sizeof(FileHeader));
  const struct {
    const format::DataRange* range;
    float value;
    const char* word;
  } cases[] = {
      {model.final_norm()->gain(), std::numeric_limits<float>::quiet_NaN(), "final_norm gain"},
      {model.positions(), std::numeric_limits<float>::infinity(), "positions"},
      {model.layers()->Get(0)->attention_qkv()->scales(), 0.0f, "layer 0 attention_qkv scales"},
      {model.layers()->Get(1)->feed_forward_down()->scales(), -1.0f, "layer 1 feed_forward_down scales"},
      {model.token_embedding()->scales(), 1e-40f, "token_embedding scales"},
  };
  for (const auto& bad : cases) {
    auto bytes = good;
    std::memcpy(bytes.data() + bad.range->offset() + 4, &bad.value, sizeof bad.value);
    const Outcome outcome = try_file(bytes);
    EXPECT_EQ(outcome.status, SOTTO_MODEL_CORRUPT);
    EXPECT_NE(outcome.message.find(bad.word), std::string::npos) << outcome.message;
    EXPECT_NE(outcome.message.find("element 1"), std::string::npos) << outcome.message;
  }
}

// Packing reads whole words, up to kWeightPadding bytes after the rows.
TEST(ModelFile, WeightsEndBeforeTheFileDoes) {
  const auto good = make_model_file(kShape, false);
  for (const size_t padding : {size_t{0}, kWeightPadding - 1, kWeightPadding}) {
    auto bytes = good;
    bytes.resize((bytes.size() + 63) / 64 * 64);
    const uint64_t moved = bytes.size();
    const auto* range =
        format::GetModel(bytes.data() + sizeof(FileHeader))->layers()->Get(0)->attention_qkv()->weights();
    const auto rows = bytes.begin() + static_cast<ptrdiff_t>(range->offset());
    const std::vector<uint8_t> copy(rows, rows + static_cast<ptrdiff_t>(range->size()));
    const auto at = reinterpret_cast<const uint8_t*>(range) - bytes.data();
    std::memcpy(bytes.data() + at, &moved, sizeof moved);
    bytes.insert(bytes.end(), copy.begin(), copy.end());
    bytes.resize(bytes.size() + padding);
    const uint64_t size = bytes.size();
    std::memcpy(bytes.data() + offsetof(FileHeader, file_size), &size, sizeof size);
    repair_checksums(bytes);
    const Outcome outcome = try_file(bytes);
    if (padding == kWeightPadding) {
      EXPECT_EQ(outcome.status, SOTTO_OK) << outcome.message;
    } else {
      EXPECT_EQ(outcome.status, SOTTO_MODEL_CORRUPT);
      EXPECT_NE(outcome.message.find("layer 0 attention_qkv weights: ends less than 8 bytes"), std::string::npos)
          << outcome.message;
    }
  }
}

TEST(ModelFile, ReportsWhichBytesItNoLongerReads) {
  const bool can_pack = find_kernels(Isa::kAuto)->isa != Isa::kReference;
  for (const bool packed : {false, true}) {
    if (packed && !can_pack) continue;
    AlignedBytes file(make_model_file(kShape, false, packed ? "native" : "none"));
    struct Released {
      const uint8_t* begin;
      const uint8_t* end;
      size_t total = 0;
    } released = {file.data(), file.data() + file.size()};
    sotto_model_params params;
    sotto_model_params_init(&params, sizeof params);
    params.release_user_data = &released;
    params.release = [](void* user_data, const void* bytes, size_t size) {
      auto* seen = static_cast<Released*>(user_data);
      const auto* first = static_cast<const uint8_t*>(bytes);
      EXPECT_TRUE(first >= seen->begin && first + size <= seen->end);
      seen->total += size;
    };
    std::string log;
    params.log = [](void* user_data, sotto_log_level, const char* message) {
      *static_cast<std::string*>(user_data) += message;
    };
    params.log_user_data = &log;
    size_t needed;
    ASSERT_EQ(sotto_model_memory_size(file.data(), file.size(), &params, &needed, nullptr), SOTTO_OK);
    AlignedBytes memory(needed);
    sotto_model* model;
    ASSERT_EQ(sotto_model_init(file.data(), file.size(), &params, memory.data(), needed, &model, nullptr), SOTTO_OK);
    sotto_model_info info = {};
    info.struct_size = sizeof info;
    ASSERT_EQ(sotto_model_get_info(model, &info), SOTTO_OK);
    const size_t embedding = size_t{kShape.vocabulary_size} * kShape.embedding_size;
    // Some rows stay that are neither packed nor verified as a part of the head.
    const bool packs = info.isa != SOTTO_ISA_REFERENCE;
    EXPECT_NE(log.find(info.packed_in_place ? ", weights used from the file" : ", weights packed into memory"),
              std::string::npos)
        << log;
    const size_t rows = !packs ? 0 : info.packed_in_place ? embedding : info.weight_bytes;
    uint64_t metadata_size;
    std::memcpy(&metadata_size, file.data() + offsetof(FileHeader, metadata_size), sizeof metadata_size);
    const size_t positions = sizeof(float) * info.max_context_tokens * size_t{kShape.embedding_size};
    const size_t width = kShape.embedding_size, inner = kShape.feed_forward_size;
    const size_t layer_outputs = 3 * width + width + inner + width;
    const size_t scales_and_biases = sizeof(float) * 2 * kShape.layer_count * layer_outputs;
    EXPECT_EQ(released.total, rows + metadata_size + positions + (packs ? scales_and_biases : 0));
  }
}

// Sizes models of every instruction set, opens them in reverse order, and evaluates them in turns. Some are packed at
// load and some use packed weights in place, so that several layouts are in use at the same time.
TEST(ModelFile, EveryModelHasItsOwnLayoutOfPackedWeights) {
  struct Variant {
    sotto_isa isa;
    std::vector<uint8_t> file;
    uint32_t in_place;
    size_t size = 0;
    std::unique_ptr<LoadedModel> model = nullptr;
    std::unique_ptr<OpenSession> session = nullptr;
  };
  const std::vector<uint8_t> plain = make_model_file(kShape, false);
  std::vector<Variant> variants;
  for (sotto_isa isa = SOTTO_ISA_REFERENCE; std::string(sotto_isa_text(isa)) != "unknown"; ++isa) {
    if (find_kernels(static_cast<Isa>(isa)) == nullptr) continue;
    const bool packs = packed_layout(static_cast<Isa>(isa)) != nullptr;
    variants.push_back({isa, plain, packs ? 0u : 1u});
    if (!packs) continue;
    variants.push_back({isa, make_model_file(kShape, false, sotto_isa_text(isa)), 1});
  }
  const auto measure = [](Variant& variant) {
    AlignedBytes file(variant.file);
    sotto_model_params params;
    sotto_model_params_init(&params, sizeof params);
    params.isa = variant.isa;
    size_t size = 0;
    EXPECT_EQ(sotto_model_memory_size(file.data(), file.size(), &params, &size, nullptr), SOTTO_OK);
    return size;
  };
  for (Variant& variant : variants) variant.size = measure(variant);
  for (size_t i = variants.size(); i-- > 0;) {
    variants[i].model = std::make_unique<LoadedModel>(variants[i].file, variants[i].isa);
    for (Variant& variant : variants) EXPECT_EQ(measure(variant), variant.size);
  }
  for (Variant& variant : variants) {
    sotto_model_info info = {};
    info.struct_size = sizeof info;
    ASSERT_EQ(sotto_model_get_info(variant.model->get(), &info), SOTTO_OK);
    EXPECT_EQ(info.isa, variant.isa);
    EXPECT_EQ(info.packed_in_place, variant.in_place);
    variant.session = std::make_unique<OpenSession>(variant.model->get());
  }
  // A prompt that takes the kernels for large batches, then single tokens.
  const std::vector<sotto_token> tokens = random_tokens(24, kShape.vocabulary_size, 3);
  for (size_t first = 0, count = 20; first < tokens.size(); first += count, count = 1) {
    for (const Variant& variant : variants) {
      ASSERT_EQ(sotto_session_prefill(variant.session->get(), &tokens[first], count), SOTTO_OK);
      ASSERT_EQ(variant.session->logits(), variants[0].session->logits()) << sotto_isa_text(variant.isa);
    }
  }
}

class PackedModel : public testing::Test {
 protected:
  void SetUp() override {
    if (find_kernels(Isa::kAuto)->isa == Isa::kReference) {
      GTEST_SKIP() << "this CPU multiplies from plain weights";
    }
    plain_ = make_model_file(kShape, true);
    packed_ = make_model_file(kShape, true, "native");
  }
  std::vector<uint8_t> plain_, packed_;
};

TEST_F(PackedModel, RunsInPlaceWithTheSameBits) {
  ASSERT_GT(packed_.size(), plain_.size());
  EXPECT_EQ(try_file(packed_).logits, try_file(plain_).logits);
  LoadedModel in_place(packed_), in_memory(plain_), reference(packed_, SOTTO_ISA_REFERENCE);
  sotto_model_info info = {};
  info.struct_size = sizeof info;
  ASSERT_EQ(sotto_model_get_info(in_place.get(), &info), SOTTO_OK);
  EXPECT_EQ(info.packed_in_place, 1u);
  ASSERT_EQ(sotto_model_get_info(in_memory.get(), &info), SOTTO_OK);
  EXPECT_EQ(info.packed_in_place, 0u);
  AlignedBytes file(packed_);
  size_t needed;
  ASSERT_EQ(sotto_model_memory_size(file.data(), file.size(), nullptr, &needed, nullptr), SOTTO_OK);
  EXPECT_LT(needed, 4096u);
}

TEST_F(PackedModel, SectionsForOtherCpusAreSkipped) {
  auto bytes = packed_;
  const auto* section = format::GetModel(bytes.data() + sizeof(FileHeader))->packed()->Get(0);
  const uint64_t fingerprint = section->fingerprint();
  uint8_t pattern[8];
  std::memcpy(pattern, &fingerprint, 8);
  auto* at = std::search(bytes.data(), bytes.data() + bytes.size(), pattern, pattern + 8);
  *at ^= 1;
  repair_checksums(bytes);
  EXPECT_EQ(try_file(bytes).logits, try_file(plain_).logits);
}

TEST_F(PackedModel, SectionsThatDoNotFitAreRejected) {
  auto bytes = packed_;
  const auto* section = format::GetModel(bytes.data() + sizeof(FileHeader))->packed()->Get(0);
  const auto* range = section->weights()->Get(2);
  const uint64_t size = range->size();
  const uint64_t smaller = size - 64;
  std::memcpy(const_cast<uint8_t*>(reinterpret_cast<const uint8_t*>(range)) + 8, &smaller, 8);
  repair_checksums(bytes);
  const Outcome outcome = try_file(bytes);
  EXPECT_EQ(outcome.status, SOTTO_MODEL_CORRUPT);
  EXPECT_NE(outcome.message.find("packed weights 2"), std::string::npos) << outcome.message;
}

TEST_F(PackedModel, DamagedSectionsAreDetected) {
  auto bytes = packed_;
  const auto* section = format::GetModel(bytes.data() + sizeof(FileHeader))->packed()->Get(0);
  bytes[section->weights()->Get(3)->offset() + 9] ^= 4;
  EXPECT_EQ(try_file(bytes).status, SOTTO_MODEL_CORRUPT);
}

}  // namespace
}  // namespace sotto
