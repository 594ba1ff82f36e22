// Reads a .sotto file as a checkpoint, for export and verification. The weights are the dequantized ones, with which
// the runtime computes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "converters/readers/checkpoint.h"
#include "runtime/model/model_view.h"

namespace sotto {

class ModelFile final : public Checkpoint {
 public:
  // Validates the structure of the file. The checksum of a tensor is verified when the tensor is read.
  explicit ModelFile(const std::filesystem::path& path);

  const TokenizerView* tokenizer() const { return view_.tokenizer(); }

  std::vector<float> positions() const override;
  std::vector<float> token_embedding() const override;
  FloatLayer layer(uint32_t index) const override;
  FloatNorm final_norm() const override;
  FloatLinear head() const override;

 private:
  [[noreturn]] void fail(const std::string& message) const;
  void verify(const ByteRange& range, const std::string& name) const;
  FloatLinear dequantize(const LinearWeights& linear, const ByteRange& range, const std::string& name) const;
  FloatNorm read_norm(const NormView& norm) const;

  // Gives lines_ the alignment that the runtime requires.
  struct alignas(64) Line {
    uint8_t bytes[64];
  };

  std::filesystem::path path_;
  std::vector<Line> lines_;  // the file
  ModelView view_;
};

}  // namespace sotto
