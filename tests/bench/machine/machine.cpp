#include "tests/bench/machine/machine.h"

#include <sys/utsname.h>
#include <unistd.h>
#if defined(__APPLE__)
#  include <sys/sysctl.h>
#endif
#if defined(__linux__)
#  include <elf.h>
#endif

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <thread>

#include "tests/bench/models/child.h"

namespace sotto::bench {
namespace {

std::string cpu_name() {
#if defined(__APPLE__)
  char name[256] = {};
  size_t size = sizeof name - 1;
  sysctlbyname("machdep.cpu.brand_string", name, &size, nullptr, 0);
  return name;
#else
  std::ifstream cpus("/proc/cpuinfo");
  for (std::string line; std::getline(cpus, line);) {
    const size_t colon = line.find(": ");
    const bool names = line.starts_with("model name") || line.starts_with("Model");
    if (names && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
#endif
}

// Returns the current setting, which the file shows in brackets: "always [madvise] never".
std::string transparent_huge_pages() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string text;
  std::getline(file, text);
  const size_t open = text.find('['), close = text.find(']');
  if (open == std::string::npos || close == std::string::npos) return "unavailable";
  return text.substr(open + 1, close - open - 1);
}

#if defined(__linux__)
// Returns the end of the last loaded segment of an ELF64 file, or 0 for other files.
uint64_t loaded_size(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  Elf64_Ehdr header = {};
  file.read(reinterpret_cast<char*>(&header), sizeof header);
  if (!file || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64) {
    return 0;
  }
  uint64_t size = 0;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr part = {};
    file.seekg(static_cast<std::streamoff>(header.e_phoff + i * sizeof part));
    file.read(reinterpret_cast<char*>(&part), sizeof part);
    if (file && part.p_type == PT_LOAD) size = std::max(size, part.p_offset + part.p_filesz);
  }
  return size;
}
#endif

}  // namespace

nlohmann::ordered_json describe_machine(Pages pages) {
  utsname system = {};
  uname(&system);
  double load[1] = {};
  nlohmann::ordered_json load_average = nullptr;
  if (getloadavg(load, 1) == 1) load_average = std::round(load[0] * 100) / 100;
  return {{"cpu", cpu_name()},
          {"architecture", system.machine},
          {"system", std::string(system.sysname) + ' ' + system.release},
          {"cores", std::thread::hardware_concurrency()},
          {"page_size", sysconf(_SC_PAGESIZE)},
          {"transparent_huge_pages", transparent_huge_pages()},
          {"pages", pages == Pages::kHuge ? "huge" : "small"},
          {"load_average", load_average}};
}

std::optional<uint64_t> library_size() {
  const auto folder = std::filesystem::path(program_path()).parent_path().parent_path() / "lib";
  for (const char* name : {"libsotto.so.1", "libsotto.1.dylib"}) {
    std::error_code failure;
    const auto path = folder / name;
    const uint64_t size = std::filesystem::file_size(path, failure);
    if (failure) continue;
#if defined(__linux__)
    if (const uint64_t loaded = loaded_size(path); loaded > 0) return loaded;
#endif
    return size;
  }
  return std::nullopt;
}

}  // namespace sotto::bench
