// Writes a model in the formats of other programs. The weights of a .sotto file keep the values that quantization gave
// them.
#pragma once

#include <filesystem>
#include <functional>

#include "converters/readers/checkpoint.h"
#include "runtime/model/tokenizer_view.h"

namespace sotto {

// The input of both functions, which throw std::runtime_error if the format cannot express the model.
struct ExportOptions {
  const TokenizerView* tokenizer = nullptr;                       // null if there is none
  std::function<void(double fraction)> progress = [](double) {};  // may throw to stop
};

// Writes a directory that transformers loads: config.json, model.safetensors in float32, and tokenizer.json.
void export_safetensors(const Checkpoint& checkpoint, const std::filesystem::path& directory,
                        const ExportOptions& options);

// Writes a file that llama.cpp loads. Matrices are Q8_0, except for those with rows that are not blocks of 32, which
// are float32, as are all other tensors.
void export_gguf(const Checkpoint& checkpoint, const std::filesystem::path& path, const ExportOptions& options);

}  // namespace sotto
