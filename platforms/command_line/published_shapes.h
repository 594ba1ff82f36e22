// The shapes of the published GPT-2 models. sotto and sotto-convert accept their names in place of a file.
#pragma once

#include <cstdint>

namespace sotto::cli {

inline constexpr uint32_t kPublishedVocabulary = 50257;
inline constexpr uint32_t kPublishedPositions = 1024;

// The feed-forward width is four times that of the embedding.
inline constexpr struct PublishedShape {
  const char* name;
  uint32_t embedding, heads, layers;
} kPublishedShapes[] = {{"distilgpt2", 768, 12, 6},
                        {"gpt2", 768, 12, 12},
                        {"gpt2-medium", 1024, 16, 24},
                        {"gpt2-large", 1280, 20, 36},
                        {"gpt2-xl", 1600, 25, 48}};

}  // namespace sotto::cli
