// Files of the tests: the shared test data, whole files, and temporary directories.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

namespace sotto::test {

// Returns the directory of larger test data, which are not in the repository: SOTTO_TEST_DATA, or shared/data next to
// the source tree.
inline std::filesystem::path shared_data() {
  const char* named = std::getenv("SOTTO_TEST_DATA");
  if (named != nullptr) return named;
  return std::filesystem::path(SOTTO_SOURCE_DIR).parent_path() / "shared/data";
}

// Skips the test unless shared_data() has the file or directory `name`.
#define SOTTO_REQUIRE_DATA(name)                                       \
  if (!std::filesystem::exists(::sotto::test::shared_data() / (name))) \
  GTEST_SKIP() << (name) << " is missing in " << ::sotto::test::shared_data().string() << "; set SOTTO_TEST_DATA"

// Returns the bytes of a file. Throws if it cannot be read.
inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(file), {}};
}

// An empty directory that is removed with the object.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "sotto-test-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary directory");
    path_ = pattern;
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

}  // namespace sotto::test
