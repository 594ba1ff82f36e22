// An oracle for the KV ring that has no ring. Every token keeps its own keys and values, and overflow only changes the
// list of tokens that are still attended to. The oracle is scalar and slow, and shares only the reference operations
// and the model view with the runtime.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace sotto {

struct Kernels;
struct LinearWeights;
struct NormView;
class ModelView;

// A model file opened for the oracle. The runtime's types are incomplete here: a test of the public interface includes
// sotto.hpp, and that header defines another Error.
class OracleModel {
 public:
  explicit OracleModel(const std::vector<uint8_t>& file);
  ~OracleModel();

 private:
  friend class RingOracle;
  struct Opened;
  std::unique_ptr<Opened> opened_;
};

enum class OracleOverflow { kStop, kRing, kShift };

class RingOracle {
 public:
  RingOracle(const OracleModel& model, OracleOverflow overflow, size_t context_tokens, size_t sink_tokens);

  // Evaluates one token of the stream. Returns false if the context is full (kStop).
  bool append(int32_t token);

  // Returns the logits after the last token, one per token of the vocabulary.
  std::vector<float> logits() const;
  size_t retained_count() const { return retained_.size(); }
  size_t reanchor_count() const { return reanchor_count_; }

 private:
  // int8 rows of one head, padded with zeros to row_stride_, and their scale.
  struct HeadRow {
    std::vector<int8_t> values;
    float scale;
  };
  struct Entry {
    int32_t token;
    std::vector<HeadRow> keys;    // (layer, head)
    std::vector<HeadRow> values;  // (layer, head)
  };

  bool make_room();
  void evaluate_again(size_t kept_count);
  void evaluate(int32_t token);
  void attend(size_t layer, const float* queries_keys_values, std::vector<float>* y);
  HeadRow quantize_head(const float* x) const;
  std::vector<float> linear(const LinearWeights& weights, const std::vector<float>& x) const;
  std::vector<float> norm(const NormView& weights, const std::vector<float>& x) const;

  const ModelView& model_;
  const Kernels& kernels_;
  const OracleOverflow overflow_;
  const size_t context_tokens_;
  const size_t sink_tokens_;
  const size_t row_stride_;
  std::vector<Entry> entries_;    // every token ever evaluated
  std::vector<size_t> retained_;  // indices of the entries still seen, oldest first
  size_t position_ = 0;           // position of the next token
  size_t reanchor_count_ = 0;
  std::vector<float> hidden_;  // state of the last token after the last block
};

}  // namespace sotto
