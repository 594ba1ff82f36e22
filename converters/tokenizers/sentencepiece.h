// Reads model files of SentencePiece (Kudo and Richardson 2018), of the kinds Unigram and BPE.
#pragma once

#include <cstdint>
#include <filesystem>

#include "converters/tokenizers/builder.h"

namespace sotto {

// Throws a std::runtime_error that names the file if the file is damaged or has a setting that the runtime cannot
// reproduce.
TokenizerData read_sentencepiece(const std::filesystem::path& path, uint32_t vocabulary_size);

}  // namespace sotto
