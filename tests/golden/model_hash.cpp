// model_hash MODEL [HASH [ISA]] computes the same hash of a model's logits as logits_hash, but only through the C
// interface, for systems without the converters or file streams. The program fails if the result is not HASH, and
// returns 77 if the instruction set with the name ISA is not available.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "capi/include/sotto.h"
#include "runtime/base/xxhash64.h"

namespace {

sotto_error error = {sizeof error, SOTTO_OK, 0, ""};

void check(sotto_status status) {
  if (status >= 0) return;
  std::printf("%s: %s\n", sotto_status_text(status), error.message);
  std::exit(1);
}

// Returns the instruction set with a name.
sotto_isa find_isa(const char* name) {
  sotto_isa isa = SOTTO_ISA_AUTO;
  for (; std::strcmp(sotto_isa_text(isa), name) != 0; ++isa) {
    if (std::strcmp(sotto_isa_text(isa), "unknown") == 0) std::exit(2);
  }
  return isa;
}

constexpr std::align_val_t kAlignment{SOTTO_MEMORY_ALIGNMENT};

struct Release {
  void operator()(void* bytes) const { ::operator delete(bytes, kAlignment); }
};
using Memory = std::unique_ptr<void, Release>;

Memory allocate(size_t size) { return Memory(::operator new(size, kAlignment)); }

Memory read_file(const char* path, size_t* size) {
  std::FILE* file = std::fopen(path, "rb");
  if (file == nullptr || std::fseek(file, 0, SEEK_END) != 0) std::exit(2);
  *size = static_cast<size_t>(std::ftell(file));
  std::rewind(file);
  Memory bytes = allocate(*size);
  if (std::fread(bytes.get(), 1, *size, file) != *size) std::exit(2);
  std::fclose(file);
  return bytes;
}

uint64_t hash_logits(const sotto_model* model, uint32_t batch_tokens) {
  sotto_model_info info = {};
  info.struct_size = sizeof info;
  check(sotto_model_get_info(model, &info));
  const uint32_t positions = info.max_context_tokens;
  sotto_session_params params;
  sotto_session_params_init(&params, sizeof params);
  params.context_tokens = positions < 16 ? positions : std::clamp(positions / 2, 16u, 64u);
  params.overflow = SOTTO_OVERFLOW_RING;
  params.thread_count = 1;
  params.batch_tokens = std::min(batch_tokens, params.context_tokens);
  size_t size = 0;
  check(sotto_session_memory_size(model, &params, &size, &error));
  sotto_session* session = nullptr;
  const Memory memory = allocate(size);
  check(sotto_session_init(model, &params, memory.get(), size, &session, &error));

  uint32_t state = 1;
  uint64_t hash = 0;
  const auto feed = [&](size_t count) {
    std::vector<sotto_token> tokens(count);
    for (sotto_token& token : tokens) {
      state = state * 1664525 + 1013904223;
      token = static_cast<sotto_token>((state >> 8) % info.vocabulary_size);
    }
    check(sotto_session_prefill(session, tokens.data(), tokens.size()));
    const float* logits = nullptr;
    size_t logit_count = 0;
    check(sotto_session_logits(session, &logits, &logit_count));
    hash = sotto::xxhash64(logits, logit_count * sizeof *logits, hash);
  };
  feed(params.context_tokens * 2 / 3);
  for (int i = 0; i < 4; ++i) feed(1);
  feed(params.context_tokens);
  sotto_session_deinit(session);
  return hash;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  size_t file_size = 0, size = 0;
  const Memory file = read_file(argv[1], &file_size);
  sotto_model_params params;
  sotto_model_params_init(&params, sizeof params);
  if (argc > 3) params.isa = find_isa(argv[3]);
  const sotto_status status = sotto_model_memory_size(file.get(), file_size, &params, &size, &error);
  if (status == SOTTO_CPU_UNSUPPORTED) return 77;
  check(status);
  const Memory memory = allocate(size);
  sotto_model* model = nullptr;
  check(sotto_model_init(file.get(), file_size, &params, memory.get(), size, &model, &error));
  int wrong_count = 0;
  for (const uint32_t batch : {1u, 7u, 64u}) {
    char hash[17];
    std::snprintf(hash, sizeof hash, "%016llx", static_cast<unsigned long long>(hash_logits(model, batch)));
    std::printf("%s batch %u\n", hash, batch);
    if (argc > 2) wrong_count += std::strcmp(hash, argv[2]) != 0;
  }
  return wrong_count == 0 ? 0 : 1;
}
