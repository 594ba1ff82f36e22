// Reads tokenizer.json, the format of the `tokenizers` library.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>

#include "converters/tokenizers/builder.h"
#include "converters/tokenizers/names.h"

namespace sotto {

// Throws a std::runtime_error that names the component if the runtime cannot reproduce the tokenizer.
TokenizerData read_tokenizer_json(const nlohmann::json& tokenizer, uint32_t vocabulary_size);

// Adds the names and ids of a dictionary.
void add_vocabulary(const nlohmann::json& vocabulary, TokenizerNames* names);

}  // namespace sotto
