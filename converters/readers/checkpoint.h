// The interface between readers and the quantizer: a checkpoint and its float32 parts, which are read one at a time, so
// that a large model is never in memory as a whole.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/kernels.h"
#include "runtime/generated/recommended.h"

namespace sotto {

struct ModelShape {
  uint32_t vocabulary_size = 0;
  uint32_t position_count = 0;
  uint32_t embedding_size = 0;
  uint32_t head_count = 0;
  uint32_t feed_forward_size = 0;
  uint32_t layer_count = 0;
};

// Returns the activation that transformers calls `name`, or nullopt.
std::optional<Activation> find_activation(std::string_view name);
// Returns the names that find_activation() knows, for messages.
std::string activation_names();
// Returns the preferred name of an activation.
std::string_view activation_name(Activation activation);

// A linear layer y = x W^T + b.
struct FloatLinear {
  uint32_t inputs = 0;
  uint32_t outputs = 0;
  std::vector<float> weights;  // (outputs, inputs)
  std::vector<float> bias;     // (outputs), or empty for zero
};

struct FloatNorm {
  std::vector<float> gain;  // (embedding)
  std::vector<float> bias;  // (embedding)
};

struct FloatLayer {
  FloatNorm attention_norm;
  FloatLinear attention_qkv;
  FloatLinear attention_output;
  FloatNorm feed_forward_norm;
  FloatLinear feed_forward_up;
  FloatLinear feed_forward_down;
};

// The weights that turn the last hidden state into logits.
enum class HeadKind : uint8_t {
  kTied,   // the token embedding
  kPlain,  // separate weights
  kBiased  // separate or tied weights with a bias
};

// The sampling parameters that the authors of a model recommend.
struct RecommendedSampling {
#define MEMBER(type, name, ...) std::optional<type> name = {};
  SOTTO_RECOMMENDED_PARAMETERS(MEMBER)
#undef MEMBER

  bool operator==(const RecommendedSampling&) const = default;
};

struct CheckpointInfo {
  std::string name;
  std::string source;  // origin of the weights, human-readable
  ModelShape shape;
  Activation activation = Activation::kGeluTanh;
  HeadKind head_kind = HeadKind::kTied;
  float norm_epsilon = 1e-5f;
  int32_t end_of_text_token = -1;
  std::vector<int32_t> other_end_of_text_tokens;  // tokens that also end a text
  std::string license;
  std::string chat_template;  // in Jinja
  std::string chat_format;    // in the notation of sotto_chat_format_text(); empty if there is none
  RecommendedSampling sampling;
  // Of a reward model: the last rows of the vocabulary, whose logits are rewards. Its head is tied.
  uint32_t reward_count = 0;

  std::vector<int32_t> end_of_text_tokens() const;
  // Adds an end-of-text token unless it is one already.
  void add_end_of_text(int32_t token);
};

// Throws std::runtime_error if the runtime does not support the model. The message begins with `where`.
void check_info(const CheckpointInfo& info, const std::string& where);

// The interface of a checkpoint. Each format has a reader derived from it. The values returned are finite and have the
// shapes that info() implies. Reading may throw a std::runtime_error that names the file and the tensor.
class Checkpoint {
 public:
  virtual ~Checkpoint() = default;

  const CheckpointInfo& info() const { return info_; }
  // Returns remarks for the user, for example about unused tensors.
  const std::vector<std::string>& notes() const { return notes_; }
  void relabel(std::string name, std::string source) {
    info_.name = std::move(name);
    info_.source = std::move(source);
  }

  virtual std::vector<float> positions() const = 0;        // (position, embedding)
  virtual std::vector<float> token_embedding() const = 0;  // (vocabulary, embedding)
  virtual FloatLayer layer(uint32_t index) const = 0;
  virtual FloatNorm final_norm() const = 0;
  virtual FloatLinear head() const = 0;  // only for a head that is not tied

 protected:
  explicit Checkpoint(CheckpointInfo info) : info_(std::move(info)) {}

  CheckpointInfo info_;
  std::vector<std::string> notes_;
};

// A LoRA adapter to merge into the weights (readers/lora.h).
struct Adapter {
  std::filesystem::path directory;
  double scale = 1;
};

// Options of the user that change a checkpoint.
struct ReadOptions {
  std::optional<Activation> activation;  // nullopt: the checkpoint's own, or else the default of its format
  std::vector<Adapter> adapters = {};    // in the order of merging; only for transformers
  bool keeps_score = false;              // of a reward model; only for transformers
};

// A format of checkpoints. To add one, write its reader, and add its format to both lists below.
struct CheckpointFormat {
  const char* name;                                       // as in "a checkpoint of NAME"
  const char* files;                                      // for help texts and messages
  bool (*recognizes)(const std::filesystem::path& path);  // looks at the contents, not at the name
  std::unique_ptr<Checkpoint> (*open)(const std::filesystem::path& path, const ReadOptions& options);
  bool accepts_all_options = false;  // not only `activation`
};

// Each format is defined in the source file of its reader.
extern const CheckpointFormat kChatterboxFormat;
extern const CheckpointFormat kGgufFormat;
extern const CheckpointFormat kHuggingFaceFormat;
extern const CheckpointFormat kLlmCFormat;
extern const CheckpointFormat kMegatronFormat;
extern const CheckpointFormat kMinGptFormat;
extern const CheckpointFormat kNanoGptFormat;
extern const CheckpointFormat kTensorFlowFormat;

// In the order in which they are tried.
inline constexpr const CheckpointFormat* kCheckpointFormats[] = {
    &kNanoGptFormat, &kMinGptFormat, &kMegatronFormat,   &kHuggingFaceFormat,
    &kGgufFormat,    &kLlmCFormat,   &kTensorFlowFormat, &kChatterboxFormat};

// Returns the names of all formats with their files, separated by `separator`.
std::string checkpoint_formats(std::string_view separator);

// Opens the checkpoint at `path`, a directory or a file, with the reader that recognizes it. If none does, throws
// std::runtime_error. If the format is known, the message says how to convert the file.
std::unique_ptr<Checkpoint> open_checkpoint(const std::filesystem::path& path, const ReadOptions& options = {});

// Returns the directory of a checkpoint. `path` is the directory or a file in it.
std::filesystem::path directory_of(const std::filesystem::path& path);
// Returns the name of that directory, the default name of the model.
std::string directory_name(const std::filesystem::path& path);

// A whole checkpoint in memory.
struct FloatModel : CheckpointInfo {
  std::vector<float> positions;        // (position, embedding)
  std::vector<float> token_embedding;  // (vocabulary, embedding)
  std::vector<FloatLayer> layers;
  FloatNorm final_norm;
  std::optional<FloatLinear> head;  // nullopt if the head is tied to token_embedding
};

FloatModel load_float_model(const Checkpoint& checkpoint);

}  // namespace sotto
