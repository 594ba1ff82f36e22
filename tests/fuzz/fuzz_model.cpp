// Fuzzes model files. Any metadata, over tensor bytes that read as the float 0.01 everywhere, is rejected or runs.
// Corpus: bytes 64 to 64 + metadata_size of files that `sotto-convert --synthetic` writes for very small shapes.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "capi/include/sotto_grammar.h"
#include "runtime/base/xxhash64.h"
#include "runtime/model/file_header.h"
#include "tests/memory/support.h"

namespace {

using sotto::FileHeader;

constexpr size_t kTensorBytes = 64 << 10;

void write_file(const uint8_t* metadata, size_t size, sotto::AlignedBytes& file) {
  FileHeader header = {};
  std::memcpy(header.magic, FileHeader::kMagic, sizeof header.magic);
  header.version = FileHeader::kVersion;
  header.file_size = file.size();
  header.metadata_size = size;
  header.metadata_checksum = sotto::xxhash64(metadata, size);
  header.header_checksum = sotto::xxhash64(&header, offsetof(FileHeader, header_checksum));
  std::memcpy(file.data(), &header, sizeof header);
  std::copy_n(metadata, size, file.data() + sizeof header);
  const float value = 0.01f;
  for (size_t at = (sizeof header + size + 3) / 4 * 4; at + 4 <= file.size(); at += 4) {
    std::memcpy(file.data() + at, &value, sizeof value);
  }
}

// The vocabulary is used in place, built, or rejected.
void prepare_vocabulary(sotto_model* model) {
  sotto_vocabulary_params params;
  sotto_vocabulary_params_init(&params, sizeof params);
  params.model = model;
  size_t size;
  if (sotto_vocabulary_memory_size(&params, &size, nullptr) != SOTTO_OK) return;
  if (size > size_t{16} << 20) return;
  sotto::AlignedBytes memory(size);
  sotto_vocabulary* vocabulary;
  (void)sotto_vocabulary_init(&params, memory.data(), size, &vocabulary, nullptr);
}

void run(sotto_model* model) {
  sotto_session_params params;
  sotto_session_params_init(&params, sizeof params);
  params.batch_tokens = 4;
  size_t size;
  if (sotto_session_memory_size(model, &params, &size, nullptr) != SOTTO_OK) return;
  if (size > size_t{16} << 20) return;
  sotto::AlignedBytes memory(size);
  sotto_session* session;
  if (sotto_session_init(model, &params, memory.data(), size, &session, nullptr) != SOTTO_OK) return;
  sotto_token tokens[32] = {0, 0, 0};
  size_t count = 0;
  (void)sotto_tokenize(model, "a fuzzed model's text", 21, SOTTO_TOKENIZE_SPECIAL, tokens, 32, &count, nullptr);
  (void)sotto_session_generate(session, tokens, std::max<size_t>(count, 3), 4, nullptr, nullptr);
  sotto_session_deinit(session);
}

void open(const sotto::AlignedBytes& file, const sotto_model_params& params) {
  size_t needed;
  if (sotto_model_memory_size(file.data(), file.size(), &params, &needed, nullptr) != SOTTO_OK) return;
  if (needed > size_t{16} << 20) return;
  sotto::AlignedBytes memory(needed);
  sotto_model* model;
  if (sotto_model_init(file.data(), file.size(), &params, memory.data(), needed, &model, nullptr) != SOTTO_OK) return;
  run(model);
  prepare_vocabulary(model);
  sotto_model_deinit(model);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  sotto::AlignedBytes file(std::vector<uint8_t>(sizeof(FileHeader) + size + kTensorBytes));
  write_file(data, size, file);
  sotto_model_params params;
  sotto_model_params_init(&params, sizeof params);
  params.copy_weights = size % 2;
  open(file, params);  // the checksums of most inputs are wrong
  params.verify_checksums = 0;
  open(file, params);
  return 0;
}
