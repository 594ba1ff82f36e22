#include "platforms/command_line/system.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <iterator>
#include <new>
#include <system_error>

#if defined(_WIN32)
#  include <fcntl.h>
#  include <io.h>
#  include <process.h>

#  define NOMINMAX
#  define WIN32_LEAN_AND_MEAN
#  include <windows.h>
// After windows.h:
#  include <psapi.h>
#else
#  include <sys/ioctl.h>
#  include <sys/resource.h>
#  include <unistd.h>
#endif

namespace sotto::cli {

#if defined(_WIN32)

static void prepare_streams() {
  // The console of a terminal turns Ctrl-Z into the end and CR LF into a newline, but only in text mode.
  if (!is_terminal(stdin)) _setmode(_fileno(stdin), _O_BINARY);
  _setmode(_fileno(stdout), _O_BINARY);
  _setmode(_fileno(stderr), _O_BINARY);
  SetConsoleCP(CP_UTF8);
  SetConsoleOutputCP(CP_UTF8);
  // Lets the console interpret escape sequences.
  const HANDLE console = GetStdHandle(STD_OUTPUT_HANDLE);
  DWORD mode = 0;
  if (GetConsoleMode(console, &mode)) SetConsoleMode(console, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
}

// _isatty() is also true of other character devices, such as NUL.
bool is_terminal(FILE* stream) {
  DWORD mode = 0;
  return GetConsoleMode(reinterpret_cast<HANDLE>(_get_osfhandle(_fileno(stream))), &mode) != 0;
}

size_t terminal_columns() {
  CONSOLE_SCREEN_BUFFER_INFO info;
  if (!GetConsoleScreenBufferInfo(GetStdHandle(STD_OUTPUT_HANDLE), &info)) return 0;
  return static_cast<size_t>(info.srWindow.Right - info.srWindow.Left + 1);
}

const char* const kEndOfInputKeys = "Ctrl-Z and Enter";

uint64_t peak_resident_bytes() {
  PROCESS_MEMORY_COUNTERS counters = {};
  GetProcessMemoryInfo(GetCurrentProcess(), &counters, sizeof counters);
  return counters.PeakWorkingSetSize;
}

void catch_interrupts(void (*handler)(int signal)) {
  std::signal(SIGINT, handler);
  std::signal(SIGTERM, handler);
}

int read_byte(FILE* stream) { return _getc_nolock(stream); }

std::string replace_program(const std::string& name, char** arguments) {
  wchar_t self[32768];
  const DWORD size = GetModuleFileNameW(nullptr, self, static_cast<DWORD>(std::size(self)));
  const auto directory = std::filesystem::path(self, self + size).parent_path();
  // _execv() would return to the shell at once.
  intptr_t exit_code = _spawnv(_P_WAIT, (directory / (name + ".exe")).string().c_str(), arguments);
  if (exit_code == -1 && errno == ENOENT) exit_code = _spawnvp(_P_WAIT, name.c_str(), arguments);
  if (exit_code != -1) std::exit(static_cast<int>(exit_code));
  return name + ": " + std::strerror(errno);
}

#else

static void prepare_streams() { std::signal(SIGXFSZ, SIG_IGN); }

bool is_terminal(FILE* stream) { return isatty(fileno(stream)) != 0; }

size_t terminal_columns() {
  struct winsize size = {};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

const char* const kEndOfInputKeys = "Ctrl-D";

uint64_t peak_resident_bytes() {
  struct rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
#  ifdef __APPLE__
  return static_cast<uint64_t>(usage.ru_maxrss);  // in bytes, elsewhere in KiB
#  else
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
#  endif
}

void catch_interrupts(void (*handler)(int signal)) {
  struct sigaction action = {};  // without SA_RESTART, so that a blocked system call fails
  action.sa_handler = handler;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

int read_byte(FILE* stream) { return getc_unlocked(stream); }

std::string replace_program(const std::string& name, char** arguments) {
  std::error_code ignored;
  const auto directory = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  execv((directory / name).c_str(), arguments);
  execvp(name.c_str(), arguments);
  return name + ": " + std::strerror(errno);
}

#endif

int run_main(const char* program, const std::function<int()>& run) {
  prepare_streams();
  std::string message;
  try {
    return run();
  } catch (const std::bad_alloc&) {
    message = "not enough memory";
  } catch (const std::exception& exception) {
    message = exception.what();
  }
  std::fprintf(stderr, "%s: %s\n", program, message.c_str());
  return 1;
}

}  // namespace sotto::cli
