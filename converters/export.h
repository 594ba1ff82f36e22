// Writes a model in the formats of other programs. If the model comes from a .sotto file, the output contains its
// quantized values.
#pragma once

#include <filesystem>
#include <functional>

#include "converters/readers/checkpoint.h"
#include "runtime/model/tokenizer_view.h"

namespace sotto {

// Options of both functions, which throw std::runtime_error if the format cannot express the model.
struct ExportOptions {
  const TokenizerView* tokenizer = nullptr;                       // null if there is none
  std::function<void(double fraction)> progress = [](double) {};  // may throw to stop
};

// Writes a directory that transformers loads: config.json, model.safetensors in float32, and tokenizer.json.
void export_safetensors(const Checkpoint& checkpoint, const std::filesystem::path& directory,
                        const ExportOptions& options);

// Writes a file that llama.cpp loads. Matrices become Q8_0 if their rows consist of blocks of 32 numbers; all other
// tensors become float32.
void export_gguf(const Checkpoint& checkpoint, const std::filesystem::path& path, const ExportOptions& options);

}  // namespace sotto
