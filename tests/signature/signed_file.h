// A file with its signature in memory, made with a key of RFC 8032.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include "platforms/signature/sotto_signature_libcrypto.h"

namespace sotto::test {

// The keys of RFC 8032, section 7.1, tests 1 and 2.
inline constexpr char kPrivateKey[] = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
inline constexpr char kPublicKey[] = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
inline constexpr char kOtherPrivateKey[] = "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb";
inline constexpr char kOtherPublicKey[] = "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c";

inline std::string from_hexadecimal(const std::string& digits) {
  std::string bytes;
  for (size_t i = 0; i < digits.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

inline const uint8_t* bytes_of(const std::string& text) { return reinterpret_cast<const uint8_t*>(text.data()); }

class Key {
 public:
  Key(const char* private_key, const char* public_key)
      : public_(from_hexadecimal(public_key)),
        key_(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, bytes_of(from_hexadecimal(private_key)), 32)),
        crypto_(sotto_signature_libcrypto(key_)) {}
  ~Key() { EVP_PKEY_free(key_); }
  Key(const Key&) = delete;
  Key& operator=(const Key&) = delete;

  const sotto_signature_crypto& crypto() const { return crypto_; }
  const uint8_t* public_key() const { return bytes_of(public_); }

  std::string sign(const std::string& file) const {
    std::string signature(sotto_signature_size(file.size()), '\0');
    if (sotto_signature_make(&crypto_, public_key(), file.data(), file.size(), signature.data()) !=
        SOTTO_SIGNATURE_OK) {
      throw std::runtime_error("the file cannot be signed");
    }
    return signature;
  }

  sotto_signature_status verify(const std::string& file, const std::string& signature,
                                sotto_signature_kind kind) const {
    return sotto_signature_verify(&crypto_, signature.data(), signature.size(), public_key(), kind, file.data(),
                                  file.size());
  }

 private:
  std::string public_;
  EVP_PKEY* key_;
  sotto_signature_crypto crypto_;
};

struct SignedFile {
  SignedFile(std::string bytes, sotto_signature_kind its_kind)
      : file(std::move(bytes)), signature(key.sign(file)), kind(its_kind) {}
  sotto_signature_status verify() const { return key.verify(file, signature, kind); }

  const Key key{kPrivateKey, kPublicKey};
  std::string file;
  std::string signature;
  sotto_signature_kind kind;
};

// Returns a saved conversation by its first bytes; the rest is arbitrary.
inline std::string numbered_file(size_t size) {
  std::string bytes = "SOTTOCHT";
  for (size_t i = 0; bytes.size() < size; ++i) bytes += static_cast<char>(i * i + 7 * i);
  return bytes;
}

}  // namespace sotto::test
