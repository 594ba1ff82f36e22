/* sotto_signature.h - signatures of model files, grammar images, saved states and saved conversations. A signature
 * proves that the holder of an Ed25519 key has signed exactly these bytes of FILE. It is a file of its own, usually
 * FILE.sig; `sotto sign` or sotto_signature_make() writes it.
 *
 * The functions do not allocate and keep no state. They call SHA-256 and Ed25519 through callbacks: a device can use
 * what it has, and sotto_signature_libcrypto.h has callbacks for libcrypto. Objects are not changed after
 * sotto_signature_open(), and any number of threads may use them at once if the callbacks allow this. Link with
 * sotto_signature, or copy its two files.
 *
 * A signature contains, with little-endian numbers:
 *     0  "SOTTOSIG"
 *     8  uint32 version, 1
 *    12  uint32 kind
 *    16  uint64 size of the file in bytes, not 0
 *    24  public key, 32 bytes
 *    56  SHA-256 of the hashes from 152 on
 *    88  Ed25519 signature (RFC 8032) of bytes 0 to 87, 64 bytes
 *   152  SHA-256 of each block of the file; a block has 65,536 bytes, and the last one may have fewer
 */
#ifndef SOTTO_SIGNATURE_H
#define SOTTO_SIGNATURE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SOTTO_SIGNATURE_BLOCK_SIZE 65536

typedef enum sotto_signature_kind {
  SOTTO_SIGNATURE_UNKNOWN = 0, /* of a file that cannot be signed */
  SOTTO_SIGNATURE_MODEL = 1,
  SOTTO_SIGNATURE_GRAMMAR = 2,     /* an image of a compiled grammar */
  SOTTO_SIGNATURE_STATE = 3,       /* a saved session */
  SOTTO_SIGNATURE_CONVERSATION = 4 /* a saved conversation */
} sotto_signature_kind;

typedef enum sotto_signature_status {
  SOTTO_SIGNATURE_OK = 0,
  SOTTO_SIGNATURE_INVALID_ARGUMENT = -1, /* a NULL pointer, an unknown kind, or a part that the file does not have */
  SOTTO_SIGNATURE_CORRUPT = -2,          /* the bytes are not a complete signature of version 1 */
  SOTTO_SIGNATURE_OTHER_KEY = -3,        /* it was made with another key */
  SOTTO_SIGNATURE_FORGED = -4,           /* it was not made with the key that it names, or was changed */
  SOTTO_SIGNATURE_OTHER_KIND = -5,       /* it signs a file of another kind */
  SOTTO_SIGNATURE_OTHER_SIZE = -6,       /* the signed file has another size */
  SOTTO_SIGNATURE_FILE_CHANGED = -7,     /* a block of the file is not the signed one */
  SOTTO_SIGNATURE_CRYPTO_FAILED = -8     /* a callback other than ed25519_verify failed */
} sotto_signature_status;

/* Returns a human-readable text such as "the file was changed after it was signed". Never NULL. */
const char* sotto_signature_status_text(sotto_signature_status status);

/* The cryptographic functions. Each returns 0 on success. */
typedef struct sotto_signature_crypto {
  /* Writes the SHA-256 (FIPS 180-4) of bytes. */
  int (*sha256)(void* user_data, const void* bytes, size_t size, uint8_t digest[32]);
  /* Returns 0 only if the Ed25519 signature of the message is valid. */
  int (*ed25519_verify)(void* user_data, const uint8_t public_key[32], const void* message, size_t message_size,
                        const uint8_t signature[64]);
  /* Signs a message with the private key; only this callback knows it. May be NULL unless a signature is made. */
  int (*ed25519_sign)(void* user_data, const void* message, size_t message_size, uint8_t signature[64]);
  void* user_data;
} sotto_signature_crypto;

/* Returns the kind of a file from its first bytes. */
sotto_signature_kind sotto_signature_kind_of(const void* file, size_t file_size);

/* Verifies a whole file. `kind` is what the caller will use the file as; a signature of another kind fails. The caller
 * must not read the file again from a place where others can change it. */
sotto_signature_status sotto_signature_verify(const sotto_signature_crypto* crypto, const void* signature,
                                              size_t signature_size, const uint8_t public_key[32],
                                              sotto_signature_kind kind, const void* file, size_t file_size);

/* A verified signature, for files that are verified block by block, such as a mapped file of which only some pages are
 * used, or one that is read from flash memory in pieces. */
typedef struct sotto_signature {
  const sotto_signature_crypto* crypto;
  const uint8_t* block_hashes;
  uint64_t file_size;
} sotto_signature;

/* Verifies a signature without its file. On success `*opened` refers to `crypto` and to the hashes inside `signature`,
 * which must both outlive it and not change. On failure `*opened` is unchanged. */
sotto_signature_status sotto_signature_open(const sotto_signature_crypto* crypto, const void* signature,
                                            size_t signature_size, const uint8_t public_key[32],
                                            sotto_signature_kind kind, sotto_signature* opened);

/* Verifies block `index`, which begins at byte `index` * SOTTO_SIGNATURE_BLOCK_SIZE of the file. `size` is the size of
 * the whole block. */
sotto_signature_status sotto_signature_verify_block(const sotto_signature* signature, uint64_t index, const void* block,
                                                    size_t size);

/* Verifies all blocks that contain one of the `size` bytes of the file from `offset` on. If a block was changed and
 * `changed_block` is not NULL, writes the index of the first one. */
sotto_signature_status sotto_signature_verify_range(const sotto_signature* signature, const void* file,
                                                    size_t file_size, size_t offset, size_t size,
                                                    uint64_t* changed_block);

/* Returns the size of the signature of a file, or 0 if the size of the file is 0 or too large. */
size_t sotto_signature_size(uint64_t file_size);

/* Signs a file. `signature` must have sotto_signature_size() bytes, and `public_key` must belong to the private key of
 * `ed25519_sign`. Fails with INVALID_ARGUMENT if the kind of the file is unknown. If a callback fails, the contents of
 * `signature` are unspecified. */
sotto_signature_status sotto_signature_make(const sotto_signature_crypto* crypto, const uint8_t public_key[32],
                                            const void* file, size_t file_size, void* signature);

#ifdef __cplusplus
}
#endif

#endif /* SOTTO_SIGNATURE_H */
