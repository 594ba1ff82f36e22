// A GPT-2 checkpoint read one part at a time, so that a large model is never in memory
// whole.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "converters/readers/float_model.h"

namespace sotto {

// What turns the last hidden state into logits.
enum class HeadKind : uint8_t {
  kTied,   // the token embedding
  kPlain,  // weights of its own
  kBiased  // weights and a bias
};

struct CheckpointInfo {
  std::string name;
  std::string source;  // where the weights came from, for people
  ModelShape shape;
  Activation activation = Activation::kGeluTanh;
  HeadKind head_kind = HeadKind::kTied;
  float norm_epsilon = 1e-5f;
  int32_t end_of_text_token = -1;
};

// Throws std::runtime_error, its message beginning with `where`, unless the runtime can
// run such a model.
void check_info(const CheckpointInfo& info, const std::string& where);

// What is handed out is finite and has the shapes that info() implies; reading may throw
// std::runtime_error.
class Checkpoint {
 public:
  virtual ~Checkpoint() = default;

  const CheckpointInfo& info() const { return info_; }
  void rename(std::string name) { info_.name = std::move(name); }

  virtual std::vector<float> positions() const = 0;        // (position, embedding)
  virtual std::vector<float> token_embedding() const = 0;  // (vocabulary, embedding)
  virtual FloatLayer layer(uint32_t index) const = 0;
  virtual FloatNorm final_norm() const = 0;
  virtual FloatLinear head() const = 0;  // unless tied

 protected:
  explicit Checkpoint(CheckpointInfo info) : info_(std::move(info)) {}

  CheckpointInfo info_;
};

FloatModel load_float_model(const Checkpoint& checkpoint);

}  // namespace sotto
