#include "converters/model_writer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include "converters/quantize/int8.h"
#include "converters/readers/checkpoint.h"
#include "converters/readers/synthetic.h"
#include "converters/report.h"
#include "converters/tokenizers/builder.h"
#include "runtime/base/xxhash64.h"
#include "runtime/grammar/vocabulary/model_vocabulary.h"
#include "runtime/model/file_header.h"
#include "runtime/model/model_generated.h"
#include "tests/unit/converters/checkpoint_support.h"

namespace sotto {
namespace {

constexpr ModelShape kShape = {.vocabulary_size = 37,
                               .position_count = 9,
                               .embedding_size = 12,
                               .head_count = 3,
                               .feed_forward_size = 20,
                               .layer_count = 2};

// An independent, simple reader of .sotto files that checks every statement of the header and every range.
class WrittenModel {
 public:
  explicit WrittenModel(const std::filesystem::path& path) : bytes_(read_file(path)) {
    FileHeader header;
    std::memcpy(&header, bytes_.data(), sizeof header);
    EXPECT_EQ(std::memcmp(header.magic, FileHeader::kMagic, sizeof header.magic), 0);
    EXPECT_EQ(header.version, FileHeader::kVersion);
    EXPECT_EQ(header.reserved, 0u);
    EXPECT_EQ(header.file_size, bytes_.size());
    EXPECT_EQ(header.header_checksum, xxhash64(&header, offsetof(FileHeader, header_checksum)));
    const char* metadata = bytes_.data() + sizeof header;
    EXPECT_EQ(header.metadata_checksum, xxhash64(metadata, header.metadata_size));
    const auto* start = reinterpret_cast<const uint8_t*>(metadata);
    flatbuffers::Verifier verifier(start, header.metadata_size);
    EXPECT_TRUE(format::VerifyModelBuffer(verifier));
    end_ = sizeof header + header.metadata_size;
    model_ = format::GetModel(start);
  }

  const format::Model& model() const { return *model_; }
  size_t size() const { return bytes_.size(); }

  // Returns a tensor's values and adds its range to those that expect_tiled() checks.
  template <typename T>
  std::vector<T> take(const format::DataRange* range, size_t count) {
    EXPECT_EQ(range->size(), count * sizeof(T));
    EXPECT_EQ(range->offset() % 64, 0u);
    EXPECT_LE(range->offset() + range->size(), bytes_.size());
    ranges_.push_back({range->offset(), range->size()});
    EXPECT_EQ(range->checksum(), xxhash64(bytes_.data() + range->offset(), range->size()));
    std::vector<T> values(count);
    std::memcpy(values.data(), bytes_.data() + range->offset(), range->size());
    return values;
  }

  // Checks that tensors follow each other without overlap, and without gaps except for alignment.
  void expect_tiled() {
    std::sort(ranges_.begin(), ranges_.end());
    for (const auto& [offset, size] : ranges_) {
      EXPECT_GE(offset, end_);
      EXPECT_LT(offset, end_ + 64);
      end_ = offset + size;
    }
    ranges_.clear();
  }

  void expect_norm(const format::Norm* norm, const FloatNorm& expected) {
    EXPECT_EQ(take<float>(norm->gain(), expected.gain.size()), expected.gain);
    EXPECT_EQ(take<float>(norm->bias(), expected.bias.size()), expected.bias);
  }

  void expect_linear(const format::Linear* linear, const FloatLinear& expected, bool has_bias) {
    const QuantizedLinear quantized = quantize(expected.weights, expected.inputs, expected.outputs);
    EXPECT_EQ(linear->inputs(), expected.inputs);
    EXPECT_EQ(linear->outputs(), expected.outputs);
    EXPECT_EQ(take<int8_t>(linear->weights(), expected.weights.size()), quantized.weights);
    EXPECT_EQ(take<float>(linear->scales(), expected.outputs), quantized.scales);
    ASSERT_EQ(linear->bias() != nullptr, has_bias);
    if (has_bias) {
      EXPECT_EQ(take<float>(linear->bias(), expected.outputs), expected.bias);
    }
  }

  // Checks that the file contains every tensor of a checkpoint and nothing else.
  void expect_holds(const Checkpoint& checkpoint) {
    const CheckpointInfo& info = checkpoint.info();
    EXPECT_EQ(model_->name()->str(), info.name);
    EXPECT_EQ(model_->vocabulary_size(), info.shape.vocabulary_size);
    EXPECT_EQ(model_->position_count(), info.shape.position_count);
    EXPECT_EQ(model_->embedding_size(), info.shape.embedding_size);
    EXPECT_EQ(model_->head_count(), info.shape.head_count);
    EXPECT_EQ(model_->feed_forward_size(), info.shape.feed_forward_size);
    EXPECT_EQ(static_cast<int>(model_->activation()), static_cast<int>(info.activation));
    EXPECT_EQ(model_->norm_epsilon(), info.norm_epsilon);
    EXPECT_EQ(model_->end_of_text_token(), info.end_of_text_token);
    const FloatModel expected = load_float_model(checkpoint);
    EXPECT_EQ(take<float>(model_->positions(), expected.positions.size()), expected.positions);
    expect_linear(model_->token_embedding(),
                  {info.shape.embedding_size, info.shape.vocabulary_size, expected.token_embedding, {}}, false);
    ASSERT_EQ(model_->layers()->size(), info.shape.layer_count);
    for (uint32_t i = 0; i < info.shape.layer_count; ++i) {
      const format::Layer* layer = model_->layers()->Get(i);
      expect_norm(layer->attention_norm(), expected.layers[i].attention_norm);
      expect_linear(layer->attention_qkv(), expected.layers[i].attention_qkv, true);
      expect_linear(layer->attention_output(), expected.layers[i].attention_output, true);
      expect_norm(layer->feed_forward_norm(), expected.layers[i].feed_forward_norm);
      expect_linear(layer->feed_forward_up(), expected.layers[i].feed_forward_up, true);
      expect_linear(layer->feed_forward_down(), expected.layers[i].feed_forward_down, true);
    }
    expect_norm(model_->final_norm(), expected.final_norm);
    ASSERT_EQ(model_->head() != nullptr, expected.head.has_value());
    if (expected.head) {
      expect_linear(model_->head(), *expected.head, info.head_kind == HeadKind::kBiased);
    }
    if (const format::Vocabulary* vocabulary = model_->vocabulary()) {
      take<uint8_t>(vocabulary->arrays(), vocabulary->arrays()->size());
    }
    expect_tiled();
  }

 private:
  std::string bytes_;
  const format::Model* model_ = nullptr;
  std::vector<std::pair<uint64_t, uint64_t>> ranges_;  // offset, size
  uint64_t end_ = 0;
};

class ModelWriterTest : public testing::Test {
 protected:
  std::filesystem::path output() const { return directory_ / "model.sotto"; }
  size_t file_count() const {
    const std::filesystem::directory_iterator files(directory_.path());
    return static_cast<size_t>(std::distance(begin(files), end(files)));
  }

  TemporaryDirectory directory_;
};

TEST_F(ModelWriterTest, WritesEveryTensor) {
  const SyntheticCheckpoint checkpoint("tiny", kShape, 7);
  const WriteReport report = write_model(checkpoint, output(), {});
  WrittenModel written(output());
  written.expect_holds(checkpoint);
  EXPECT_EQ(written.model().source()->str(), "random weights, seed 7");
  EXPECT_EQ(written.model().tokenizer(), nullptr);
  EXPECT_EQ(report.file_size, written.size());
  EXPECT_EQ(report.packed_size, 0u);
  EXPECT_EQ(file_count(), 1u);
}

TEST_F(ModelWriterTest, KeepsSmallTensorsApartFromWeights) {
  write_model(SyntheticCheckpoint("tiny", kShape, 7), output(), {});
  const WrittenModel written(output());
  const auto* last = written.model().layers()->Get(kShape.layer_count - 1);
  const uint64_t weights = last->feed_forward_down()->weights()->offset();
  EXPECT_GT(written.model().token_embedding()->scales()->offset(), weights);
  EXPECT_GT(written.model().layers()->Get(0)->attention_norm()->gain()->offset(), weights);
  EXPECT_GT(written.model().layers()->Get(0)->attention_qkv()->bias()->offset(), weights);
}

TEST_F(ModelWriterTest, WritesSeparateHeads) {
  TinyCheckpoint tiny = make_tiny_checkpoint();
  tiny.tensors["lm_head.weight"] = make_tensor("F32", {11, 8}, std::vector<float>(88, 0.25f));
  for (const HeadKind kind : {HeadKind::kPlain, HeadKind::kBiased}) {
    if (kind == HeadKind::kBiased) {
      tiny.tensors["lm_head.bias"] = make_tensor("F32", {11}, std::vector<float>(11, 2));
    }
    tiny.save(directory_.path());
    const auto checkpoint = open_checkpoint(directory_.path());
    ASSERT_EQ(checkpoint->info().head_kind, kind);
    write_model(*checkpoint, output(), {});
    WrittenModel(output()).expect_holds(*checkpoint);
  }
}

TEST_F(ModelWriterTest, WritesTheTokenizer) {
  const SyntheticCheckpoint checkpoint("tiny", kShape, 7);
  TokenizerData tokenizer;
  tokenizer.token_offsets.resize(kShape.vocabulary_size + 1);
  std::iota(tokenizer.token_offsets.begin(), tokenizer.token_offsets.end(), 0u);
  tokenizer.token_bytes.assign(kShape.vocabulary_size, 'x');
  tokenizer.token_kinds.assign(kShape.vocabulary_size, TokenKind::kAdded);
  tokenizer.byte_tokens.assign(256, kNoToken);
  tokenizer.merges = {{1, 2, 3}};
  tokenizer.merge_index = {0, 1};
  tokenizer.token_merges.assign(kShape.vocabulary_size, kNoMerge);
  tokenizer.sorted_tokens = {5, 4};
  tokenizer.added_tokens = {9};
  tokenizer.prefix_space = PrefixSpace::kIfMissing;
  const WriteReport report = write_model(checkpoint, output(), {.tokenizer = &tokenizer});

  WrittenModel written(output());
  written.expect_holds(checkpoint);
  // All its tokens have the same text, which is one node.
  const format::Vocabulary* vocabulary = written.model().vocabulary();
  ASSERT_NE(vocabulary, nullptr);
  EXPECT_EQ(vocabulary->version(), kPreparedVersion);
  EXPECT_EQ(vocabulary->text_count(), kShape.vocabulary_size);
  EXPECT_EQ(vocabulary->node_count(), 1u);
  EXPECT_EQ(vocabulary->longest(), 1u);
  EXPECT_EQ(report.vocabulary_size, prepared_vocabulary_size(kShape.vocabulary_size, kShape.vocabulary_size, 1));
  const auto arrays = written.take<uint8_t>(vocabulary->arrays(), report.vocabulary_size);
  EXPECT_EQ(arrays[0], 0u);  // ordered by number
  EXPECT_EQ(arrays[4], 1u);
  const format::Tokenizer* table = written.model().tokenizer();
  ASSERT_NE(table, nullptr);
  const auto expect_equal = [](const auto* vector, const auto& expected) {
    ASSERT_EQ(vector->size(), expected.size());
    EXPECT_TRUE(std::equal(vector->begin(), vector->end(), expected.begin()));
  };
  expect_equal(table->token_offsets(), tokenizer.token_offsets);
  expect_equal(table->token_bytes(), tokenizer.token_bytes);
  expect_equal(table->byte_tokens(), tokenizer.byte_tokens);
  expect_equal(table->merge_index(), tokenizer.merge_index);
  expect_equal(table->token_merges(), tokenizer.token_merges);
  expect_equal(table->sorted_tokens(), tokenizer.sorted_tokens);
  expect_equal(table->added_tokens(), tokenizer.added_tokens);
  ASSERT_EQ(table->token_kinds()->size(), kShape.vocabulary_size);
  EXPECT_EQ(table->token_kinds()->Get(0), format::TokenKind::Added);
  ASSERT_EQ(table->merges()->size(), 1u);
  EXPECT_EQ(table->merges()->Get(0)->right(), 2u);
  EXPECT_EQ(table->merges()->Get(0)->result(), 3u);
  EXPECT_EQ(table->prefix_space(), format::PrefixSpace::IfMissing);
}

TEST_F(ModelWriterTest, GivesEqualBytesForEqualInput) {
  write_model(SyntheticCheckpoint("a", kShape, 1), output(), {});
  const std::string first = read_file(output());
  write_model(SyntheticCheckpoint("a", kShape, 1), output(), {});
  EXPECT_EQ(read_file(output()), first);
  write_model(SyntheticCheckpoint("a", kShape, 2), output(), {});
  EXPECT_NE(read_file(output()), first);
}

TEST_F(ModelWriterTest, KeepsTheOldFileOnFailure) {
  write_bytes(output(), "precious");
  for (const double when : {0.0, 0.5, 1.0}) {
    WriteOptions options;
    options.progress = [&](double fraction) {
      if (fraction >= when) throw std::runtime_error("stopped");
    };
    EXPECT_ERROR(write_model(SyntheticCheckpoint("a", kShape, 1), output(), options), "stopped");
    EXPECT_EQ(read_file(output()), "precious");
    EXPECT_EQ(file_count(), 1u);
  }
  EXPECT_ERROR(write_model(SyntheticCheckpoint("a", kShape, 1), directory_ / "no/x.sotto", {}), "cannot create");
}

TEST_F(ModelWriterTest, ReportsProgress) {
  std::vector<double> fractions;
  WriteOptions options;
  options.progress = [&](double fraction) { fractions.push_back(fraction); };
  write_model(SyntheticCheckpoint("a", kShape, 1), output(), options);
  EXPECT_TRUE(std::is_sorted(fractions.begin(), fractions.end()));
  EXPECT_GT(fractions.front(), 0);
  EXPECT_EQ(fractions.back(), 1);
}

TEST_F(ModelWriterTest, ReportsEveryTensor) {
  ConversionSummary summary;
  const SyntheticCheckpoint checkpoint("tiny", kShape, 7);
  summary.info = checkpoint.info();
  summary.output = "tiny.sotto";
  summary.written = write_model(checkpoint, output(), {});
  const auto json = nlohmann::json::parse(summary_json(summary));
  EXPECT_EQ(json["file_size"], std::filesystem::file_size(output()));
  EXPECT_EQ(json["shape"]["layer_count"], 2);
  EXPECT_EQ(json["packed_isa"], nullptr);
  // (37 + 9) 12 + 2 (4 12 12 + 2 12 20 + 20 + 9 12) + 2 12
  EXPECT_EQ(json["parameter_count"], 2944);
  ASSERT_EQ(json["tensors"].size(), 3 + 2 * 6u);
  EXPECT_EQ(json["tensors"][0]["signal_to_noise_db"], nullptr);
  EXPECT_EQ(json["tensors"][2]["name"], "layers.0.attention_qkv");
  EXPECT_EQ(json["tensors"][2]["shape"], (std::vector<int>{36, 12}));
  EXPECT_GT(json["tensors"][2]["signal_to_noise_db"], 40.0);
  // Errors are distributed evenly up to half a step, which is not the same for all rows.
  const double rms = std::sqrt(json["tensors"][2]["mean_squared_error"].get<double>());
  const double ratio = json["tensors"][2]["largest_error"].get<double>() / rms;
  EXPECT_GT(ratio, 1.6);
  EXPECT_LT(ratio, 4);

  const std::string table = summary_table(summary);
  EXPECT_NE(table.find("layers.attention_qkv"), std::string::npos);
  EXPECT_NE(table.find("tiny.sotto: "), std::string::npos);
}

TEST(SyntheticTest, DrawsFromTheNormalDistribution) {
  const SyntheticCheckpoint checkpoint("tiny", {1000, 16, 64, 4, 256, 1}, 3);
  const std::vector<float> values = checkpoint.token_embedding();
  double sum = 0, squares = 0, fourths = 0;
  for (const double value : values) {
    sum += value;
    squares += value * value;
    fourths += value * value * value * value;
  }
  const auto count = static_cast<double>(values.size());
  const double variance = squares / count;
  EXPECT_NEAR(sum / count, 0, 4 * 0.02 / std::sqrt(count));
  EXPECT_NEAR(std::sqrt(variance), 0.02, 4 * 0.02 / std::sqrt(2 * count));
  EXPECT_NEAR(fourths / count / (variance * variance), 3, 4 * std::sqrt(24 / count));
  EXPECT_NE(checkpoint.layer(0).attention_qkv.weights[0], values[0]);
}

class RealCheckpointTest : public testing::TestWithParam<const char*> {};

TEST_P(RealCheckpointTest, ConvertsToAModelThatOpens) {
  SOTTO_REQUIRE_DATA(GetParam());
  const std::filesystem::path directory = test::shared_data() / GetParam();
  const TemporaryDirectory temporary;
  const auto checkpoint = open_checkpoint(directory);
  const WriteReport report = write_model(*checkpoint, temporary / "x.sotto", {});
  WrittenModel(temporary / "x.sotto").expect_holds(*checkpoint);
  for (const TensorReport& tensor : report.tensors) {
    EXPECT_GT(tensor.signal_to_noise_db, 40) << tensor.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Data, RealCheckpointTest,
                         testing::Values("demo", "weights/gpt2-basic", "weights/gpt2-basic/plain_gpt2",
                                         "weights/llm-viz-gpt-nano-sort", "weights/tiny-random-gpt2"));

}  // namespace
}  // namespace sotto
