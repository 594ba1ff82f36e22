#include "tests/golden/ring_oracle.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>
#include <stdexcept>

#include "kernels/kernels.h"
#include "runtime/model/model_view.h"

namespace sotto {

struct OracleModel::Opened {
  explicit Opened(const std::vector<uint8_t>& file) : bytes(new (std::align_val_t{64}) uint8_t[file.size()]) {
    std::memcpy(bytes, file.data(), file.size());
    Error error;
    if (view.open(bytes, file.size(), &error) != Status::kOk) throw std::runtime_error(error.message);
  }
  ~Opened() { operator delete[](bytes, std::align_val_t{64}); }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;

  uint8_t* bytes;
  ModelView view;
};

OracleModel::OracleModel(const std::vector<uint8_t>& file) : opened_(std::make_unique<Opened>(file)) {}

OracleModel::~OracleModel() = default;

RingOracle::RingOracle(const OracleModel& model, OracleOverflow overflow, size_t context_tokens, size_t sink_tokens)
    : model_(model.opened_->view),
      kernels_(*find_kernels(Isa::kReference)),
      overflow_(overflow),
      context_tokens_(context_tokens),
      sink_tokens_(sink_tokens),
      row_stride_((model_.config().head_size + kHeadAlignment - 1) / kHeadAlignment * kHeadAlignment) {}

bool RingOracle::append(int32_t token) {
  if (!make_room()) return false;
  evaluate(token);
  return true;
}

bool RingOracle::make_room() {
  const bool full = retained_.size() == context_tokens_;
  switch (overflow_) {
    case OracleOverflow::kStop:
      return !full;
    case OracleOverflow::kShift:
      if (full) evaluate_again(sink_tokens_ + (context_tokens_ - sink_tokens_) / 2);
      return true;
    case OracleOverflow::kRing:
      if (position_ == model_.config().position_count) {
        evaluate_again(context_tokens_ / 2);
      } else if (full) {
        retained_.erase(retained_.begin() + static_cast<ptrdiff_t>(sink_tokens_));
      }
      return true;
  }
  return false;
}

// Keeps the sinks and the newest other tokens, `kept_count` in all, and evaluates them as a new text.
void RingOracle::evaluate_again(size_t kept_count) {
  std::vector<int32_t> tokens;
  for (size_t i = 0; i < retained_.size(); ++i) {
    const bool is_sink = i < sink_tokens_;
    const bool is_new = i >= retained_.size() - (kept_count - sink_tokens_);
    if (is_sink || is_new) tokens.push_back(entries_[retained_[i]].token);
  }
  retained_.clear();
  position_ = 0;
  ++reanchor_count_;
  for (const int32_t token : tokens) evaluate(token);
}

void RingOracle::evaluate(int32_t token) {
  const ModelConfig& config = model_.config();
  const size_t n = config.embedding_size;
  retained_.push_back(entries_.size());
  entries_.push_back({token, {}, {}});

  const LinearWeights embedding = model_.token_embedding();
  std::vector<float> x(n);
  kernels_.embed(embedding.rows + static_cast<size_t>(token) * n, embedding.scales[token],
                 model_.positions() + position_++ * n, n, x.data());
  for (size_t i = 0; i < config.layer_count; ++i) {
    const LayerView layer = model_.layer(i);
    std::vector<float> attention(n);
    attend(i, linear(layer.attention_qkv, norm(layer.attention_norm, x)).data(), &attention);
    kernels_.add(linear(layer.attention_output, attention).data(), n, x.data());

    std::vector<float> up = linear(layer.feed_forward_up, norm(layer.feed_forward_norm, x));
    kernels_.activate(config.activation, up.data(), up.size());
    kernels_.add(linear(layer.feed_forward_down, up).data(), n, x.data());
  }
  hidden_ = x;
}

// Computes attention of the newest entry's queries over the keys and values of all retained entries.
void RingOracle::attend(size_t layer, const float* queries_keys_values, std::vector<float>* y) {
  const ModelConfig& config = model_.config();
  for (size_t head = 0; head < config.head_count; ++head) {
    const float* query = queries_keys_values + head * config.head_size;
    entries_.back().keys.push_back(quantize_head(query + config.embedding_size));
    entries_.back().values.push_back(quantize_head(query + size_t{2} * config.embedding_size));

    std::vector<int8_t> keys, values;
    std::vector<float> key_scales, value_scales;
    for (const size_t index : retained_) {
      const HeadRow& key = entries_[index].keys[layer * config.head_count + head];
      const HeadRow& value = entries_[index].values[layer * config.head_count + head];
      keys.insert(keys.end(), key.values.begin(), key.values.end());
      values.insert(values.end(), value.values.begin(), value.values.end());
      key_scales.push_back(key.scale);
      value_scales.push_back(value.scale);
    }
    const SlotSpan span = {0, static_cast<uint32_t>(retained_.size())};
    std::vector<float> scores(retained_.size());
    kernels_.attention({.query = query,
                        .keys = keys.data(),
                        .key_scales = key_scales.data(),
                        .values = values.data(),
                        .value_scales = value_scales.data(),
                        .head_size = config.head_size,
                        .row_stride = row_stride_,
                        .score_scale = 1.0f / std::sqrt(static_cast<float>(config.head_size)),
                        .spans = &span,
                        .span_count = 1,
                        .scores = scores.data(),
                        .output = y->data() + head * config.head_size});
  }
}

RingOracle::HeadRow RingOracle::quantize_head(const float* x) const {
  HeadRow row = {std::vector<int8_t>(row_stride_), 0};
  row.scale = kernels_.quantize_symmetric(x, model_.config().head_size, row.values.data());
  return row;
}

std::vector<float> RingOracle::linear(const LinearWeights& weights, const std::vector<float>& x) const {
  std::vector<int8_t> q(weights.inputs);
  RowQuantization quantization;
  kernels_.quantize_row(x.data(), x.size(), q.data(), &quantization);
  std::vector<float> y(weights.outputs);
  for (size_t o = 0; o < y.size(); ++o) {
    const int8_t* row = weights.rows + o * weights.inputs;
    int32_t sum = 0;
    for (size_t i = 0; i < q.size(); ++i) sum += (q[i] - quantization.zero_point) * row[i];
    y[o] = std::fma(static_cast<float>(sum) * quantization.scale, weights.scales[o],
                    weights.bias == nullptr ? 0.0f : weights.bias[o]);
  }
  return y;
}

std::vector<float> RingOracle::norm(const NormView& weights, const std::vector<float>& x) const {
  std::vector<float> y(x.size());
  kernels_.layer_norm(x.data(), weights.gain, weights.bias, model_.config().norm_epsilon, x.size(), y.data());
  return y;
}

std::vector<float> RingOracle::logits() const { return linear(model_.head(), norm(model_.final_norm(), hidden_)); }

}  // namespace sotto
