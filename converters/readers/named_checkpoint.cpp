#include "converters/readers/named_checkpoint.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace sotto {
namespace {

// Parts of tensor names that show that a model is not a GPT-2 language model.
constexpr struct {
  const char* part;
  const char* reason;
} kOtherModels[] = {
    {"crossattention", "cross attention is not supported"},
    {"ln_cross_attn", "cross attention is not supported"},
};

// Returns the rows of a fused layer in the order of QkvOrder::kWhole. A row has `width` values.
std::vector<float> reorder_qkv(const std::vector<float>& in, QkvOrder order, size_t heads, size_t head_size,
                               size_t width) {
  if (order == QkvOrder::kWhole) return in;
  std::vector<float> out(in.size());
  for (size_t head = 0; head < heads; ++head) {
    for (size_t part = 0; part < 3; ++part) {
      for (size_t i = 0; i < head_size; ++i) {
        const size_t from =
            order == QkvOrder::kPerHead ? (head * 3 + part) * head_size + i : (head * head_size + i) * 3 + part;
        const size_t to = (part * heads + head) * head_size + i;
        std::copy_n(in.begin() + static_cast<ptrdiff_t>(from * width), width,
                    out.begin() + static_cast<ptrdiff_t>(to * width));
      }
    }
  }
  return out;
}

}  // namespace

std::string layer_name(const std::string& part, uint32_t index) {
  std::string name = part;
  return name.replace(name.find("{}"), 2, std::to_string(index));
}

std::vector<float> transpose(const std::vector<float>& in, size_t rows, size_t columns) {
  constexpr size_t kSquare = 32;
  std::vector<float> out(in.size());
  for (size_t row = 0; row < rows; row += kSquare) {
    for (size_t column = 0; column < columns; column += kSquare) {
      const size_t row_end = std::min(row + kSquare, rows);
      const size_t column_end = std::min(column + kSquare, columns);
      for (size_t c = column; c < column_end; ++c) {
        for (size_t r = row; r < row_end; ++r) out[c * rows + r] = in[r * columns + c];
      }
    }
  }
  return out;
}

TensorMapping gpt2_mapping(const std::string& prefix) {
  TensorMapping mapping;
  mapping.token_embedding = prefix + "wte.weight";
  mapping.positions = prefix + "wpe.weight";
  mapping.attention_norm = prefix + "h.{}.ln_1";
  mapping.attention_qkv = {prefix + "h.{}.attn.c_attn"};
  mapping.attention_output = prefix + "h.{}.attn.c_proj";
  mapping.feed_forward_norm = prefix + "h.{}.ln_2";
  mapping.feed_forward_up = prefix + "h.{}.mlp.c_fc";
  mapping.feed_forward_down = prefix + "h.{}.mlp.c_proj";
  mapping.final_norm = prefix + "ln_f";
  mapping.head = "lm_head";
  mapping.ignored = {".attn.bias", ".attn.masked_bias"};  // constants of the causal mask that older versions saved
  return mapping;
}

ModelShape find_shape(const Tensors& tensors, const TensorMapping& mapping) {
  const auto extent = [&](const std::string& name, size_t axis) {
    const std::vector<uint64_t>& shape = tensors.entry(name).shape;
    if (shape.size() <= axis || shape[axis] > UINT32_MAX) {
      throw std::runtime_error(tensors.where(name) + ": its shape is " + shape_text(shape));
    }
    return static_cast<uint32_t>(shape[axis]);
  };
  ModelShape shape;
  shape.vocabulary_size = extent(mapping.token_embedding, 0);
  shape.embedding_size = extent(mapping.token_embedding, 1);
  shape.position_count = extent(mapping.positions, 0);
  shape.feed_forward_size = extent(layer_name(mapping.feed_forward_up, 0) + ".weight", mapping.inputs_first ? 1 : 0);
  while (tensors.contains(layer_name(mapping.attention_norm, shape.layer_count) + ".weight")) ++shape.layer_count;
  return shape;
}

void set_vocabulary(uint32_t rows, CheckpointInfo& info, TensorMapping& mapping, std::vector<std::string>& notes) {
  constexpr uint32_t kTokens = 50257, kPaddedTokens = 50304;
  info.shape.vocabulary_size = rows;
  if (rows == kPaddedTokens) {
    info.shape.vocabulary_size = kTokens;
    mapping.vocabulary_padding = kPaddedTokens - kTokens;
    notes.push_back("the vocabulary of 50304 rows is cut to the 50257 tokens of GPT-2, because the others are padding");
  }
  if (info.shape.vocabulary_size == kTokens) info.end_of_text_token = kTokens - 1;
}

NamedCheckpoint::NamedCheckpoint(CheckpointInfo info, std::vector<std::string> notes, Tensors tensors,
                                 TensorMapping mapping)
    : Checkpoint(std::move(info)), tensors_(std::move(tensors)), mapping_(std::move(mapping)) {
  notes_ = std::move(notes);
  check_info(info_, mapping_.configuration.string());
  reject_other_models();
  check_tensors();
  info_.head_kind = find_head_kind();
  if (info_.reward_count != 0 && info_.head_kind != HeadKind::kTied) {
    throw std::runtime_error(tensors_.where(mapping_.score) +
                             ": a reward model with another head or with scaled embeddings is not supported");
  }
  note_unknown_tensors();
}

void NamedCheckpoint::check_tensor(const std::string& name, const Shape& shape) {
  const TensorEntry& entry = tensors_.entry(name);
  if (entry.type == TensorType::kOther) {
    throw std::runtime_error(tensors_.where(name) + ": its dtype is " + entry.type_name +
                             ", not F32, F16, BF16 or F64");
  }
  if (entry.shape != shape) {
    throw std::runtime_error(tensors_.where(name) + ": its shape is " + shape_text(entry.shape) + ", by " +
                             mapping_.configuration.filename().string() + " it should be " + shape_text(shape));
  }
  known_.push_back(name);
}

void NamedCheckpoint::check_bias(const std::string& name, uint64_t size) {
  if (mapping_.biases_are_optional && !tensors_.contains(name)) return;
  check_tensor(name, {size});
}

void NamedCheckpoint::check_linear(const std::string& name, uint64_t inputs, uint64_t outputs) {
  check_tensor(name + ".weight", mapping_.inputs_first ? Shape{inputs, outputs} : Shape{outputs, inputs});
  check_bias(name + ".bias", outputs);
}

void NamedCheckpoint::check_norm(const std::string& name) {
  check_tensor(name + ".weight", {info_.shape.embedding_size});
  check_bias(name + ".bias", info_.shape.embedding_size);
}

void NamedCheckpoint::check_tensors() {
  const ModelShape& shape = info_.shape;
  const uint64_t embedding = shape.embedding_size;
  check_tensor(mapping_.token_embedding, {embedding_rows(), embedding});
  check_tensor(mapping_.positions, {uint64_t{shape.position_count} + mapping_.skipped_positions, embedding});
  for (uint32_t i = 0; i < shape.layer_count; ++i) {
    check_norm(layer_name(mapping_.attention_norm, i));
    for (const std::string& part : mapping_.attention_qkv) {
      check_linear(layer_name(part, i), embedding, 3 * embedding / mapping_.attention_qkv.size());
    }
    check_linear(layer_name(mapping_.attention_output, i), embedding, embedding);
    check_norm(layer_name(mapping_.feed_forward_norm, i));
    check_linear(layer_name(mapping_.feed_forward_up, i), embedding, shape.feed_forward_size);
    check_linear(layer_name(mapping_.feed_forward_down, i), shape.feed_forward_size, embedding);
  }
  check_norm(mapping_.final_norm);
  if (!mapping_.score.empty()) check_tensor(mapping_.score, {info_.reward_count, embedding});
}

// Determines the kind of the head from its tensors, because some fine-tuned models have a bias in the head, unlike
// GPT-2.
HeadKind NamedCheckpoint::find_head_kind() {
  const std::string weights = mapping_.head + ".weight";
  const std::string bias = mapping_.head + ".bias";
  const bool has_weights = tensors_.contains(weights);
  if (has_weights) {
    const Shape& shape = tensors_.entry(weights).shape;
    if (shape.size() == 2 && shape[0] != embedding_rows() && shape[1] == info_.shape.embedding_size) {
      throw std::runtime_error(tensors_.where(weights) + ": the head has " + std::to_string(shape[0]) +
                               " outputs and the token embedding " + std::to_string(embedding_rows()) +
                               " rows; a head with a vocabulary of its own is not supported");
    }
  }
  if (has_weights || mapping_.ties_head == false) {
    check_tensor(weights, {embedding_rows(), info_.shape.embedding_size});
  }
  const bool is_own = has_weights && !head_equals_embedding();
  if (is_own && mapping_.ties_head == true) {
    notes_.push_back(in_quotes(weights) +
                     " differs from the token embeddings and is used, though \"tie_word_embeddings\" is true");
  }
  if (tensors_.contains(bias)) {
    check_tensor(bias, {embedding_rows()});
    return HeadKind::kBiased;
  }
  return is_own || mapping_.embedding_scale != mapping_.head_scale ? HeadKind::kPlain : HeadKind::kTied;
}

bool NamedCheckpoint::head_equals_embedding() const {
  constexpr uint64_t kPiece = uint64_t{1} << 22;
  const std::string head = mapping_.head + ".weight";
  const uint64_t count = tensors_.entry(head).element_count;
  for (uint64_t first = 0; first < count; first += kPiece) {
    const uint64_t take = std::min(kPiece, count - first);
    if (tensors_.read(head, first, take) != tensors_.read(mapping_.token_embedding, first, take)) return false;
  }
  return true;
}

void NamedCheckpoint::reject_other_models() const {
  for (const std::string& name : tensors_.names()) {
    for (const auto& [part, reason] : kOtherModels) {
      if (name.find(part) != std::string::npos) throw std::runtime_error(tensors_.where(name) + ": " + reason);
    }
    if (mapping_.score.empty() && name.ends_with("score.weight")) {
      throw std::runtime_error(tensors_.where(name) +
                               ": this is the head of a reward or classification model, which has no head for tokens; "
                               "--keep-score converts it for sotto score --reward");
    }
  }
}

// Rejects unknown tensors in layers, because without them the model would compute something else. Other unknown tensors
// only become remarks.
void NamedCheckpoint::note_unknown_tensors() {
  std::sort(known_.begin(), known_.end());
  const std::string layers = mapping_.attention_norm.substr(0, mapping_.attention_norm.find("{}"));
  for (const std::string& name : tensors_.names()) {
    if (std::binary_search(known_.begin(), known_.end(), name)) continue;
    const bool is_ignored = std::any_of(mapping_.ignored.begin(), mapping_.ignored.end(),
                                        [&](const std::string& end) { return name.ends_with(end); });
    if (is_ignored) continue;
    if (name.starts_with(layers)) {
      throw std::runtime_error(tensors_.where(name) + ": does not belong to a GPT-2 with the " +
                               std::to_string(info_.shape.layer_count) + " layers that " +
                               mapping_.configuration.filename().string() + " gives it");
    }
    notes_.push_back("tensor " + in_quotes(name) + " is not used");
  }
}

void NamedCheckpoint::scale(std::vector<float>& values, size_t count, double factor, const std::string& name) const {
  if (factor == 1) return;
  for (size_t i = 0; i < count; ++i) {
    values[i] = static_cast<float>(values[i] * factor);
    if (std::isfinite(values[i])) continue;
    throw std::runtime_error(tensors_.where(name) + ": a value is too large for the factor " + std::to_string(factor) +
                             " that the model applies to it");
  }
}

std::vector<float> NamedCheckpoint::read(const std::string& name, uint64_t first, uint64_t count, double factor) const {
  std::vector<float> values = tensors_.read(name, first, count);
  scale(values, values.size(), factor, name);
  return values;
}

std::vector<float> NamedCheckpoint::read_bias(const std::string& name, uint32_t size) const {
  return tensors_.contains(name) ? read(name, 0, size) : std::vector<float>(size);
}

FloatLinear NamedCheckpoint::read_linear(const std::string& name, uint32_t inputs, uint32_t outputs) const {
  FloatLinear linear = {inputs, outputs, read(name + ".weight", 0, uint64_t{inputs} * outputs), {}};
  if (mapping_.inputs_first) linear.weights = transpose(linear.weights, inputs, outputs);
  linear.bias = read_bias(name + ".bias", outputs);
  return linear;
}

FloatLinear NamedCheckpoint::read_qkv(uint32_t index) const {
  const ModelShape& shape = info_.shape;
  const uint32_t embedding = shape.embedding_size;
  FloatLinear qkv = {embedding, 3 * embedding, {}, {}};
  for (const std::string& part : mapping_.attention_qkv) {
    const auto outputs = static_cast<uint32_t>(3 * embedding / mapping_.attention_qkv.size());
    const FloatLinear linear = read_linear(layer_name(part, index), embedding, outputs);
    qkv.weights.insert(qkv.weights.end(), linear.weights.begin(), linear.weights.end());
    qkv.bias.insert(qkv.bias.end(), linear.bias.begin(), linear.bias.end());
  }
  const size_t head_size = embedding / shape.head_count;
  qkv.weights = reorder_qkv(qkv.weights, mapping_.qkv_order, shape.head_count, head_size, embedding);
  qkv.bias = reorder_qkv(qkv.bias, mapping_.qkv_order, shape.head_count, head_size, 1);
  scale_queries(index, qkv);
  return qkv;
}

FloatNorm NamedCheckpoint::read_norm(const std::string& name) const {
  const uint32_t embedding = info_.shape.embedding_size;
  return {read(name + ".weight", 0, embedding), read_bias(name + ".bias", embedding)};
}

// The runtime scales every score by 1/sqrt(head_size). Scores are linear in the queries, so any other factor is folded
// into the rows that produce the queries.
void NamedCheckpoint::scale_queries(uint32_t index, FloatLinear& qkv) const {
  const double factor = mapping_.score_scale(index);
  const std::string queries = layer_name(mapping_.attention_qkv.front(), index);
  const size_t embedding = info_.shape.embedding_size;
  scale(qkv.weights, embedding * embedding, factor, queries + ".weight");
  scale(qkv.bias, embedding, factor, queries + ".bias");
}

std::vector<float> NamedCheckpoint::positions() const {
  const uint64_t embedding = info_.shape.embedding_size;
  return read(mapping_.positions, mapping_.skipped_positions * embedding, info_.shape.position_count * embedding,
              mapping_.position_scale);
}

std::vector<float> NamedCheckpoint::token_embedding() const {
  const uint64_t width = info_.shape.embedding_size;
  std::vector<float> rows = read(mapping_.token_embedding, 0, token_count() * width, mapping_.embedding_scale);
  if (mapping_.score.empty()) return rows;
  const std::vector<float> score = read(mapping_.score, 0, info_.reward_count * width);
  rows.insert(rows.end(), score.begin(), score.end());
  return rows;
}

FloatLayer NamedCheckpoint::layer(uint32_t index) const {
  const uint32_t embedding = info_.shape.embedding_size;
  const uint32_t feed_forward = info_.shape.feed_forward_size;
  FloatLayer layer;
  layer.attention_norm = read_norm(layer_name(mapping_.attention_norm, index));
  layer.attention_qkv = read_qkv(index);
  layer.attention_output = read_linear(layer_name(mapping_.attention_output, index), embedding, embedding);
  layer.feed_forward_norm = read_norm(layer_name(mapping_.feed_forward_norm, index));
  layer.feed_forward_up = read_linear(layer_name(mapping_.feed_forward_up, index), embedding, feed_forward);
  layer.feed_forward_down = read_linear(layer_name(mapping_.feed_forward_down, index), feed_forward, embedding);
  return layer;
}

FloatNorm NamedCheckpoint::final_norm() const { return read_norm(mapping_.final_norm); }

FloatLinear NamedCheckpoint::head() const {
  const ModelShape& shape = info_.shape;
  const std::string weights = mapping_.head + ".weight";
  FloatLinear head = {shape.embedding_size, shape.vocabulary_size, {}, {}};
  head.weights = read(tensors_.contains(weights) ? weights : mapping_.token_embedding, 0,
                      uint64_t{head.inputs} * head.outputs, mapping_.head_scale);
  if (info_.head_kind == HeadKind::kBiased) {
    head.bias = read(mapping_.head + ".bias", 0, head.outputs, mapping_.head_scale);
  }
  return head;
}

}  // namespace sotto
