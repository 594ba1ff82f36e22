/* Signatures of files (sotto_signature.h). */
#include "sotto_signature.h"

#include <string.h>

enum { /* positions in a signature */
       VERSION_AT = 8,
       KIND_AT = 12,
       FILE_SIZE_AT = 16,
       PUBLIC_KEY_AT = 24,
       LIST_HASH_AT = 56,
       SIGNED_SIZE = 88, /* the signed bytes, which the Ed25519 signature follows */
       LIST_AT = 152
};

enum { VERSION = 1, HASH_SIZE = 32, KEY_SIZE = 32, ED25519_SIZE = 64 };

static const uint8_t kMagic[8] = {'S', 'O', 'T', 'T', 'O', 'S', 'I', 'G'};

static void put_number(uint8_t* bytes, uint64_t number, int size) {
  for (int i = 0; i < size; ++i) bytes[i] = (uint8_t)(number >> 8 * i);
}

static uint64_t get_number(const uint8_t* bytes, int size) {
  uint64_t number = 0;
  for (int i = size - 1; i >= 0; --i) number = number << 8 | bytes[i];
  return number;
}

/* `file_size` is not 0. */
static uint64_t block_count(uint64_t file_size) { return (file_size - 1) / SOTTO_SIGNATURE_BLOCK_SIZE + 1; }

static size_t block_size(uint64_t file_size, uint64_t index) {
  const uint64_t rest = file_size - index * SOTTO_SIGNATURE_BLOCK_SIZE;
  return rest < SOTTO_SIGNATURE_BLOCK_SIZE ? (size_t)rest : SOTTO_SIGNATURE_BLOCK_SIZE;
}

static int hash(const sotto_signature_crypto* crypto, const void* bytes, size_t size, uint8_t* digest) {
  return crypto->sha256(crypto->user_data, bytes, size, digest);
}

const char* sotto_signature_status_text(sotto_signature_status status) {
  switch (status) {
    case SOTTO_SIGNATURE_OK:
      return "the signature is valid";
    case SOTTO_SIGNATURE_INVALID_ARGUMENT:
      return "an argument is invalid";
    case SOTTO_SIGNATURE_CORRUPT:
      return "this is not a complete signature of version 1";
    case SOTTO_SIGNATURE_OTHER_KEY:
      return "the signature was made with another key";
    case SOTTO_SIGNATURE_FORGED:
      return "the signature was forged or changed";
    case SOTTO_SIGNATURE_OTHER_KIND:
      return "the signature is for a file of another kind";
    case SOTTO_SIGNATURE_OTHER_SIZE:
      return "the signed file has another size";
    case SOTTO_SIGNATURE_FILE_CHANGED:
      return "the file was changed after it was signed";
    case SOTTO_SIGNATURE_CRYPTO_FAILED:
      return "a cryptographic function failed";
  }
  return "unknown status";
}

sotto_signature_kind sotto_signature_kind_of(const void* file, size_t file_size) {
  static const struct {
    uint8_t at;
    uint8_t size;
    uint8_t bytes[8];
    sotto_signature_kind kind;
  } kFormats[] = {
      {0, 8, {'S', 'O', 'T', 'T', 'O', '\r', '\n', 0x1a}, SOTTO_SIGNATURE_MODEL}, /* runtime/model/file_header.h */
      {4, 4, {'S', 'O', 'T', 'G'}, SOTTO_SIGNATURE_GRAMMAR},                      /* runtime/grammar/grammar.fbs */
      {0, 8, {'S', 'O', 'T', 'T', 'O', 'S', 'E', 'S'}, SOTTO_SIGNATURE_STATE},    /* runtime/session/saved_state.cpp */
      {0, 8, {'S', 'O', 'T', 'T', 'O', 'C', 'H', 'T'}, SOTTO_SIGNATURE_CONVERSATION}, /* runtime/chat/chat.cpp */
  };
  if (file == NULL || file_size < 8) return SOTTO_SIGNATURE_UNKNOWN;
  for (size_t i = 0; i < sizeof kFormats / sizeof kFormats[0]; ++i) {
    if (memcmp((const uint8_t*)file + kFormats[i].at, kFormats[i].bytes, kFormats[i].size) == 0)
      return kFormats[i].kind;
  }
  return SOTTO_SIGNATURE_UNKNOWN;
}

sotto_signature_status sotto_signature_open(const sotto_signature_crypto* crypto, const void* signature,
                                            size_t signature_size, const uint8_t public_key[32],
                                            sotto_signature_kind kind, sotto_signature* opened) {
  const uint8_t* bytes = signature;
  if (crypto == NULL || crypto->sha256 == NULL || crypto->ed25519_verify == NULL || bytes == NULL ||
      public_key == NULL || kind < SOTTO_SIGNATURE_MODEL || kind > SOTTO_SIGNATURE_CONVERSATION || opened == NULL) {
    return SOTTO_SIGNATURE_INVALID_ARGUMENT;
  }
  if (signature_size < LIST_AT || memcmp(bytes, kMagic, sizeof kMagic) != 0 ||
      get_number(bytes + VERSION_AT, 4) != VERSION) {
    return SOTTO_SIGNATURE_CORRUPT;
  }
  /* The key comes from the caller: the one in the signature only explains why a signature is not accepted. */
  if (memcmp(bytes + PUBLIC_KEY_AT, public_key, KEY_SIZE) != 0) return SOTTO_SIGNATURE_OTHER_KEY;
  if (crypto->ed25519_verify(crypto->user_data, public_key, bytes, SIGNED_SIZE, bytes + SIGNED_SIZE) != 0) {
    return SOTTO_SIGNATURE_FORGED;
  }

  /* From here on, the signed bytes are those of the holder of the key. */
  if (get_number(bytes + KIND_AT, 4) != (uint64_t)kind) return SOTTO_SIGNATURE_OTHER_KIND;
  const uint64_t file_size = get_number(bytes + FILE_SIZE_AT, 8);
  if (file_size == 0) return SOTTO_SIGNATURE_CORRUPT;
  const size_t list_size = signature_size - LIST_AT;
  if (list_size % HASH_SIZE != 0 || list_size / HASH_SIZE != block_count(file_size)) return SOTTO_SIGNATURE_CORRUPT;
  uint8_t digest[HASH_SIZE];
  if (hash(crypto, bytes + LIST_AT, list_size, digest) != 0) return SOTTO_SIGNATURE_CRYPTO_FAILED;
  if (memcmp(digest, bytes + LIST_HASH_AT, HASH_SIZE) != 0) return SOTTO_SIGNATURE_FORGED;
  opened->crypto = crypto;
  opened->block_hashes = bytes + LIST_AT;
  opened->file_size = file_size;
  return SOTTO_SIGNATURE_OK;
}

sotto_signature_status sotto_signature_verify_block(const sotto_signature* signature, uint64_t index, const void* block,
                                                    size_t size) {
  if (signature == NULL || block == NULL || index >= block_count(signature->file_size) ||
      size != block_size(signature->file_size, index)) {
    return SOTTO_SIGNATURE_INVALID_ARGUMENT;
  }
  uint8_t digest[HASH_SIZE];
  if (hash(signature->crypto, block, size, digest) != 0) return SOTTO_SIGNATURE_CRYPTO_FAILED;
  const uint8_t* signed_hash = signature->block_hashes + index * HASH_SIZE;
  return memcmp(digest, signed_hash, HASH_SIZE) == 0 ? SOTTO_SIGNATURE_OK : SOTTO_SIGNATURE_FILE_CHANGED;
}

sotto_signature_status sotto_signature_verify_range(const sotto_signature* signature, const void* file,
                                                    size_t file_size, size_t offset, size_t size,
                                                    uint64_t* changed_block) {
  if (signature == NULL || file == NULL) return SOTTO_SIGNATURE_INVALID_ARGUMENT;
  if (file_size != signature->file_size) return SOTTO_SIGNATURE_OTHER_SIZE;
  if (offset > file_size || size > file_size - offset) return SOTTO_SIGNATURE_INVALID_ARGUMENT;
  if (size == 0) return SOTTO_SIGNATURE_OK;
  const size_t last = (offset + size - 1) / SOTTO_SIGNATURE_BLOCK_SIZE;
  for (size_t i = offset / SOTTO_SIGNATURE_BLOCK_SIZE; i <= last; ++i) {
    const uint8_t* block = (const uint8_t*)file + i * SOTTO_SIGNATURE_BLOCK_SIZE;
    const sotto_signature_status status = sotto_signature_verify_block(signature, i, block, block_size(file_size, i));
    if (status == SOTTO_SIGNATURE_OK) continue;
    if (status == SOTTO_SIGNATURE_FILE_CHANGED && changed_block != NULL) *changed_block = i;
    return status;
  }
  return SOTTO_SIGNATURE_OK;
}

sotto_signature_status sotto_signature_verify(const sotto_signature_crypto* crypto, const void* signature,
                                              size_t signature_size, const uint8_t public_key[32],
                                              sotto_signature_kind kind, const void* file, size_t file_size) {
  sotto_signature opened;
  const sotto_signature_status status =
      sotto_signature_open(crypto, signature, signature_size, public_key, kind, &opened);
  if (status != SOTTO_SIGNATURE_OK) return status;
  return sotto_signature_verify_range(&opened, file, file_size, 0, file_size, NULL);
}

size_t sotto_signature_size(uint64_t file_size) {
  if (file_size == 0 || block_count(file_size) > (SIZE_MAX - LIST_AT) / HASH_SIZE) return 0;
  return LIST_AT + (size_t)block_count(file_size) * HASH_SIZE;
}

sotto_signature_status sotto_signature_make(const sotto_signature_crypto* crypto, const uint8_t public_key[32],
                                            const void* file, size_t file_size, void* signature) {
  const sotto_signature_kind kind = sotto_signature_kind_of(file, file_size);
  const size_t signature_size = sotto_signature_size(file_size);
  if (crypto == NULL || crypto->sha256 == NULL || crypto->ed25519_sign == NULL || public_key == NULL ||
      signature == NULL || kind == SOTTO_SIGNATURE_UNKNOWN || signature_size == 0) {
    return SOTTO_SIGNATURE_INVALID_ARGUMENT;
  }
  uint8_t* bytes = signature;
  memcpy(bytes, kMagic, sizeof kMagic);
  put_number(bytes + VERSION_AT, VERSION, 4);
  put_number(bytes + KIND_AT, (uint64_t)kind, 4);
  put_number(bytes + FILE_SIZE_AT, file_size, 8);
  memcpy(bytes + PUBLIC_KEY_AT, public_key, KEY_SIZE);
  for (size_t i = 0; i < block_count(file_size); ++i) {
    const uint8_t* block = (const uint8_t*)file + i * SOTTO_SIGNATURE_BLOCK_SIZE;
    if (hash(crypto, block, block_size(file_size, i), bytes + LIST_AT + i * HASH_SIZE) != 0) {
      return SOTTO_SIGNATURE_CRYPTO_FAILED;
    }
  }
  if (hash(crypto, bytes + LIST_AT, signature_size - LIST_AT, bytes + LIST_HASH_AT) != 0 ||
      crypto->ed25519_sign(crypto->user_data, bytes, SIGNED_SIZE, bytes + SIGNED_SIZE) != 0) {
    return SOTTO_SIGNATURE_CRYPTO_FAILED;
  }
  return SOTTO_SIGNATURE_OK;
}
