// Loads damaged and hostile model files.
#pragma once

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "capi/include/sotto_grammar.h"
#include "tests/capi/open_session.h"
#include "tests/support/model_checksums.h"

namespace sotto {

struct Outcome {
  sotto_status status;
  std::string message;
  std::vector<float> logits;  // empty if the file is rejected, or if it has other tokens
};

// Uses pages that loading does not read.
inline sotto_status use_vocabulary(const sotto_model* model, sotto_error* error) {
  sotto_vocabulary_params params;
  sotto_vocabulary_params_init(&params, sizeof params);
  params.model = model;
  size_t size;
  sotto_status status = sotto_vocabulary_memory_size(&params, &size, error);
  if (status == SOTTO_TOKENIZER_MISSING) return SOTTO_OK;
  if (status != SOTTO_OK) return status;
  AlignedBytes memory(size);
  sotto_vocabulary* vocabulary;
  return sotto_vocabulary_init(&params, memory.data(), size, &vocabulary, error);
}

// Loads a file and, if it is accepted, prepares its vocabulary and evaluates a few tokens.
inline Outcome try_file(const std::vector<uint8_t>& bytes, bool verify_checksums = true) {
  AlignedBytes file(bytes);
  sotto_error error = {sizeof error, SOTTO_OK, 0, ""};
  sotto_model_params params;
  sotto_model_params_init(&params, sizeof params);
  params.verify_checksums = verify_checksums ? 1 : 0;
  size_t needed;
  sotto_status status = sotto_model_memory_size(file.data(), file.size(), &params, &needed, &error);
  if (status != SOTTO_OK) return {status, error.message, {}};
  if (needed > size_t{1} << 28) return {SOTTO_MODEL_UNSUPPORTED, "too large for this test", {}};
  AlignedBytes memory(needed);
  sotto_model* model;
  status = sotto_model_init(file.data(), file.size(), &params, memory.data(), needed, &model, &error);
  if (status != SOTTO_OK) return {status, error.message, {}};
  status = use_vocabulary(model, &error);
  if (status != SOTTO_OK) return {status, error.message, {}};
  sotto_model_info info = {};
  info.struct_size = sizeof info;
  EXPECT_EQ(sotto_model_get_info(model, &info), SOTTO_OK);
  if (info.vocabulary_size < 4) return {SOTTO_OK, "", {}};
  OpenSession session(model, [](auto& p) { p.batch_tokens = 4; });
  sotto_token tokens[16] = {1, 2, 3};
  size_t count = 3;
  (void)sotto_tokenize(model, "hello there", 11, 0, tokens, 16, &count, nullptr);
  if (sotto_session_prefill(session.get(), tokens, 3) != SOTTO_OK) return {SOTTO_OK, "", {}};
  session.generate(3);
  return {SOTTO_OK, "", session.logits()};
}

// Returns the file with one to three other bytes in its metadata, and right checksums.
inline std::vector<uint8_t> with_other_metadata(std::vector<uint8_t> bytes, std::mt19937& random) {
  FileHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  for (uint32_t change = 0; change <= random() % 3; ++change) {
    const size_t at = sizeof header + random() % header.metadata_size;
    constexpr uint8_t kValues[] = {0, 1, 0x7f, 0x80, 0xff, 4, 0x40};
    bytes[at] = random() % 2 == 0 ? static_cast<uint8_t>(random()) : kValues[random() % 7];
  }
  repair_checksums(bytes);
  return bytes;
}

}  // namespace sotto
