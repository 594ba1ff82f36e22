// Reads the tokenizer of a checkpoint directory: tokenizer.json; vocab.json and merges.txt (originally encoder.json and
// vocab.bpe) with the files of special tokens; spiece.model (SentencePiece); or vocab.txt (BertTokenizer).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "converters/tokenizers/builder.h"

namespace sotto {

// Returns the tokenizer of a directory, or nullopt if there is none. Throws a std::runtime_error that names the file if
// the tokenizer is damaged or the runtime cannot reproduce it.
std::optional<TokenizerData> read_tokenizer_directory(const std::filesystem::path& directory, uint32_t vocabulary_size);

// Returns the tokenizer of a checkpoint: that of the GGUF file if it contains one, or else that of the directory.
std::optional<TokenizerData> read_checkpoint_tokenizer(const std::filesystem::path& checkpoint,
                                                       uint32_t vocabulary_size);

}  // namespace sotto
