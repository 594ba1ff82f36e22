// Tests platforms/posix: mapped files and huge-page memory.
#include "platforms/posix/sotto_posix.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

#include "tests/cli/program.h"

namespace sotto::test {
namespace {

TEST(Posix, MapsAFileAndReleasesPages) {
  const TemporaryFolder folder;
  std::string bytes(100'001, 'x');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 7);
  write_file(folder.file("data"), bytes);
  sotto_posix_mapping mapping;
  ASSERT_EQ(sotto_posix_map_file(folder.file("data").c_str(), &mapping, nullptr, 0), 0);
  EXPECT_EQ(mapping.size, bytes.size());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(mapping.bytes) % 64, 0u);
  EXPECT_EQ(std::memcmp(mapping.bytes, bytes.data(), bytes.size()), 0);
  // Any range may be released, and its bytes stay readable.
  const char* begin = static_cast<const char*>(mapping.bytes);
  sotto_posix_release(nullptr, begin, mapping.size);
  sotto_posix_release(nullptr, begin + 5, 10);
  sotto_posix_release(nullptr, begin + 4095, 8194);
  EXPECT_EQ(std::memcmp(mapping.bytes, bytes.data(), bytes.size()), 0);
  sotto_posix_unmap_file(&mapping);
  EXPECT_EQ(mapping.bytes, nullptr);
  sotto_posix_unmap_file(&mapping);
}

TEST(Posix, MapsAPartOfAnOpenFile) {
  const TemporaryFolder folder;
  std::string bytes(100'001, 'x');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 7);
  write_file(folder.file("data"), bytes);
  char message[200] = "";
  // Offsets that are multiples of a page, of the model's alignment, and of neither, and sizes up to the end.
  for (const size_t offset : {0, 4096, 64, 65'536 + 64, 3, 100'000}) {
    for (const size_t size : {size_t{0}, size_t{1}, bytes.size() - offset}) {
      FILE* file = std::fopen(folder.file("data").c_str(), "rb");
      sotto_posix_mapping mapping;
      ASSERT_EQ(sotto_posix_map_descriptor(fileno(file), offset, size, &mapping, message, sizeof message), 0)
          << message;
      std::fclose(file);
      EXPECT_EQ(mapping.size, size == 0 ? bytes.size() - offset : size);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(mapping.bytes) % 64, 0u);
      EXPECT_EQ(mapping.copied_size > 0, offset % 64 != 0);
      EXPECT_EQ(std::memcmp(mapping.bytes, bytes.data() + offset, mapping.size), 0);
      sotto_posix_unmap_file(&mapping);
      EXPECT_EQ(mapping.bytes, nullptr);
    }
  }
  FILE* file = std::fopen(folder.file("data").c_str(), "rb");
  const std::string name = "file descriptor " + std::to_string(fileno(file));
  sotto_posix_mapping mapping;
  for (const auto& [offset, size] :
       {std::pair<uint64_t, uint64_t>{100'001, 0}, {100'001, 1}, {1, 100'001}, {5, UINT64_MAX}}) {
    EXPECT_EQ(sotto_posix_map_descriptor(fileno(file), offset, size, &mapping, message, sizeof message), EINVAL);
    EXPECT_EQ(message, name + ": the file ends before the requested bytes");
    EXPECT_EQ(mapping.bytes, nullptr);
  }
  std::fclose(file);
  EXPECT_EQ(sotto_posix_map_descriptor(-1, 0, 0, &mapping, message, sizeof message), EBADF);
}

TEST(Posix, ReportsWhyAFileCannotBeMapped) {
  const TemporaryFolder folder;
  sotto_posix_mapping mapping;
  char message[200];
  const std::string missing = folder.file("missing");
  EXPECT_EQ(sotto_posix_map_file(missing.c_str(), &mapping, message, sizeof message), ENOENT);
  EXPECT_EQ(message, missing + ": " + std::strerror(ENOENT));
  EXPECT_EQ(mapping.bytes, nullptr);
  EXPECT_EQ(sotto_posix_map_file("/", &mapping, message, sizeof message), EINVAL);
  EXPECT_STREQ(message, "/: is a directory, not a file");
  write_file(folder.file("empty"), "");
  EXPECT_EQ(sotto_posix_map_file(folder.file("empty").c_str(), &mapping, message, 10), EINVAL);
  EXPECT_EQ(std::strlen(message), 9u);
}

TEST(Posix, AllocatesAlignedZeroedMemory) {
  constexpr size_t kHuge = SOTTO_POSIX_HUGE_PAGE_SIZE;
  for (const size_t size :
       {size_t{1}, size_t{4096}, size_t{100'000}, kHuge - 1, kHuge, kHuge + 1, 5 * kHuge + 12'345}) {
    sotto_posix_memory memory;
    char message[200] = "";
    ASSERT_EQ(sotto_posix_allocate(size, &memory, message, sizeof message), 0) << message;
    EXPECT_EQ(memory.size, size);
    const auto address = reinterpret_cast<uintptr_t>(memory.bytes);
    EXPECT_EQ(address % (size >= kHuge ? kHuge : 4096), 0u);
    auto* bytes = static_cast<unsigned char*>(memory.bytes);
    for (size_t i = 0; i < size; i += 1000) ASSERT_EQ(bytes[i], 0);
    std::memset(bytes, 0xa5, size);
    sotto_posix_free(&memory);
    EXPECT_EQ(memory.bytes, nullptr);
  }
}

TEST(Posix, RejectsImpossibleSizes) {
  sotto_posix_memory memory;
  char message[200];
  EXPECT_EQ(sotto_posix_allocate(0, &memory, message, sizeof message), EINVAL);
  EXPECT_EQ(sotto_posix_allocate(SIZE_MAX, &memory, message, sizeof message), EINVAL);
  EXPECT_EQ(sotto_posix_allocate(SIZE_MAX / 2, &memory, message, sizeof message), ENOMEM);
  EXPECT_NE(std::string(message).find(std::strerror(ENOMEM)), std::string::npos);
  EXPECT_EQ(memory.bytes, nullptr);
}

}  // namespace
}  // namespace sotto::test
