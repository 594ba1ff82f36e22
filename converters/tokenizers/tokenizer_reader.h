// Reads a checkpoint directory's tokenizer: tokenizer.json, or vocab.json and merges.txt
// (or encoder.json and vocab.bpe, their first names) with the files that name special tokens.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "converters/tokenizers/tokenizer_builder.h"

namespace sotto {

// nullopt: the directory has no tokenizer. Throws std::runtime_error, which names the file,
// if it has one that is damaged or that byte-level BPE as GPT-2 has it cannot reproduce.
std::optional<TokenizerData> read_tokenizer_directory(const std::filesystem::path& directory, uint32_t vocabulary_size);

}  // namespace sotto
