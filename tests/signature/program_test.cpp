// Tests `sotto keygen`, `sotto sign` and `sotto verify` on each kind of file.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>
#include <vector>

#include "tests/cli/program.h"
#include "tests/signature/signed_file.h"

namespace sotto::test {
namespace {

constexpr char kName[] = "sotto-signature: ";

// A folder with a key.
struct Signer {
  Signer() : public_key(run_sotto({"keygen", "-o", folder.file("key")}).out.substr(0, 64)) {}

  std::string path(const std::string& name) const { return folder.file(name); }
  Result sign(const std::string& name) const { return run_sotto({"sign", path(name), "--key", path("key")}); }
  Result verify(const std::string& name) const { return run_sotto({"verify", path(name), "--public-key", public_key}); }

  TemporaryFolder folder;
  std::string public_key;
};

void expect_failure(const Result& result, int exit_code, const std::string& part) {
  EXPECT_EQ(result.exit_code, exit_code) << result.err;
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err.rfind(kName, 0), 0u) << result.err;
  EXPECT_NE(result.err.find(part), std::string::npos) << result.err;
}

TEST(SignatureProgram, SignsEachKindOfFile) {
  const Signer signer;
  write_file(signer.path("demo.sotto"), read_file(SOTTO_DEMO_MODEL));
  ASSERT_EQ(run_sotto({"grammar", "compile", "--regex", "[0-9]+", "-o", signer.path("digits.sottog")}).exit_code, 0);
  ASSERT_EQ(run_on_demo("generate", {"-p", "It", "-n", "2", "--save-state", signer.path("state")}).exit_code, 0);
  ASSERT_EQ(run_on_demo("chat", {"-n", "2"}, "Hello\n/save " + signer.path("talk") + "\n").exit_code, 0);
  const struct {
    const char* name;
    const char* kind;
  } files[] = {{"demo.sotto", "model"},
               {"digits.sottog", "grammar image"},
               {"state", "saved session"},
               {"talk", "saved conversation"}};
  for (const auto& file : files) {
    const Result is_signed = signer.sign(file.name);
    EXPECT_EQ(is_signed.exit_code, 0) << is_signed.err;
    const Result verified = signer.verify(file.name);
    EXPECT_EQ(verified.exit_code, 0) << verified.err;
    EXPECT_EQ(verified.out, is_signed.out);
    EXPECT_NE(verified.out.find(std::string(": ") + file.kind + ", "), std::string::npos) << verified.out;
    EXPECT_NE(verified.out.find(", signed by " + signer.public_key + "\n"), std::string::npos) << verified.out;

    std::string bytes = read_file(signer.path(file.name));
    bytes.back() = static_cast<char>(bytes.back() ^ 1);
    write_file(signer.path(file.name), bytes);
    const std::string block =
        std::to_string((bytes.size() - 1) / SOTTO_SIGNATURE_BLOCK_SIZE * SOTTO_SIGNATURE_BLOCK_SIZE);
    expect_failure(
        signer.verify(file.name), 1,
        signer.path(file.name) + ": the file was changed after it was signed, in the 64 KiB from byte " + block);
    write_file(signer.path(file.name), bytes + "x");
    expect_failure(signer.verify(file.name), 1, signer.path(file.name) + ": the signed file has another size");
  }
  // The signature of one file is not that of another one, of the same kind or not.
  write_file(signer.path("talk.sig"), read_file(signer.path("state.sig")));
  expect_failure(signer.verify("talk"), 1, signer.path("talk.sig") + ": the signature is for a file of another kind");
}

TEST(SignatureProgram, ReportsTheFirstOfManyChanges) {
  const Signer signer;
  std::string bytes = numbered_file(64 * SOTTO_SIGNATURE_BLOCK_SIZE);
  write_file(signer.path("talk"), bytes);
  ASSERT_EQ(signer.sign("talk").exit_code, 0);
  for (size_t i = 33; i < 64; ++i) bytes[i * SOTTO_SIGNATURE_BLOCK_SIZE + i] ^= 1;
  write_file(signer.path("talk"), bytes);
  expect_failure(signer.verify("talk"), 1, "from byte " + std::to_string(33 * SOTTO_SIGNATURE_BLOCK_SIZE));
}

// Runs the program in a shell after commands that limit it. "$0" is its path.
Result run_limited(const std::string& script) { return Program("/bin/sh", {"-c", script, SOTTO_CLI}).wait(); }

TEST(SignatureProgram, VerifiesWithoutMoreThreads) {
  const Signer signer;
  write_file(signer.path("talk"), numbered_file(64 * SOTTO_SIGNATURE_BLOCK_SIZE));
  const Result is_signed = signer.sign("talk");
  // No thread can have a stack of 1 TiB.
  const Result verified = run_limited("ulimit -S -s 1073741824; exec \"$0\" verify " + shell_word(signer.path("talk")) +
                                      " -k " + signer.public_key);
  EXPECT_EQ(verified.exit_code, 0) << verified.err;
  EXPECT_EQ(verified.out, is_signed.out);
}

TEST(SignatureProgram, LeavesNoKeyThatIsIncomplete) {
  const TemporaryFolder folder;
  const std::string key = folder.file("key");
  // The message goes through a pipe, because the limit holds for all files.
  const Result result =
      run_limited("trap '' XFSZ; (ulimit -f 0; exec \"$0\" keygen -o " + shell_word(key) + ") 2>&1 | cat");
  EXPECT_EQ(result.out, kName + key + ": File too large\n");
  struct stat status;
  EXPECT_NE(stat(key.c_str(), &status), 0);
}

TEST(SignatureProgram, KeysArePrivateAndNotOverwritten) {
  const Signer signer;
  EXPECT_EQ(signer.public_key.find_first_not_of("0123456789abcdef"), std::string::npos);
  struct stat status;
  ASSERT_EQ(stat(signer.path("key").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  const std::string key = read_file(signer.path("key"));
  expect_failure(run_sotto({"keygen", "-o", signer.path("key")}), 1, signer.path("key") + ": File exists");
  EXPECT_EQ(read_file(signer.path("key")), key);
  const Result other = run_sotto({"keygen", "-o", signer.path("other")});
  EXPECT_NE(other.out.substr(0, 64), signer.public_key);
}

// A key that `openssl genpkey` writes: that of RFC 8032, section 7.1, test 1.
TEST(SignatureProgram, ReadsStandardKeys) {
  const Signer signer;
  write_file(signer.path("key"),
             "-----BEGIN PRIVATE KEY-----\n"
             "MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n"
             "-----END PRIVATE KEY-----\n");
  write_file(signer.path("talk"), numbered_file(100'000));
  const Result result = signer.sign("talk");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(read_file(signer.path("talk.sig")), Key(kPrivateKey, kPublicKey).sign(numbered_file(100'000)));
  write_file(signer.path("key.pub"), std::string(kPublicKey) + "\n");
  EXPECT_EQ(run_sotto({"verify", signer.path("talk"), "--public-key", signer.path("key.pub")}).out, result.out);
}

TEST(SignatureProgram, WritesAndReadsOtherNames) {
  const Signer signer;
  write_file(signer.path("talk"), numbered_file(100));
  ASSERT_EQ(run_sotto({"sign", signer.path("talk"), "-k", signer.path("key"), "-o", signer.path("s")}).exit_code, 0);
  expect_failure(signer.verify("talk"), 1, signer.path("talk.sig") + ": No such file");
  EXPECT_EQ(run_sotto({"verify", signer.path("talk"), "-k", signer.public_key, "-s", signer.path("s")}).exit_code, 0);
}

TEST(SignatureProgram, RejectsWrongInput) {
  const Signer signer;
  write_file(signer.path("talk"), numbered_file(100));
  write_file(signer.path("text"), "It was a dark night");
  write_file(signer.path("empty"), "");
  expect_failure(signer.sign("text"), 1, signer.path("text") + ": is not a model");
  expect_failure(signer.sign("empty"), 1, signer.path("empty"));
  expect_failure(signer.sign("missing"), 1, signer.path("missing") + ": No such file");
  expect_failure(signer.verify("talk"), 1, signer.path("talk.sig") + ": No such file");
  expect_failure(run_sotto({"sign", signer.path("talk"), "--key", signer.path("text")}), 1,
                 "not an Ed25519 private key");
  expect_failure(run_sotto({"sign", signer.path("talk")}), 2, "--key");
  ASSERT_EQ(signer.sign("talk").exit_code, 0);
  const auto verify = [&](const std::string& key) {
    return run_sotto({"verify", signer.path("talk"), "--public-key", key});
  };
  expect_failure(verify(kPublicKey), 1, signer.path("talk.sig") + ": the signature was made with another key");
  expect_failure(verify(signer.path("text")), 1, "is not a public key");
  expect_failure(verify(signer.path("missing")), 1, "No such file");
  expect_failure(verify(signer.public_key.substr(1)), 1, "No such file");
  expect_failure(run_sotto({"verify", signer.path("talk")}), 2, "--public-key");
  write_file(signer.path("talk.sig"), "SOTTOSIG");
  expect_failure(signer.verify("talk"), 1, "not a complete signature");
}

}  // namespace
}  // namespace sotto::test
