// Reads the tokenizer in a GGUF file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "converters/tokenizers/builder.h"

namespace sotto {

// Returns nullopt if the file has no tokenizer. Throws a std::runtime_error that names the key if the tokenizer is
// damaged or is not the byte-level BPE of GPT-2.
std::optional<TokenizerData> read_gguf_tokenizer(const std::filesystem::path& path, uint32_t vocabulary_size);

}  // namespace sotto
