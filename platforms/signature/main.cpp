// The program sotto-signature: `sotto keygen`, `sotto sign` and `sotto verify`.
#include <fcntl.h>
#include <openssl/pem.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "platforms/cli/support/failure.h"
#include "platforms/cli/support/model.h"
#include "platforms/cli/support/text.h"
#include "platforms/command_line/help.h"
#include "platforms/command_line/parser.h"
#include "platforms/signature/sotto_signature_libcrypto.h"

namespace sotto::cli {
namespace {

using PublicKey = std::array<uint8_t, 32>;
using PrivateKey = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Stream = std::unique_ptr<BIO, decltype(&BIO_free)>;

struct Options {
  std::string file;
  std::string signature;  // or empty: FILE.sig
  std::string key;
};

std::string shown(const PublicKey& key) { return hexadecimal({reinterpret_cast<const char*>(key.data()), key.size()}); }

std::string signature_path(const Options& options) {
  return options.signature.empty() ? options.file + ".sig" : options.signature;
}

PublicKey public_key_of(const PrivateKey& key) {
  PublicKey bytes;
  size_t size = bytes.size();
  if (EVP_PKEY_get_raw_public_key(key.get(), bytes.data(), &size) != 1) throw Failure("libcrypto has no public key");
  return bytes;
}

// Reads a public key: 64 hexadecimal digits, or a file that contains them.
PublicKey read_public_key(const std::string& text) {
  const auto is_key = [](const std::string& digits) {
    return digits.size() == 64 && digits.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos;
  };
  std::string digits = text;
  if (!is_key(digits)) {
    digits = read_all(text);
    while (!digits.empty() && (digits.back() == '\n' || digits.back() == '\r')) digits.pop_back();
    if (!is_key(digits)) throw Failure(text + ": is not a public key, which has 64 hexadecimal digits");
  }
  PublicKey key;
  for (size_t i = 0; i < key.size(); ++i)
    key[i] = static_cast<uint8_t>(std::stoi(digits.substr(2 * i, 2), nullptr, 16));
  return key;
}

// Reads a key in PEM. libcrypto asks on the terminal for the passphrase of an encrypted one.
PrivateKey read_private_key(const std::string& path) {
  const Input input(path);
  PrivateKey key(PEM_read_PrivateKey(input.file.get(), nullptr, nullptr, nullptr), EVP_PKEY_free);
  if (key == nullptr || EVP_PKEY_id(key.get()) != EVP_PKEY_ED25519) {
    throw Failure(path + ": is not an Ed25519 private key in PEM, or its passphrase is wrong");
  }
  return key;
}

// Writes a new file that only its owner can read.
void write_secret(const std::string& path, const char* bytes, size_t size) {
  const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (descriptor < 0) throw Failure(path + ": " + std::strerror(errno));
  ssize_t written = 0;
  for (; size > 0 && (written = write(descriptor, bytes, size)) > 0; size -= static_cast<size_t>(written)) {
    bytes += written;
  }
  int reason = size == 0 && fsync(descriptor) == 0 ? 0 : errno;
  if (close(descriptor) != 0 && reason == 0) reason = errno;
  if (reason == 0) return;
  std::remove(path.c_str());
  throw Failure(path + ": " + std::strerror(reason));
}

int run_keygen(const Options& options) {
  const std::unique_ptr<EVP_PKEY_CTX, decltype(&EVP_PKEY_CTX_free)> context(
      EVP_PKEY_CTX_new_id(EVP_PKEY_ED25519, nullptr), EVP_PKEY_CTX_free);
  EVP_PKEY* made = nullptr;
  if (context == nullptr || EVP_PKEY_keygen_init(context.get()) != 1 || EVP_PKEY_keygen(context.get(), &made) != 1) {
    throw Failure("libcrypto cannot make a key");
  }
  const PrivateKey key(made, EVP_PKEY_free);
  const Stream pem(BIO_new(BIO_s_secmem()), BIO_free);  // erased when freed
  char* text = nullptr;
  if (pem == nullptr ||
      PEM_write_bio_PKCS8PrivateKey(pem.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) != 1) {
    throw Failure("libcrypto cannot write a key");
  }
  const long size = BIO_get_mem_data(pem.get(), &text);
  write_secret(options.key, text, static_cast<size_t>(size));
  std::printf("%s\n", shown(public_key_of(key)).c_str());
  flush_output();
  return kExitOk;
}

// Returns the kind of a file, or throws a Failure.
sotto_signature_kind kind_of(const MappedFile& file, const std::string& path) {
  const sotto_signature_kind kind = sotto_signature_kind_of(file.bytes.data(), file.bytes.size());
  if (kind != SOTTO_SIGNATURE_UNKNOWN) return kind;
  throw Failure(path + ": is not a model, a grammar image, a saved session or a saved conversation");
}

void print_signed(const std::string& path, sotto_signature_kind kind, size_t size, const PublicKey& key) {
  constexpr const char* kNames[] = {"", "model", "grammar image", "saved session", "saved conversation"};
  std::printf("%s: %s, %s, signed by %s\n", for_terminal(to_utf8(path)).c_str(), kNames[kind], byte_size(size).c_str(),
              shown(key).c_str());
  flush_output();
}

int run_sign(const Options& options) {
  const MappedFile file = map_file(options.file);
  const sotto_signature_kind kind = kind_of(file, options.file);
  const PrivateKey key = read_private_key(options.key);
  const PublicKey public_key = public_key_of(key);
  const sotto_signature_crypto crypto = sotto_signature_libcrypto(key.get());
  std::string signature(sotto_signature_size(file.bytes.size()), '\0');
  const sotto_signature_status status =
      sotto_signature_make(&crypto, public_key.data(), file.bytes.data(), file.bytes.size(), signature.data());
  if (status != SOTTO_SIGNATURE_OK) throw Failure(options.file + ": " + sotto_signature_status_text(status));
  write_all(signature_path(options), signature);
  print_signed(options.file, kind, file.bytes.size(), public_key);
  return kExitOk;
}

// Verifies the blocks of a file in several threads, which take them in the order of the file.
class FileVerifier {
 public:
  FileVerifier(const sotto_signature& signature, Bytes file) : signature_(signature), file_(file) {}

  // Returns the status of the first block that is not valid, and writes its index.
  sotto_signature_status run(uint64_t* block) {
    const size_t count =
        std::min({size_t{8}, size_t{std::max(1u, std::thread::hardware_concurrency())}, file_.size() / kPartSize + 1});
    std::vector<std::thread> threads;
    threads.reserve(count);
    try {
      for (size_t i = 1; i < count; ++i) threads.emplace_back([this] { verify_parts(); });
    } catch (const std::system_error&) {
      // The system allows no more threads. Those that exist, and this one, verify the whole file.
    }
    verify_parts();
    for (std::thread& thread : threads) thread.join();
    *block = block_;
    return status_;
  }

 private:
  static constexpr size_t kPartSize = 16 * size_t{SOTTO_SIGNATURE_BLOCK_SIZE};

  void verify_parts() {
    while (!is_over_) {
      const size_t begin = next_.fetch_add(kPartSize);
      if (begin >= file_.size()) return;
      const size_t size = std::min(kPartSize, file_.size() - begin);
      uint64_t block = 0;
      const sotto_signature_status status =
          sotto_signature_verify_range(&signature_, file_.data(), file_.size(), begin, size, &block);
      if (status != SOTTO_SIGNATURE_OK) report(status, block);
    }
  }

  // Threads that are working finish their parts, so the first block of the file with a failure is reported.
  void report(sotto_signature_status status, uint64_t block) {
    const std::lock_guard lock(mutex_);
    if (status_ == SOTTO_SIGNATURE_OK || block < block_) {
      status_ = status;
      block_ = block;
    }
    is_over_ = true;
  }

  const sotto_signature& signature_;
  Bytes file_;
  std::atomic<size_t> next_ = 0;
  std::atomic<bool> is_over_ = false;
  std::mutex mutex_;
  sotto_signature_status status_ = SOTTO_SIGNATURE_OK;
  uint64_t block_ = 0;
};

int run_verify(const Options& options) {
  const PublicKey key = read_public_key(options.key);
  const MappedFile file = map_file(options.file);
  const sotto_signature_kind kind = kind_of(file, options.file);
  const std::string bytes = read_all(signature_path(options));
  const sotto_signature_crypto crypto = sotto_signature_libcrypto(nullptr);
  sotto_signature signature;
  sotto_signature_status status =
      sotto_signature_open(&crypto, bytes.data(), bytes.size(), key.data(), kind, &signature);
  if (status != SOTTO_SIGNATURE_OK) {
    throw Failure(signature_path(options) + ": " + sotto_signature_status_text(status));
  }
  uint64_t block = 0;
  status = FileVerifier(signature, file.bytes).run(&block);
  if (status != SOTTO_SIGNATURE_OK) {
    std::string message = options.file + ": " + sotto_signature_status_text(status);
    if (status == SOTTO_SIGNATURE_FILE_CHANGED) {
      message += ", in the 64 KiB from byte " + std::to_string(block * SOTTO_SIGNATURE_BLOCK_SIZE);
    }
    throw Failure(message);
  }
  print_signed(options.file, kind, file.bytes.size(), key);
  return kExitOk;
}

void declare_commands(Command& program, Options& options, std::function<int()>& run) {
  const auto add_file = [&](Command& command, const char* help) {
    command.add_option("FILE", options.file, help).required().check(check_file_name);
  };
  const auto add_key = [&](Command& command, const char* names, const char* metavar, const char* help) {
    command.add_option(names, options.key, help).required().metavar(metavar).check(check_file_name);
  };
  const auto runs = [&](Command& command, int (*function)(const Options&)) {
    command.on_parsed([&run, &options, function] { run = [&options, function] { return function(options); }; });
  };

  Command& keygen = program.add_command("keygen", "Make a key for signatures");
  add_key(keygen, "-o,--output", "FILE", "The new file of the private key, in PEM; the public key is printed");
  keygen.set_footer(
      "openssl genpkey -algorithm ed25519 makes the same keys, and can encrypt them.\n"
      "\n"
      "Example:\n"
      "  sotto keygen -o release.key > release.pub");
  runs(keygen, run_keygen);

  Command& sign = program.add_command("sign", "Sign a model, a grammar image, or a saved session or conversation");
  add_file(sign, "The file to sign, which does not change");
  add_key(sign, "-k,--key", "FILE", "The Ed25519 private key, in PEM");
  sign.add_option("-o,--output", options.signature, "The signature")
      .metavar("FILE")
      .shown_default("FILE.sig")
      .check(check_file_name);
  sign.set_footer("Example:\n  sotto sign demo.sotto --key release.key");
  runs(sign, run_sign);

  Command& verify = program.add_command("verify", "Verify that a file is what the holder of a key has signed");
  add_file(verify, "The signed file");
  add_key(verify, "-k,--public-key", "KEY", "The public key: 64 hexadecimal digits, or a file that contains them");
  verify.add_option("-s,--signature", options.signature, "The signature")
      .metavar("FILE")
      .shown_default("FILE.sig")
      .check(check_file_name);
  verify.set_footer(
      "Exit codes: 0 the file is the signed one, 1 it is not or cannot be read, 2 wrong usage.\n"
      "\n"
      "Example:\n"
      "  sotto verify demo.sotto --public-key release.pub");
  runs(verify, run_verify);
}

int run_program(int argc, char** argv) {
  Options options;
  std::function<int()> run;
  Command program("sotto-signature",
                  "Signs and verifies models, grammar images, and saved sessions and conversations.");
  declare_commands(program, options, run);
  add_documentation(program);
  const std::optional<int> exit_code = parse_command_line(program, argc, argv);
  return exit_code ? *exit_code : run();
}

}  // namespace
}  // namespace sotto::cli

int main(int argc, char** argv) { return sotto::cli::run_main("sotto-signature", sotto::cli::run_program, argc, argv); }
