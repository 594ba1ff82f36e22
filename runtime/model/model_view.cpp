#include "runtime/model/model_view.h"

#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>

#include "kernels/kernels.h"
#include "runtime/base/arena.h"
#include "runtime/base/range_check.h"
#include "runtime/base/utf8.h"
#include "runtime/base/xxhash64.h"
#include "runtime/model/file_header.h"
#include "runtime/model/model_generated.h"
#include "runtime/model/model_verifier.h"

namespace sotto {
namespace {

// Limits the time of opening a file, because a FlatBuffer can refer to one section any number of times.
constexpr uint32_t kMaxPackedSections = 8;

Status verify_header(const uint8_t* file, size_t size, FileHeader* header, Error* error) {
  constexpr auto kCorrupt = Status::kModelCorrupt;
  if (reinterpret_cast<uintptr_t>(file) % kMemoryAlignment != 0) {
    return fail(error, Status::kMemoryMisaligned, "the model's bytes are not aligned to 64");
  }
  if (size == 0) return fail_at(error, kCorrupt, 0, "the file is empty");
  if (size < sizeof *header) {
    return fail_at(error, kCorrupt, size, "truncated: ", size, " bytes are less than the header's 64");
  }
  std::memcpy(header, file, sizeof *header);
  if (std::memcmp(header->magic, FileHeader::kMagic, sizeof header->magic) != 0) {
    return fail_at(error, kCorrupt, 0, "not a .sotto file: its first bytes are not SOTTO");
  }
  if (header->version != FileHeader::kVersion) {
    return fail_at(error, Status::kModelUnsupported, offsetof(FileHeader, version), "format version ", header->version,
                   "; this library reads version ", FileHeader::kVersion);
  }
  if (header->header_checksum != xxhash64(file, offsetof(FileHeader, header_checksum))) {
    return fail_at(error, kCorrupt, offsetof(FileHeader, header_checksum), "the header has a wrong checksum");
  }
  if (header->file_size > size) {
    return fail_at(error, kCorrupt, size, "truncated: ", size, " of ", header->file_size, " bytes");
  }
  if (header->file_size < sizeof *header || header->metadata_size > header->file_size - sizeof *header) {
    return fail_at(error, kCorrupt, offsetof(FileHeader, metadata_size),
                   "the metadata reaches beyond the end of the file");
  }
  return Status::kOk;
}

Status verify_metadata(const uint8_t* metadata, const FileHeader& header, Error* error) {
  const auto size = static_cast<size_t>(header.metadata_size);
  if (xxhash64(metadata, size) != header.metadata_checksum) {
    return fail_at(error, Status::kModelCorrupt, sizeof header, "the metadata has a wrong checksum");
  }
  flatbuffers::Verifier verifier(metadata, size);
  if (!format::VerifyModelBuffer(verifier)) {
    return fail_at(error, Status::kModelCorrupt, sizeof header, "the metadata is not a valid FlatBuffer");
  }
  return Status::kOk;
}

Status check_field(const char* what, uint64_t value, uint64_t low, uint64_t high, Error* error) {
  if (value >= low && value <= high) return Status::kOk;
  return fail(error, Status::kModelCorrupt, what, " is ", value, "; it must be from ", low, " to ", high);
}

Status read_config(const format::Model& model, ModelConfig* config, Error* error) {
  SOTTO_TRY(check_field("vocabulary_size", model.vocabulary_size(), 1, ModelLimits::kVocabulary, error));
  SOTTO_TRY(check_field("position_count", model.position_count(), 1, ModelLimits::kPositions, error));
  SOTTO_TRY(check_field("embedding_size", model.embedding_size(), 1, ModelLimits::kWidth, error));
  SOTTO_TRY(check_field("feed_forward_size", model.feed_forward_size(), 1, ModelLimits::kFeedForward, error));
  SOTTO_TRY(check_field("layer_count", model.layers()->size(), 1, ModelLimits::kLayers, error));
  SOTTO_TRY(check_field("head_count", model.head_count(), 1, model.embedding_size(), error));
  if (model.embedding_size() % model.head_count() != 0) {
    return fail(error, Status::kModelCorrupt, "embedding_size is ", model.embedding_size(),
                "; it must be a multiple of head_count ", model.head_count());
  }
  const uint32_t head_size = model.embedding_size() / model.head_count();
  SOTTO_TRY(check_field("head size", head_size, 1, uint32_t{kMaxHeadSize}, error));
  if (!(model.norm_epsilon() > 0.0f) || !std::isfinite(model.norm_epsilon())) {
    return fail(error, Status::kModelCorrupt, "norm_epsilon is ", model.norm_epsilon(),
                "; it must be greater than 0 and finite");
  }
  if (model.activation() > format::Activation::MAX) {
    return fail(error, Status::kModelUnsupported, "activation is ", static_cast<uint32_t>(model.activation()),
                "; it must be at most ", static_cast<uint32_t>(format::Activation::MAX));
  }
  if (model.end_of_text_token() < -1 || model.end_of_text_token() >= static_cast<int64_t>(model.vocabulary_size())) {
    return fail(error, Status::kModelCorrupt, "end_of_text_token is ", model.end_of_text_token(),
                "; it must be -1 or a token id from 0 to ", model.vocabulary_size() - 1);
  }
  SOTTO_TRY(check_field("reward_count", model.reward_count(), 0, model.vocabulary_size() - 1, error));
  *config = {model.vocabulary_size(),
             model.position_count(),
             model.embedding_size(),
             model.head_count(),
             head_size,
             model.feed_forward_size(),
             model.layers()->size(),
             static_cast<Activation>(model.activation()),
             model.norm_epsilon(),
             model.end_of_text_token(),
             model.reward_count()};
  return Status::kOk;
}

Status check_end_of_text(const format::Model& model, Error* error) {
  const auto* tokens = model.end_of_text_tokens();
  if (tokens == nullptr) return Status::kOk;
  SOTTO_TRY(check_field("count of end_of_text_tokens", tokens->size(), 1, ModelLimits::kEndTokens, error));
  for (const int32_t token : *tokens) {
    if (is_token(token, model.vocabulary_size())) continue;
    return fail(error, Status::kModelCorrupt, "end_of_text_tokens contains ", token,
                "; it must be a token id from 0 to ", model.vocabulary_size() - 1);
  }
  if (tokens->Get(0) == model.end_of_text_token()) return Status::kOk;
  return fail(error, Status::kModelCorrupt, "end_of_text_tokens does not begin with end_of_text_token");
}

Status check_text(const char* what, const flatbuffers::String* text, Error* error) {
  if (text == nullptr) return Status::kOk;
  const size_t valid = find_invalid_utf8({text->c_str(), text->size()});
  if (valid == text->size()) return Status::kOk;
  return fail(error, Status::kModelCorrupt, what, " is not UTF-8 at byte ", valid);
}

Status check_shape(const format::Linear& linear, int64_t layer, const char* owner, uint32_t inputs, uint32_t outputs,
                   Error* error) {
  if (linear.inputs() == inputs && linear.outputs() == outputs) {
    return verify_form(linear, {layer, owner, "form"}, error);
  }
  return fail_tensor(error, Status::kModelCorrupt, Error::kNoOffset, {layer, owner, "shape"}, linear.inputs(), " -> ",
                     linear.outputs(), ", should be ", inputs, " -> ", outputs);
}

Status check_shapes(const format::Model& model, Error* error) {
  const uint32_t width = model.embedding_size();
  const uint32_t inner = model.feed_forward_size();
  const uint32_t vocabulary = model.vocabulary_size();
  SOTTO_TRY(check_shape(*model.token_embedding(), -1, "token_embedding", width, vocabulary, error));
  int64_t index = 0;
  for (const format::Layer* layer : *model.layers()) {
    SOTTO_TRY(check_shape(*layer->attention_qkv(), index, "attention_qkv", width, 3 * width, error));
    SOTTO_TRY(check_shape(*layer->attention_output(), index, "attention_output", width, width, error));
    SOTTO_TRY(check_shape(*layer->feed_forward_up(), index, "feed_forward_up", width, inner, error));
    SOTTO_TRY(check_shape(*layer->feed_forward_down(), index, "feed_forward_down", inner, width, error));
    ++index;
  }
  if (model.head() == nullptr) return Status::kOk;
  return check_shape(*model.head(), -1, "head", width, vocabulary, error);
}

const float* floats(const uint8_t* file, const format::DataRange* range) {
  return range == nullptr ? nullptr : reinterpret_cast<const float*>(file + range->offset());
}

LinearWeights view_linear(const uint8_t* file, const format::Linear& linear) {
  LinearWeights weights;
  weights.inputs = linear.inputs();
  weights.outputs = linear.outputs();
  if (linear.tiles() != nullptr) {
    weights.tiles = file + linear.tiles()->offset();
    return weights;
  }
  weights.rows = reinterpret_cast<const int8_t*>(file + linear.weights()->offset());
  weights.scales = floats(file, linear.scales());
  weights.bias = floats(file, linear.bias());
  return weights;
}

NormView view_norm(const uint8_t* file, const format::Norm& norm) {
  return {floats(file, norm.gain()), floats(file, norm.bias())};
}

const format::Linear& find_linear(const format::Model& model, size_t index) {
  if (index == size_t{4} * model.layers()->size()) {
    return model.head() == nullptr ? *model.token_embedding() : *model.head();
  }
  const format::Layer* layer = model.layers()->Get(static_cast<uint32_t>(index / 4));
  switch (index % 4) {
    case 0:
      return *layer->attention_qkv();
    case 1:
      return *layer->attention_output();
    case 2:
      return *layer->feed_forward_up();
    default:
      return *layer->feed_forward_down();
  }
}

const char* text_of(const flatbuffers::String* text) { return text == nullptr ? "" : text->c_str(); }

ByteRange view_range(const uint8_t* file, const format::DataRange& range) {
  return {file + range.offset(), static_cast<size_t>(range.size()), range.checksum()};
}

ByteRange view_bytes(const uint8_t* file, const format::Linear& linear) {
  return view_range(file, linear.tiles() != nullptr ? *linear.tiles() : *linear.weights());
}

size_t packed_size_of(const TileLayout& layout, const LinearWeights& weights) {
  return weights.tiles != nullptr ? 0 : packed_size(layout, weights.inputs, weights.outputs);
}

}  // namespace

Status ModelView::open(const void* file, size_t file_size, Error* error) {
  const auto* bytes = static_cast<const uint8_t*>(file);
  FileHeader header;
  SOTTO_TRY(verify_header(bytes, file_size, &header, error));
  const uint8_t* metadata = bytes + sizeof header;
  SOTTO_TRY(verify_metadata(metadata, header, error));
  const format::Model& model = *format::GetModel(metadata);
  ModelConfig config;
  SOTTO_TRY(read_config(model, &config, error));
  SOTTO_TRY(check_shapes(model, error));
  SOTTO_TRY(check_end_of_text(model, error));
  SOTTO_TRY(check_text("license", model.license(), error));
  SOTTO_TRY(check_text("chat_template", model.chat_template(), error));
  SOTTO_TRY(check_text("chat_format", model.chat_format(), error));
  SamplingDefaults sampling_defaults;
  SOTTO_TRY(read_sampling_defaults(model, &sampling_defaults, error));

  const FileBytes file_bytes = {bytes, static_cast<size_t>(header.file_size),
                                sizeof header + static_cast<size_t>(header.metadata_size)};
  SOTTO_TRY(visit_tensors(model, [&](const TensorSpec& spec) { return verify_extent(file_bytes, spec, error); }));
  const uint32_t sections = model.packed() == nullptr ? 0 : model.packed()->size();
  SOTTO_TRY(check_field("count of packed sections", sections, 0, kMaxPackedSections, error));
  for (uint32_t section = 0; section < sections; ++section) {
    const auto& ranges = *model.packed()->Get(section)->weights();
    SOTTO_TRY(check_field("count of packed weights", ranges.size(), 4u * config.layer_count + 1,
                          4u * config.layer_count + 1, error));
    for (const format::DataRange* range : ranges) {
      SOTTO_TRY(verify_placement(file_bytes, *range, {-1, "packed", "weights"}, error));
    }
  }
  if (model.vocabulary() != nullptr) {
    SOTTO_TRY(verify_placement(file_bytes, *model.vocabulary()->arrays(), {-1, "vocabulary", "arrays"}, error));
  }
  SOTTO_TRY(verify_disjoint(model, error));
  file_ = bytes;
  file_size_ = file_bytes.size;
  model_ = &model;
  config_ = config;
  sampling_defaults_ = sampling_defaults;
  has_tokenizer_ = model.tokenizer() != nullptr;
  if (has_tokenizer_) read_tokenizer(*model.tokenizer(), &tokenizer_);
  return Status::kOk;
}

Status ModelView::verify_contents(Error* error) {
  SOTTO_TRY(visit_tensors(*model_, [&](const TensorSpec& spec) { return verify_numbers(file_, spec, error); }));
  if (!has_tokenizer_) return Status::kOk;
  return verify_tokenizer(&tokenizer_, config_.vocabulary_size, error);
}

const char* ModelView::name() const { return text_of(model_->name()); }

const char* ModelView::source() const { return text_of(model_->source()); }

const char* ModelView::license() const { return text_of(model_->license()); }

const char* ModelView::chat_template() const { return text_of(model_->chat_template()); }
const char* ModelView::chat_format() const { return text_of(model_->chat_format()); }

std::span<const int32_t> ModelView::end_of_text_tokens() const {
  if (const auto* tokens = model_->end_of_text_tokens(); tokens != nullptr) return {tokens->data(), tokens->size()};
  return {&config_.end_of_text_token, config_.end_of_text_token < 0 ? size_t{0} : size_t{1}};
}

const float* ModelView::positions() const { return floats(file_, model_->positions()); }

ByteRange ModelView::position_bytes() const { return view_range(file_, *model_->positions()); }

ByteRange ModelView::metadata() const {
  const uint8_t* begin = file_ + sizeof(FileHeader);
  FileHeader header;
  std::memcpy(&header, file_, sizeof header);
  return {begin, static_cast<size_t>(header.metadata_size), header.metadata_checksum};
}

LinearWeights ModelView::token_embedding() const { return view_linear(file_, *model_->token_embedding()); }

ByteRange ModelView::token_embedding_bytes() const { return view_bytes(file_, *model_->token_embedding()); }

LayerView ModelView::layer(size_t index) const {
  const format::Layer& layer = *model_->layers()->Get(static_cast<uint32_t>(index));
  return {view_norm(file_, *layer.attention_norm()),     view_linear(file_, *layer.attention_qkv()),
          view_linear(file_, *layer.attention_output()), view_norm(file_, *layer.feed_forward_norm()),
          view_linear(file_, *layer.feed_forward_up()),  view_linear(file_, *layer.feed_forward_down())};
}

NormView ModelView::final_norm() const { return view_norm(file_, *model_->final_norm()); }

bool ModelView::has_tied_head() const { return model_->head() == nullptr; }

LinearWeights ModelView::head() const { return linear(linear_count() - 1); }

LinearWeights ModelView::linear(size_t index) const { return view_linear(file_, find_linear(*model_, index)); }

ByteRange ModelView::linear_bytes(size_t index) const { return view_bytes(file_, find_linear(*model_, index)); }

bool ModelView::has_int8_linears() const {
  for (size_t index = 0; index < linear_count(); ++index) {
    if (find_linear(*model_, index).tiles() == nullptr) return true;
  }
  return false;
}

Status ModelView::find_packed(const TileLayout& layout, int* section, Error* error) const {
  *section = -1;
  const uint64_t fingerprint = layout_fingerprint(layout);
  const size_t section_count = model_->packed() == nullptr ? 0 : model_->packed()->size();
  for (size_t candidate = 0; candidate < section_count; ++candidate) {
    const auto& packed = *model_->packed()->Get(static_cast<uint32_t>(candidate));
    if (packed.fingerprint() != fingerprint) continue;
    for (size_t index = 0; index < linear_count(); ++index) {
      const size_t size = packed_size_of(layout, linear(index));
      const auto& range = *packed.weights()->Get(static_cast<uint32_t>(index));
      if (range.size() == size) continue;
      return fail_at(error, Status::kModelCorrupt, range.offset(), "packed weights ", index, " have ", range.size(),
                     " bytes, their shape needs ", size);
    }
    *section = static_cast<int>(candidate);
    return Status::kOk;
  }
  return Status::kOk;
}

ByteRange ModelView::packed_linear(int section, size_t index) const {
  const auto& packed = *model_->packed()->Get(static_cast<uint32_t>(section));
  return view_range(file_, *packed.weights()->Get(static_cast<uint32_t>(index)));
}

bool ModelView::find_vocabulary(VocabularySection* section) const {
  const format::Vocabulary* table = model_->vocabulary();
  if (table == nullptr) return false;
  *section = {table->version(), table->text_count(), table->node_count(), table->longest(),
              view_range(file_, *table->arrays())};
  return true;
}

Status ModelView::verify_small_tensors(Error* error) const {
  return visit_tensors(*model_, [&](const TensorSpec& spec) {
    if (spec.kind == TensorKind::kInt8 || spec.kind == TensorKind::kTiles) return Status::kOk;
    const ByteRange range = view_range(file_, *spec.range);
    if (xxhash64(range.bytes, range.size) == range.checksum) return Status::kOk;
    return fail_tensor(error, Status::kModelCorrupt, spec.range->offset(), spec.name, "has a wrong checksum");
  });
}

uint64_t ModelView::fingerprint() const {
  uint64_t hash = 0;
  const auto add = [&](uint64_t value) { hash = xxhash64(&value, sizeof value, hash); };
  for (const uint32_t value :
       {config_.vocabulary_size, config_.position_count, config_.embedding_size, config_.head_count, config_.head_size,
        config_.feed_forward_size, config_.layer_count, std::bit_cast<uint32_t>(config_.norm_epsilon)}) {
    add(value);
  }
  add(static_cast<uint64_t>(config_.activation));
  (void)visit_tensors(*model_, [&](const TensorSpec& spec) {
    add(spec.range->checksum());
    return Status::kOk;
  });
  return hash;
}

Status ModelView::verify_range(const ByteRange& range, const char* what, Error* error) const {
  if (xxhash64(range.bytes, range.size) == range.checksum) return Status::kOk;
  return fail_at(error, Status::kModelCorrupt, static_cast<uint64_t>(range.bytes - file_), what,
                 " have a wrong checksum");
}

}  // namespace sotto
