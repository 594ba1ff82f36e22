// Fuzzes signatures. Any bytes are rejected, or describe a file whose blocks can be verified. The cryptographic
// functions are replaced by fast ones, and the target corrects the hash of the list, so that inputs reach the checks
// after it. Corpus: signatures of files of 8, 65,536 and 140,000 bytes.

#include <algorithm>
#include <cstring>
#include <vector>

#include "platforms/signature/sotto_signature.h"
#include "runtime/base/xxhash64.h"
#include "tests/fuzz/fuzz_bytes.h"

namespace {

constexpr size_t kListHash = 56;
constexpr size_t kList = 152;

int hash(void*, const void* bytes, size_t size, uint8_t digest[32]) {
  for (uint64_t part = 0; part < 4; ++part) {
    const uint64_t value = sotto::xxhash64(bytes, size, part);
    std::memcpy(digest + part * sizeof value, &value, sizeof value);
  }
  return 0;
}

int accept(void*, const uint8_t*, const void*, size_t, const uint8_t*) { return 0; }

constexpr sotto_signature_crypto kCrypto = {hash, accept, nullptr, nullptr};

// Verifies a file of any size up to three blocks, and only as far as its bytes exist.
void verify_file(const sotto_signature& signature, size_t signature_size) {
  const uint64_t count = (signature.file_size - 1) / SOTTO_SIGNATURE_BLOCK_SIZE + 1;
  REQUIRE(count == (signature_size - kList) / 32);
  REQUIRE(sotto_signature_size(signature.file_size) == signature_size);
  if (count > 3) return;
  const std::vector<uint8_t> file(static_cast<size_t>(signature.file_size), 7);
  bool all_valid = true;
  for (uint64_t i = 0; i < count; ++i) {
    const size_t begin = static_cast<size_t>(i) * SOTTO_SIGNATURE_BLOCK_SIZE;
    const size_t size = std::min<size_t>(SOTTO_SIGNATURE_BLOCK_SIZE, file.size() - begin);
    const sotto_signature_status block = sotto_signature_verify_block(&signature, i, file.data() + begin, size);
    REQUIRE(block == SOTTO_SIGNATURE_OK || block == SOTTO_SIGNATURE_FILE_CHANGED);
    REQUIRE(sotto_signature_verify_range(&signature, file.data(), file.size(), begin, 1, nullptr) == block);
    all_valid = all_valid && block == SOTTO_SIGNATURE_OK;
  }
  const sotto_signature_status whole =
      sotto_signature_verify_range(&signature, file.data(), file.size(), 0, file.size(), nullptr);
  REQUIRE((whole == SOTTO_SIGNATURE_OK) == all_valid);
}

void open_signature(const std::vector<uint8_t>& bytes) {
  uint8_t key[32] = {};
  if (bytes.size() >= kListHash) std::memcpy(key, bytes.data() + 24, sizeof key);
  const auto kind = static_cast<sotto_signature_kind>(bytes.size() > 12 ? bytes[12] % 8 : 1);
  sotto_signature signature;
  const sotto_signature_status status =
      sotto_signature_open(&kCrypto, bytes.data(), bytes.size(), key, kind, &signature);
  if (status == SOTTO_SIGNATURE_OK) verify_file(signature, bytes.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::vector<uint8_t> bytes(data, data + size);
  open_signature(bytes);
  if (size < kList) return 0;
  hash(nullptr, bytes.data() + kList, size - kList, bytes.data() + kListHash);
  open_signature(bytes);
  return 0;
}
