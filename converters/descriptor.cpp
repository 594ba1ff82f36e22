#include "converters/descriptor.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#if defined(_WIN32)
#  include <io.h>
#  include <process.h>

#  define NOMINMAX
#  define WIN32_LEAN_AND_MEAN
#  include <windows.h>
#else
#  include <unistd.h>
#endif

namespace sotto::descriptor {

#if defined(_WIN32)

namespace {

int64_t fail() {
  const DWORD error = GetLastError();
  errno = error == ERROR_ACCESS_DENIED ? EACCES : error == ERROR_DISK_FULL ? ENOSPC : EIO;
  return -1;
}

HANDLE handle_of(int descriptor) { return reinterpret_cast<HANDLE>(_get_osfhandle(descriptor)); }

// Returns the offset in the form that ReadFile() and WriteFile() take.
OVERLAPPED place(uint64_t offset) {
  OVERLAPPED at = {};
  at.Offset = static_cast<DWORD>(offset);
  at.OffsetHigh = static_cast<DWORD>(offset >> 32);
  return at;
}

}  // namespace

int open_to_read(const std::filesystem::path& path) {
  return _wopen(path.c_str(), _O_RDONLY | _O_BINARY | _O_NOINHERIT);
}

int create(const std::filesystem::path& path) {
  return _wopen(path.c_str(), _O_RDWR | _O_CREAT | _O_EXCL | _O_BINARY | _O_NOINHERIT, _S_IREAD | _S_IWRITE);
}

void close(int descriptor) { _close(descriptor); }

bool is_regular_file(int descriptor, uint64_t* size) {
  LARGE_INTEGER length;
  const HANDLE handle = handle_of(descriptor);
  if (GetFileType(handle) != FILE_TYPE_DISK || !GetFileSizeEx(handle, &length)) return false;
  *size = static_cast<uint64_t>(length.QuadPart);
  return true;
}

int64_t read_at(int descriptor, uint64_t offset, void* bytes, size_t size) {
  OVERLAPPED at = place(offset);
  DWORD done = 0;
  if (ReadFile(handle_of(descriptor), bytes, static_cast<DWORD>(size), &done, &at)) return done;
  return GetLastError() == ERROR_HANDLE_EOF ? 0 : fail();
}

int64_t write_at(int descriptor, uint64_t offset, const void* bytes, size_t size) {
  OVERLAPPED at = place(offset);
  DWORD done = 0;
  return WriteFile(handle_of(descriptor), bytes, static_cast<DWORD>(size), &done, &at) ? done : fail();
}

bool make_durable(int descriptor) { return _commit(descriptor) == 0; }

int process_id() { return _getpid(); }

#else

int open_to_read(const std::filesystem::path& path) { return open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); }

int create(const std::filesystem::path& path) {
  return open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
}

void close(int descriptor) { ::close(descriptor); }

bool is_regular_file(int descriptor, uint64_t* size) {
  struct stat status;
  if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) return false;
  *size = static_cast<uint64_t>(status.st_size);
  return true;
}

int64_t read_at(int descriptor, uint64_t offset, void* bytes, size_t size) {
  return pread(descriptor, bytes, size, static_cast<off_t>(offset));
}

int64_t write_at(int descriptor, uint64_t offset, const void* bytes, size_t size) {
  return pwrite(descriptor, bytes, size, static_cast<off_t>(offset));
}

bool make_durable(int descriptor) { return fsync(descriptor) == 0; }

int process_id() { return getpid(); }

#endif

}  // namespace sotto::descriptor
