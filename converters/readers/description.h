// Reads what the files of a checkpoint record about a model beyond its weights: licence, chat template, recommended
// sampling parameters, and further end-of-text tokens.
#pragma once

#include <filesystem>

#include "converters/readers/checkpoint.h"
#include "converters/readers/config.h"

namespace sotto {

// Reads the files that transformers and its model hub store next to config.json: generation_config.json,
// chat_template.jinja or tokenizer_config.json, special_tokens_map.json, and the first lines of README.md. Each of them
// may be absent.
void read_description(const std::filesystem::path& directory, CheckpointInfo& info, std::vector<std::string>& notes);

// Reads the keys of a GGUF file.
void read_gguf_description(const Config& config, CheckpointInfo& info, std::vector<std::string>& notes);

}  // namespace sotto
