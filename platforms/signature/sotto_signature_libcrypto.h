/* sotto_signature_libcrypto.h - callbacks for sotto_signature.h that call libcrypto of OpenSSL 1.1.1 or later, or of
 * BoringSSL. Include it in the source file that calls sotto_signature_*, and link with -lcrypto. Threads may share the
 * callbacks.
 */
#ifndef SOTTO_SIGNATURE_LIBCRYPTO_H
#define SOTTO_SIGNATURE_LIBCRYPTO_H

#include <openssl/evp.h>

#include "sotto_signature.h"

static inline int sotto_signature_libcrypto_sha256(void* user_data, const void* bytes, size_t size,
                                                   uint8_t digest[32]) {
  (void)user_data;
  return EVP_Digest(bytes, size, digest, NULL, EVP_sha256(), NULL) == 1 ? 0 : -1;
}

static inline int sotto_signature_libcrypto_verify(void* user_data, const uint8_t public_key[32], const void* message,
                                                   size_t message_size, const uint8_t signature[64]) {
  EVP_PKEY* key = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, public_key, 32);
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  const int is_valid = key != NULL && context != NULL && EVP_DigestVerifyInit(context, NULL, NULL, NULL, key) == 1 &&
                       EVP_DigestVerify(context, signature, 64, (const unsigned char*)message, message_size) == 1;
  (void)user_data;
  EVP_MD_CTX_free(context);
  EVP_PKEY_free(key);
  return is_valid ? 0 : -1;
}

/* `user_data` is an EVP_PKEY with an Ed25519 private key. */
static inline int sotto_signature_libcrypto_sign(void* user_data, const void* message, size_t message_size,
                                                 uint8_t signature[64]) {
  size_t size = 64;
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  const int is_signed = context != NULL && EVP_DigestSignInit(context, NULL, NULL, NULL, (EVP_PKEY*)user_data) == 1 &&
                        EVP_DigestSign(context, signature, &size, (const unsigned char*)message, message_size) == 1 &&
                        size == 64;
  EVP_MD_CTX_free(context);
  return is_signed ? 0 : -1;
}

/* Returns the callbacks. `private_key` signs; it may be NULL, and otherwise must outlive them. */
static inline sotto_signature_crypto sotto_signature_libcrypto(EVP_PKEY* private_key) {
  const sotto_signature_crypto crypto = {sotto_signature_libcrypto_sha256, sotto_signature_libcrypto_verify,
                                         private_key == NULL ? NULL : sotto_signature_libcrypto_sign, private_key};
  return crypto;
}

#endif /* SOTTO_SIGNATURE_LIBCRYPTO_H */
