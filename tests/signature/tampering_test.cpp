// Tests the functions of sotto_signature.h: published vectors, and that no byte of a file or of its signature can
// change.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "runtime/model/file_header.h"
#include "runtime/model/model_generated.h"
#include "tests/signature/signed_file.h"
#include "tests/support/files.h"

namespace sotto::test {
namespace {

constexpr size_t kBlock = SOTTO_SIGNATURE_BLOCK_SIZE;
constexpr size_t kListAt = 152;  // the hashes of the blocks

std::string sha256(const std::string& bytes) {
  std::string digest(32, '\0');
  EXPECT_EQ(
      sotto_signature_libcrypto_sha256(nullptr, bytes.data(), bytes.size(), reinterpret_cast<uint8_t*>(digest.data())),
      0);
  return digest;
}

TEST(Signature, CallbacksComputeThePublishedVectors) {
  EXPECT_EQ(sha256("abc"), from_hexadecimal("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"));
  const struct {
    const char* private_key;
    const char* public_key;
    const char* message;
    const char* signature;
  } vectors[] = {
      // RFC 8032, section 7.1, tests 1 and 2
      {kPrivateKey, kPublicKey, "",
       "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe2"
       "4"
       "655141438e7a100b"},
      {kOtherPrivateKey, kOtherPublicKey, "72",
       "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302ae"
       "e"
       "b00d291612bb0c00"},
  };
  for (const auto& vector : vectors) {
    const Key key(vector.private_key, vector.public_key);
    const sotto_signature_crypto& crypto = key.crypto();
    const std::string message = from_hexadecimal(vector.message);
    std::string signature(64, '\0');
    auto* bytes = reinterpret_cast<uint8_t*>(signature.data());
    ASSERT_EQ(crypto.ed25519_sign(crypto.user_data, message.data(), message.size(), bytes), 0);
    EXPECT_EQ(signature, from_hexadecimal(vector.signature));
    const auto verify = [&] {
      return crypto.ed25519_verify(crypto.user_data, key.public_key(), message.data(), message.size(), bytes);
    };
    EXPECT_EQ(verify(), 0);
    for (size_t i = 0; i < signature.size(); ++i) {
      bytes[i] ^= 0x40;
      EXPECT_NE(verify(), 0) << "byte " << i;
      bytes[i] ^= 0x40;
    }
  }
}

// The digest was computed by a program of its own, from the description of the format in the header.
TEST(Signature, HasTheDocumentedFormat) {
  const SignedFile good(numbered_file(100'000), SOTTO_SIGNATURE_CONVERSATION);
  EXPECT_EQ(good.signature.size(), kListAt + 2 * 32);
  EXPECT_EQ(sha256(good.signature),
            from_hexadecimal("70ef2aa9bc24f5308e31370e71212c6195055d644a665f7d0970e83bdd957083"));
  EXPECT_EQ(good.verify(), SOTTO_SIGNATURE_OK);
}

// Bytes of a model: every kind of byte that a file has, with the bytes where it begins and ends.
class ModelBytes {
 public:
  explicit ModelBytes(const std::string& file) {
    FileHeader header;
    std::memcpy(&header, file.data(), sizeof header);
    add(0, sizeof header);
    add(sizeof header, header.metadata_size);
    const format::Model* model = format::GetModel(file.data() + sizeof header);
    add(model->positions());
    add(model->token_embedding());
    add(model->final_norm());
    for (const format::Layer* layer : *model->layers()) {
      add(layer->attention_norm());
      add(layer->attention_qkv());
      add(layer->attention_output());
      add(layer->feed_forward_norm());
      add(layer->feed_forward_up());
      add(layer->feed_forward_down());
    }
    if (model->vocabulary() != nullptr) add(model->vocabulary()->arrays());
    add_gaps(file.size());
  }

  size_t gap_count() const { return gap_count_; }
  // Returns positions in each of the ranges.
  std::vector<size_t> positions() const {
    std::vector<size_t> places;
    for (const auto& [begin, end] : ranges_) {
      for (const size_t place : {begin, begin + (end - begin) / 2, end - 1}) places.push_back(place);
    }
    return places;
  }

 private:
  void add(uint64_t begin, uint64_t size) {
    ranges_.emplace_back(static_cast<size_t>(begin), static_cast<size_t>(begin + size));
  }
  void add(const format::DataRange* range) {
    if (range != nullptr && range->size() != 0) add(range->offset(), range->size());
  }
  void add(const format::Norm* norm) {
    add(norm->gain());
    add(norm->bias());
  }
  void add(const format::Linear* linear) {
    for (const auto* range : {linear->weights(), linear->scales(), linear->bias(), linear->tiles()}) add(range);
  }
  // The padding between ranges, and what follows the last one.
  void add_gaps(size_t file_size) {
    std::sort(ranges_.begin(), ranges_.end());
    const size_t count = ranges_.size();
    for (size_t i = 0; i < count; ++i) {
      const size_t end = ranges_[i].second;
      const size_t next = i + 1 < count ? ranges_[i + 1].first : file_size;
      if (end < next) add(end, next - end);
    }
    gap_count_ = ranges_.size() - count;
  }

  std::vector<std::pair<size_t, size_t>> ranges_;
  size_t gap_count_ = 0;
};

TEST(Signature, DetectsAChangeInEveryPartOfAModel) {
  SignedFile model(read_file(SOTTO_DEMO_MODEL), SOTTO_SIGNATURE_MODEL);
  ASSERT_EQ(model.verify(), SOTTO_SIGNATURE_OK);
  const ModelBytes bytes(model.file);
  EXPECT_GE(bytes.gap_count(), 1u);
  std::vector<size_t> positions = bytes.positions();
  for (size_t i = 0; i < sizeof(FileHeader); ++i) positions.push_back(i);
  positions.push_back(model.file.size() - 1);
  EXPECT_GT(positions.size(), 200u);
  for (size_t i = 0; i < positions.size(); ++i) {
    char& byte = model.file[positions[i]];
    byte = static_cast<char>(byte ^ 1 << i % 8);
    EXPECT_EQ(model.verify(), SOTTO_SIGNATURE_FILE_CHANGED) << "byte " << positions[i];
    byte = static_cast<char>(byte ^ 1 << i % 8);
  }
  EXPECT_EQ(model.verify(), SOTTO_SIGNATURE_OK);
}

TEST(Signature, DetectsAChangeOfEveryByteOfASmallFile) {
  SignedFile good(numbered_file(3000), SOTTO_SIGNATURE_CONVERSATION);
  for (size_t i = 0; i < good.file.size(); ++i) {
    good.file[i] = static_cast<char>(good.file[i] ^ 1 << i % 8);
    EXPECT_EQ(good.verify(), SOTTO_SIGNATURE_FILE_CHANGED) << "byte " << i;
    good.file[i] = static_cast<char>(good.file[i] ^ 1 << i % 8);
  }
  EXPECT_EQ(good.verify(), SOTTO_SIGNATURE_OK);
}

TEST(Signature, DetectsFilesOfOtherSizes) {
  for (const size_t size : {size_t{8}, size_t{100}, kBlock - 1, kBlock, kBlock + 1, 3 * kBlock}) {
    const SignedFile good(numbered_file(size), SOTTO_SIGNATURE_CONVERSATION);
    EXPECT_EQ(good.verify(), SOTTO_SIGNATURE_OK) << size;
    const auto with = [&](const std::string& file) { return good.key.verify(file, good.signature, good.kind); };
    EXPECT_EQ(with(good.file.substr(0, size - 1)), SOTTO_SIGNATURE_OTHER_SIZE);
    EXPECT_EQ(with(good.file.substr(0, size / 2)), SOTTO_SIGNATURE_OTHER_SIZE);
    EXPECT_EQ(with(""), SOTTO_SIGNATURE_OTHER_SIZE);
    EXPECT_EQ(with(good.file + '\0'), SOTTO_SIGNATURE_OTHER_SIZE);
    EXPECT_EQ(with(good.file + std::string(kBlock, '\0')), SOTTO_SIGNATURE_OTHER_SIZE);
  }
}

TEST(Signature, DetectsBlocksThatChangedPlaces) {
  std::string bytes = numbered_file(4 * kBlock);
  bytes[kBlock] = 'a';
  bytes[2 * kBlock] = 'b';
  SignedFile good(bytes, SOTTO_SIGNATURE_CONVERSATION);
  EXPECT_EQ(good.verify(), SOTTO_SIGNATURE_OK);
  std::swap_ranges(good.file.begin() + kBlock, good.file.begin() + 2 * kBlock, good.file.begin() + 2 * kBlock);
  EXPECT_EQ(good.verify(), SOTTO_SIGNATURE_FILE_CHANGED);
}

TEST(Signature, DetectsAChangeOfEveryBitOfASignature) {
  SignedFile good(numbered_file(kBlock + 1), SOTTO_SIGNATURE_CONVERSATION);
  for (size_t bit = 0; bit < 8 * good.signature.size(); ++bit) {
    const size_t i = bit / 8;
    const sotto_signature_status expected = i < 12              ? SOTTO_SIGNATURE_CORRUPT  // magic bytes and version
                                            : 24 <= i && i < 56 ? SOTTO_SIGNATURE_OTHER_KEY
                                                                : SOTTO_SIGNATURE_FORGED;
    good.signature[i] = static_cast<char>(good.signature[i] ^ 1 << bit % 8);
    EXPECT_EQ(good.verify(), expected) << "bit " << bit;
    good.signature[i] = static_cast<char>(good.signature[i] ^ 1 << bit % 8);
  }
  EXPECT_EQ(good.verify(), SOTTO_SIGNATURE_OK);
}

TEST(Signature, RejectsSignaturesOfOtherSizes) {
  const SignedFile good(numbered_file(2 * kBlock), SOTTO_SIGNATURE_CONVERSATION);
  const auto with = [&](const std::string& signature) { return good.key.verify(good.file, signature, good.kind); };
  for (size_t size = 0; size < good.signature.size(); ++size) {
    EXPECT_EQ(with(good.signature.substr(0, size)), SOTTO_SIGNATURE_CORRUPT) << size;
  }
  for (const size_t more : {size_t{1}, size_t{32}, kBlock}) {
    EXPECT_EQ(with(good.signature + std::string(more, '\0')), SOTTO_SIGNATURE_CORRUPT) << more;
  }
}

TEST(Signature, RejectsHashesThatChangedPlaces) {
  SignedFile good(numbered_file(2 * kBlock), SOTTO_SIGNATURE_CONVERSATION);
  std::rotate(good.signature.begin() + kListAt, good.signature.begin() + kListAt + 32, good.signature.end());
  EXPECT_EQ(good.verify(), SOTTO_SIGNATURE_FORGED);
}

// An attacker can compute all hashes of another file, but cannot sign them.
TEST(Signature, RejectsTheHashesOfAnotherFile) {
  SignedFile good(numbered_file(2 * kBlock), SOTTO_SIGNATURE_CONVERSATION);
  const std::string genuine = good.signature;
  good.file.back() = 'x';
  good.signature = good.key.sign(good.file);
  EXPECT_EQ(good.verify(), SOTTO_SIGNATURE_OK);
  std::copy_n(genuine.begin() + 88, 64, good.signature.begin() + 88);
  EXPECT_EQ(good.verify(), SOTTO_SIGNATURE_FORGED);
}

TEST(Signature, RejectsOtherKeys) {
  SignedFile good(numbered_file(100), SOTTO_SIGNATURE_CONVERSATION);
  const Key other(kOtherPrivateKey, kOtherPublicKey);
  EXPECT_EQ(other.verify(good.file, good.signature, good.kind), SOTTO_SIGNATURE_OTHER_KEY);
  good.signature = other.sign(good.file);
  EXPECT_EQ(good.verify(), SOTTO_SIGNATURE_OTHER_KEY);
  // A signature that claims to be made with the expected key.
  std::copy_n(good.key.public_key(), 32, good.signature.begin() + 24);
  EXPECT_EQ(good.verify(), SOTTO_SIGNATURE_FORGED);
}

TEST(Signature, RejectsFilesOfOtherKinds) {
  const SignedFile state("SOTTOSES and so on", SOTTO_SIGNATURE_STATE);
  EXPECT_EQ(state.verify(), SOTTO_SIGNATURE_OK);
  for (const auto kind : {SOTTO_SIGNATURE_MODEL, SOTTO_SIGNATURE_GRAMMAR, SOTTO_SIGNATURE_CONVERSATION}) {
    EXPECT_EQ(state.key.verify(state.file, state.signature, kind), SOTTO_SIGNATURE_OTHER_KIND);
  }
  // Only the holder of the key can change the kind.
  for (const uint8_t kind : {0, 1, 2, 4, 5}) {
    std::string changed = state.signature;
    changed[12] = static_cast<char>(kind);
    for (const auto expected : {SOTTO_SIGNATURE_MODEL, SOTTO_SIGNATURE_GRAMMAR, SOTTO_SIGNATURE_STATE}) {
      EXPECT_EQ(state.key.verify(state.file, changed, expected), SOTTO_SIGNATURE_FORGED);
    }
  }
  for (const std::string file : {"", "SOTTO", "SOTTOSI", "SOTTOSIG", "sottoses and so on"}) {
    EXPECT_EQ(sotto_signature_kind_of(file.data(), file.size()), SOTTO_SIGNATURE_UNKNOWN) << file;
    EXPECT_THROW(state.key.sign(file), std::runtime_error);
  }
}

TEST(Signature, VerifiesOnlyTheBlocksOfARange) {
  SignedFile good(numbered_file(4 * kBlock + 10), SOTTO_SIGNATURE_CONVERSATION);
  sotto_signature opened;
  ASSERT_EQ(sotto_signature_open(&good.key.crypto(), good.signature.data(), good.signature.size(),
                                 good.key.public_key(), good.kind, &opened),
            SOTTO_SIGNATURE_OK);
  good.file[2 * kBlock + 5] = static_cast<char>(good.file[2 * kBlock + 5] + 1);
  uint64_t block = 99;
  const auto verify = [&](size_t offset, size_t size) {
    return sotto_signature_verify_range(&opened, good.file.data(), good.file.size(), offset, size, &block);
  };
  EXPECT_EQ(verify(0, 2 * kBlock), SOTTO_SIGNATURE_OK);
  EXPECT_EQ(verify(3 * kBlock, kBlock + 10), SOTTO_SIGNATURE_OK);
  EXPECT_EQ(verify(2 * kBlock + 7, 0), SOTTO_SIGNATURE_OK);
  EXPECT_EQ(verify(good.file.size(), 0), SOTTO_SIGNATURE_OK);
  EXPECT_EQ(block, 99u);
  for (const auto& [offset, size] : std::vector<std::pair<size_t, size_t>>{
           {0, 2 * kBlock + 1}, {2 * kBlock, 1}, {3 * kBlock - 1, 2}, {0, good.file.size()}}) {
    block = 99;
    EXPECT_EQ(verify(offset, size), SOTTO_SIGNATURE_FILE_CHANGED) << offset;
    EXPECT_EQ(block, 2u);
  }
  EXPECT_EQ(sotto_signature_verify_range(&opened, good.file.data(), good.file.size(), 0, kBlock * 4, nullptr),
            SOTTO_SIGNATURE_FILE_CHANGED);
  EXPECT_EQ(verify(good.file.size(), 1), SOTTO_SIGNATURE_INVALID_ARGUMENT);
  EXPECT_EQ(verify(good.file.size() + 1, 0), SOTTO_SIGNATURE_INVALID_ARGUMENT);
  EXPECT_EQ(verify(1, SIZE_MAX), SOTTO_SIGNATURE_INVALID_ARGUMENT);
}

TEST(Signature, VerifiesSingleBlocks) {
  const SignedFile good(numbered_file(kBlock + 10), SOTTO_SIGNATURE_CONVERSATION);
  sotto_signature opened;
  ASSERT_EQ(sotto_signature_open(&good.key.crypto(), good.signature.data(), good.signature.size(),
                                 good.key.public_key(), good.kind, &opened),
            SOTTO_SIGNATURE_OK);
  const auto verify = [&](uint64_t index, size_t offset, size_t size) {
    return sotto_signature_verify_block(&opened, index, good.file.data() + offset, size);
  };
  EXPECT_EQ(verify(0, 0, kBlock), SOTTO_SIGNATURE_OK);
  EXPECT_EQ(verify(1, kBlock, 10), SOTTO_SIGNATURE_OK);
  EXPECT_EQ(verify(0, 1, kBlock), SOTTO_SIGNATURE_FILE_CHANGED);
  EXPECT_EQ(verify(1, 0, 10), SOTTO_SIGNATURE_FILE_CHANGED);
  for (const size_t size : {size_t{0}, size_t{9}, size_t{11}, kBlock}) {
    EXPECT_EQ(verify(1, 0, size), SOTTO_SIGNATURE_INVALID_ARGUMENT);
  }
  EXPECT_EQ(verify(2, 0, 10), SOTTO_SIGNATURE_INVALID_ARGUMENT);
  EXPECT_EQ(verify(UINT64_MAX, 0, 10), SOTTO_SIGNATURE_INVALID_ARGUMENT);
}

TEST(Signature, RejectsMissingArguments) {
  const SignedFile good(numbered_file(100), SOTTO_SIGNATURE_CONVERSATION);
  const sotto_signature_crypto& crypto = good.key.crypto();
  const auto verify = [&](const sotto_signature_crypto* with, const void* signature, const uint8_t* key,
                          sotto_signature_kind kind, const void* file) {
    return sotto_signature_verify(with, signature, good.signature.size(), key, kind, file, good.file.size());
  };
  const uint8_t* key = good.key.public_key();
  const char* signature = good.signature.data();
  const char* file = good.file.data();
  EXPECT_EQ(verify(nullptr, signature, key, good.kind, file), SOTTO_SIGNATURE_INVALID_ARGUMENT);
  EXPECT_EQ(verify(&crypto, nullptr, key, good.kind, file), SOTTO_SIGNATURE_INVALID_ARGUMENT);
  EXPECT_EQ(verify(&crypto, signature, nullptr, good.kind, file), SOTTO_SIGNATURE_INVALID_ARGUMENT);
  EXPECT_EQ(verify(&crypto, signature, key, SOTTO_SIGNATURE_UNKNOWN, file), SOTTO_SIGNATURE_INVALID_ARGUMENT);
  const auto later_kind = static_cast<sotto_signature_kind>(SOTTO_SIGNATURE_CONVERSATION + 1);
  EXPECT_EQ(verify(&crypto, signature, key, later_kind, file), SOTTO_SIGNATURE_INVALID_ARGUMENT);
  EXPECT_EQ(verify(&crypto, signature, key, good.kind, nullptr), SOTTO_SIGNATURE_INVALID_ARGUMENT);
  sotto_signature_crypto incomplete = crypto;
  incomplete.ed25519_verify = nullptr;
  EXPECT_EQ(verify(&incomplete, signature, key, good.kind, file), SOTTO_SIGNATURE_INVALID_ARGUMENT);
  incomplete = crypto;
  incomplete.sha256 = nullptr;
  EXPECT_EQ(verify(&incomplete, signature, key, good.kind, file), SOTTO_SIGNATURE_INVALID_ARGUMENT);
  const sotto_signature_crypto only_verifies = sotto_signature_libcrypto(nullptr);
  EXPECT_EQ(verify(&only_verifies, signature, key, good.kind, file), SOTTO_SIGNATURE_OK);
  std::string made(good.signature.size(), '\0');
  EXPECT_EQ(sotto_signature_make(&only_verifies, key, file, good.file.size(), made.data()),
            SOTTO_SIGNATURE_INVALID_ARGUMENT);
  EXPECT_EQ(sotto_signature_make(&crypto, key, file, good.file.size(), nullptr), SOTTO_SIGNATURE_INVALID_ARGUMENT);
  EXPECT_EQ(sotto_signature_size(0), 0u);
}

TEST(Signature, ReportsCallbacksThatFail) {
  const SignedFile good(numbered_file(100), SOTTO_SIGNATURE_CONVERSATION);
  sotto_signature_crypto crypto = good.key.crypto();
  std::string made(good.signature.size(), '\0');
  crypto.ed25519_sign = [](void*, const void*, size_t, uint8_t*) { return -1; };
  EXPECT_EQ(sotto_signature_make(&crypto, good.key.public_key(), good.file.data(), good.file.size(), made.data()),
            SOTTO_SIGNATURE_CRYPTO_FAILED);
  crypto.sha256 = [](void*, const void*, size_t, uint8_t*) { return 1; };
  EXPECT_EQ(sotto_signature_verify(&crypto, good.signature.data(), good.signature.size(), good.key.public_key(),
                                   good.kind, good.file.data(), good.file.size()),
            SOTTO_SIGNATURE_CRYPTO_FAILED);
}

TEST(Signature, HasATextForEachStatus) {
  std::vector<std::string> texts;
  for (int status = SOTTO_SIGNATURE_OK; status >= SOTTO_SIGNATURE_CRYPTO_FAILED; --status) {
    texts.push_back(sotto_signature_status_text(static_cast<sotto_signature_status>(status)));
  }
  std::sort(texts.begin(), texts.end());
  EXPECT_EQ(std::unique(texts.begin(), texts.end()), texts.end());
  EXPECT_EQ(std::count(texts.begin(), texts.end(), "unknown status"), 0);
}

}  // namespace
}  // namespace sotto::test
