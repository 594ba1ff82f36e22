#include "converters/model_writer.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <random>
#include <stdexcept>
#include <utility>

#include "converters/file.h"
#include "converters/metadata.h"
#include "converters/packing.h"
#include "converters/quantize/int4.h"
#include "converters/quantize/int8.h"
#include "converters/tokenizers/builder.h"
#include "kernels/linear/int4.h"
#include "runtime/base/arena.h"
#include "runtime/base/xxhash64.h"
#include "runtime/grammar/vocabulary/model_vocabulary.h"
#include "runtime/model/file_header.h"

namespace sotto {
namespace {

constexpr size_t kDataAlignment = 64;

LinearRanges empty_linear(uint32_t inputs, uint32_t outputs, bool has_bias, WeightKind kind) {
  LinearRanges ranges;
  ranges.inputs = inputs;
  ranges.outputs = outputs;
  if (kind == WeightKind::kInt4 && inputs >= kInt4Block) {
    ranges.tiles.emplace();
  } else if (has_bias) {
    ranges.bias.emplace();
  }
  return ranges;
}

// Returns the ranges of the file with offsets and sizes of 0, because they are not known yet. They suffice to determine
// the size of the metadata (build_metadata).
ModelRanges empty_ranges(const CheckpointInfo& info, const WriteOptions& options) {
  const ModelShape& shape = info.shape;
  const uint32_t embedding = shape.embedding_size;
  LayerRanges layer;
  const WeightKind kind = options.layers;
  layer.attention_qkv = empty_linear(embedding, 3 * embedding, true, kind);
  layer.attention_output = empty_linear(embedding, embedding, true, kind);
  layer.feed_forward_up = empty_linear(embedding, shape.feed_forward_size, true, kind);
  layer.feed_forward_down = empty_linear(shape.feed_forward_size, embedding, true, kind);

  ModelRanges ranges;
  const bool is_tied = info.head_kind == HeadKind::kTied;
  const bool is_calibrated = !options.calibration.empty() && options.effort == CalibrationEffort::kFull;
  const bool is_biased = info.head_kind == HeadKind::kBiased || is_calibrated;
  ranges.token_embedding = empty_linear(embedding, shape.vocabulary_size, is_tied && is_biased, options.head);
  ranges.layers.assign(shape.layer_count, layer);
  if (!is_tied) {
    ranges.head = empty_linear(embedding, shape.vocabulary_size, is_biased, options.head);
  }
  const std::vector<const LinearRanges*> linears = ranges.linears();
  const bool packs =
      std::any_of(linears.begin(), linears.end(), [](const LinearRanges* linear) { return !linear->tiles; });
  if (options.packer != nullptr && packs) {
    ranges.packed = PackedRanges{options.packer->fingerprint(), options.packer->isa(), {}};
    ranges.packed->weights.resize(linears.size());
  }
  return ranges;
}

struct AlignedDelete {
  void operator()(uint8_t* bytes) const { operator delete[](bytes, std::align_val_t{kDataAlignment}); }
};

// Writes the parts of a file in order. Data that the runtime keeps using with packed weights (norms, scales of
// embeddings, packed weights) is contiguous at the end of the file. The runtime can then release the pages of the data
// before it: it reads their scales and biases only once, to verify them.
class ModelWriter {
 public:
  ModelWriter(const Checkpoint& checkpoint, const std::filesystem::path& path, const WriteOptions& options)
      : checkpoint_(checkpoint), options_(options), ranges_(empty_ranges(checkpoint.info(), options)) {
    if (!options.is_dry_run) file_.emplace(path);
    prepare_vocabulary();
    if (!options.calibration.empty()) {
      calibration_.emplace(checkpoint, options.calibration, options.effort, options.thread_count);
    }
    step_count_ = 3 + ranges_.layers.size() + (ranges_.packed ? ranges_.packed->weights.size() : 0);
  }

  WriteReport write() {
    report_.metadata_size = metadata().size();
    end_ = sizeof(FileHeader) + report_.metadata_size;
    write_tensors();
    if (ranges_.packed) write_packed();
    align_end(kDataAlignment);
    write_front();
    if (file_) file_->commit();
    report_.file_size = end_;
    return std::move(report_);
  }

 private:
  struct SmallTensor {
    std::vector<float> values;
    DataRange* range;
  };

  std::vector<uint8_t> metadata() const { return build_metadata(checkpoint_.info(), options_.tokenizer, ranges_); }

  void prepare_vocabulary() {
    if (options_.tokenizer == nullptr) return;
    vocabulary_ = build_vocabulary_data(*options_.tokenizer, checkpoint_.info().end_of_text_tokens());
    if (!vocabulary_) return;
    ranges_.vocabulary = {kPreparedVersion, vocabulary_->text_count, vocabulary_->node_count, vocabulary_->longest, {}};
    report_.vocabulary_size = vocabulary_->arrays.size();
  }

  void store(uint64_t offset, const void* bytes, size_t size) {
    if (file_) file_->write_at(offset, bytes, size);
  }

  // Pads the file with zeros to the next boundary.
  void align_end(uint64_t alignment) {
    const std::vector<uint8_t> zeros((alignment - end_ % alignment) % alignment);
    store(end_, zeros.data(), zeros.size());
    end_ += zeros.size();
  }

  template <typename T>
  DataRange append(const std::vector<T>& values) {
    return append(values.data(), values.size() * sizeof(T));
  }

  DataRange append(const void* bytes, size_t size) {
    align_end(kDataAlignment);
    const DataRange range = {end_, size, xxhash64(bytes, size)};
    store(end_, bytes, size);
    end_ += size;
    return range;
  }

  TensorReport& report(const std::string& group, size_t layer, std::vector<uint32_t> shape, uint32_t bits,
                       uint64_t size) {
    const bool in_layer = layer != kNoLayer;
    report_.tensors.push_back({.name = in_layer ? "layers." + std::to_string(layer) + "." + group : group,
                               .group = in_layer ? "layers." + group : group,
                               .shape = std::move(shape),
                               .bits = bits,
                               .size = size,
                               .signal_to_noise_db = std::numeric_limits<double>::infinity()});
    return report_.tensors.back();
  }

  // Adds a QuantizedLinear or QuantizedInt4 to the report.
  template <typename Quantized>
  void report_weights(const char* group, size_t layer, uint32_t bits, uint64_t size, const Quantized& quantized) {
    TensorReport& entry = report(group, layer, {quantized.outputs, quantized.inputs}, bits, size);
    entry.signal_to_noise_db = signal_to_noise_db(quantized.signal, quantized.noise);
    entry.mean_squared_error = quantized.noise / static_cast<double>(quantized.weights.size());
    entry.largest_error = quantized.largest_error;
  }

  DataRange write_floats(const char* group, std::vector<uint32_t> shape, const std::vector<float>& values) {
    const DataRange range = append(values);
    report(group, kNoLayer, std::move(shape), 0, range.size);
    return range;
  }

  // Keeps a tensor for write_deferred().
  static void defer(std::vector<float> values, DataRange& range, std::vector<SmallTensor>& to) {
    range.size = values.size() * sizeof(float);
    to.push_back({std::move(values), &range});
  }

  void write_deferred(std::vector<SmallTensor>& tensors) {
    for (const SmallTensor& tensor : tensors) *tensor.range = append(tensor.values);
    tensors.clear();
  }

  void write_norm(const char* group, size_t layer, const FloatNorm& norm, NormRanges& ranges) {
    defer(norm.gain, ranges.gain, kept_);
    defer(norm.bias, ranges.bias, kept_);
    report(group, layer, {static_cast<uint32_t>(norm.gain.size())}, 0, ranges.gain.size + ranges.bias.size);
  }

  static const ErrorFeedback* pointer_to(const std::optional<ErrorFeedback>& feedback) {
    return feedback ? &*feedback : nullptr;
  }

  // Adds the changes to a bias. Both may be empty.
  static void add_biases(const std::vector<float>& changes, std::vector<float>& bias) {
    bias.resize(std::max(bias.size(), changes.size()));
    for (size_t i = 0; i < changes.size(); ++i) bias[i] += changes[i];
  }

  // Quantizes a linear layer and writes it, its int8 scales and its bias later with those of `small`. `feedback` may be
  // null.
  void write_linear(const char* group, size_t layer, const std::vector<float>& weights, std::vector<float> bias,
                    const ErrorFeedback* feedback, LinearRanges& ranges, std::vector<SmallTensor>& small) {
    if (ranges.tiles) {
      const QuantizedInt4 quantized =
          quantize_int4(weights, ranges.inputs, ranges.outputs, feedback, options_.thread_count);
      add_biases(quantized.bias_changes, bias);
      ranges.tiles = append(build_int4_tiles(quantized, bias));
      report_weights(group, layer, 4, ranges.tiles->size, quantized);
      return;
    }
    QuantizedLinear quantized = quantize(weights, ranges.inputs, ranges.outputs, feedback);
    ranges.weights = append(quantized.weights);
    defer(std::move(quantized.scales), ranges.scales, small);
    uint64_t size = ranges.weights.size + ranges.scales.size;
    if (ranges.bias) {
      bias.resize(ranges.outputs);
      add_biases(quantized.bias_changes, bias);
      defer(std::move(bias), *ranges.bias, small);
      size += ranges.bias->size;
    }
    report_weights(group, layer, 8, size, quantized);
  }

  void write_layer(size_t index) {
    std::optional<CalibratedLayer> calibrated;
    if (calibration_) calibrated = calibration_->next_layer();
    FloatLayer layer = calibrated ? std::move(calibrated->layer) : checkpoint_.layer(static_cast<uint32_t>(index));
    LayerRanges& ranges = ranges_.layers[index];
    const auto linear = [&](const char* group, FloatLinear& from,
                            std::optional<ErrorFeedback> CalibratedLayer::*feedback, LinearRanges& to) {
      write_linear(group, index, from.weights, std::move(from.bias),
                   calibrated ? pointer_to((*calibrated).*feedback) : nullptr, to, verified_);
    };
    write_norm("attention_norm", index, layer.attention_norm, ranges.attention_norm);
    linear("attention_qkv", layer.attention_qkv, &CalibratedLayer::qkv, ranges.attention_qkv);
    linear("attention_output", layer.attention_output, &CalibratedLayer::output, ranges.attention_output);
    write_norm("feed_forward_norm", index, layer.feed_forward_norm, ranges.feed_forward_norm);
    linear("feed_forward_up", layer.feed_forward_up, &CalibratedLayer::up, ranges.feed_forward_up);
    linear("feed_forward_down", layer.feed_forward_down, &CalibratedLayer::down, ranges.feed_forward_down);
  }

  // Writes the final norm, the token embeddings, and the head unless it is tied.
  void write_ends() {
    std::optional<CalibratedHead> calibrated;
    if (calibration_) calibrated = calibration_->head();
    const ErrorFeedback* feedback = calibrated ? pointer_to(calibrated->feedback) : nullptr;
    write_norm("final_norm", kNoLayer, calibrated ? calibrated->final_norm : checkpoint_.final_norm(),
               ranges_.final_norm);
    if (ranges_.head) {
      FloatLinear head = calibrated ? std::move(calibrated->head) : checkpoint_.head();
      write_linear("head", kNoLayer, head.weights, std::move(head.bias), feedback, *ranges_.head, verified_);
    }
    if (ranges_.head || !calibrated) {
      write_linear("token_embedding", kNoLayer, checkpoint_.token_embedding(), {}, nullptr, ranges_.token_embedding,
                   embedding_);
    } else {
      write_linear("token_embedding", kNoLayer, calibrated->head.weights, std::move(calibrated->head.bias), feedback,
                   ranges_.token_embedding, embedding_);
    }
  }

  void write_tensors() {
    const ModelShape& shape = checkpoint_.info().shape;
    ranges_.positions =
        write_floats("positions", {shape.position_count, shape.embedding_size}, checkpoint_.positions());
    if (ranges_.vocabulary) ranges_.vocabulary->arrays = append(vocabulary_->arrays);
    finish_step();
    for (size_t i = 0; i < ranges_.layers.size(); ++i) {
      write_layer(i);
      finish_step();
    }
    write_ends();
    finish_step();
    write_deferred(verified_);
    if (packed_size() >= WriteOptions::kMinPages * options_.page_size) {
      align_end(options_.page_size);
    }
    write_deferred(embedding_);
    write_deferred(kept_);
    finish_step();
  }

  // Returns the size of all packed weights. Layers of 4-bit weights are not packed, because tiles are used as they are.
  uint64_t packed_size() const {
    uint64_t size = 0;
    if (!ranges_.packed) return size;
    for (const LinearRanges* linear : ranges_.linears()) {
      if (!linear->tiles) size += packed_size(*linear);
    }
    return size;
  }

  size_t packed_size(const LinearRanges& linear) const {
    return align_up(options_.packer->size(linear.inputs, linear.outputs), kDataAlignment);
  }

  template <typename T>
  std::vector<T> read_back(const DataRange& range) const {
    std::vector<T> values(range.size / sizeof(T));
    file_->read_at(range.offset, values.data(), range.size);
    return values;
  }

  // Packs the int8 weights. Each layer is read back from the file, so that only one of them is in memory.
  void write_packed() {
    const std::vector<const LinearRanges*> linears = ranges_.linears();
    for (size_t i = 0; i < linears.size(); ++i) {
      const LinearRanges& linear = *linears[i];
      if (options_.is_dry_run && !linear.tiles) {
        align_end(kDataAlignment);
        end_ += packed_size(linear);
        report_.packed_size += packed_size(linear);
        finish_step();
        continue;
      }
      if (linear.tiles) {
        ranges_.packed->weights[i] = append(nullptr, 0);
        finish_step();
        continue;
      }
      std::vector<int8_t> rows = read_back<int8_t>(linear.weights);
      rows.resize(rows.size() + kWeightPadding);
      const std::vector<float> scales = read_back<float>(linear.scales);
      std::vector<float> bias;
      if (linear.bias) bias = read_back<float>(*linear.bias);
      const LinearWeights weights = {.inputs = linear.inputs,
                                     .outputs = linear.outputs,
                                     .rows = rows.data(),
                                     .scales = scales.data(),
                                     .bias = linear.bias ? bias.data() : nullptr};
      const size_t size = packed_size(linear);
      const size_t capacity = std::max(size, packed_size_bound(linear.inputs, linear.outputs));
      const std::unique_ptr<uint8_t[], AlignedDelete> packed(new (std::align_val_t{kDataAlignment})
                                                                 uint8_t[capacity]());
      options_.packer->pack(weights, {packed.get(), capacity});
      ranges_.packed->weights[i] = append(packed.get(), size);
      report_.packed_size += size;
      finish_step();
    }
  }

  // Writes the header and the metadata, now that every range is known.
  void write_front() {
    const std::vector<uint8_t> bytes = metadata();
    if (bytes.size() != report_.metadata_size) {
      throw std::logic_error("the metadata's size depends on its values");
    }
    FileHeader header = {};
    std::memcpy(header.magic, FileHeader::kMagic, sizeof header.magic);
    header.version = FileHeader::kVersion;
    header.file_size = end_;
    header.metadata_size = bytes.size();
    header.metadata_checksum = xxhash64(bytes.data(), bytes.size());
    header.header_checksum = xxhash64(&header, offsetof(FileHeader, header_checksum));
    store(0, &header, sizeof header);
    store(sizeof header, bytes.data(), bytes.size());
  }

  void finish_step() {
    ++step_;
    options_.progress(static_cast<double>(step_) / static_cast<double>(step_count_));
  }

  static constexpr size_t kNoLayer = std::numeric_limits<size_t>::max();

  const Checkpoint& checkpoint_;
  const WriteOptions& options_;
  ModelRanges ranges_;
  std::vector<SmallTensor> embedding_;  // of the token embeddings, before kept_
  std::vector<SmallTensor> kept_;       // used together with packed weights
  std::vector<SmallTensor> verified_;   // only verified when packed weights are used
  std::optional<VocabularyData> vocabulary_;
  std::optional<Calibration> calibration_;
  std::optional<OutputFile> file_;  // nullopt in a dry run
  WriteReport report_;
  uint64_t end_ = 0;  // end of the bytes written so far
  size_t step_ = 0;
  size_t step_count_ = 0;
};

// A name in the system's directory for temporary files. The destructor removes the file.
class TemporaryPath {
 public:
  TemporaryPath()
      : path_(std::filesystem::temp_directory_path() / ("sotto-" + std::to_string(std::random_device{}()) + ".sotto")) {
  }
  ~TemporaryPath() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  TemporaryPath(const TemporaryPath&) = delete;
  TemporaryPath& operator=(const TemporaryPath&) = delete;

  const std::filesystem::path& get() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace

WriteReport write_model(const Checkpoint& checkpoint, const std::filesystem::path& path, const WriteOptions& options) {
  return ModelWriter(checkpoint, path, options).write();
}

double WriteReport::lowest_snr_db() const {
  double lowest = std::numeric_limits<double>::infinity();
  for (const TensorReport& tensor : tensors) lowest = std::min(lowest, tensor.signal_to_noise_db);
  return lowest;
}

std::vector<uint8_t> convert_to_bytes(const Checkpoint& checkpoint, const WriteOptions& options, WriteReport* report) {
  const TemporaryPath path;
  const WriteReport written = write_model(checkpoint, path.get(), options);
  if (report != nullptr) *report = written;
  const InputFile file(path.get());
  std::vector<uint8_t> bytes(file.size());
  file.read_at(0, bytes.data(), bytes.size());
  return bytes;
}

}  // namespace sotto
