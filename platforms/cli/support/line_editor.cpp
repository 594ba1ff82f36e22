#include "platforms/cli/support/line_editor.h"

#include <cstdlib>
#include <string_view>
#include <utility>

#include "platforms/cli/support/output.h"

#if SOTTO_HAS_LIBEDIT
#  include <clocale>
#  include <cstring>
#  include <memory>

#  include <editline/readline.h>
#endif

namespace sotto::cli {
namespace {

constexpr char kPrompt[] = "> ";

#if SOTTO_HAS_LIBEDIT

std::vector<std::string> completed_names;  // the library calls back without user data

// Returns the names that begin with `text`, one per call; `state` is 0 in the first call.
char* next_completion(const char* text, int state) {
  static size_t next;
  if (state == 0) next = 0;
  while (next < completed_names.size()) {
    const std::string& name = completed_names[next++];
    if (name.starts_with(text)) return strdup(name.c_str());
  }
  return nullptr;
}

char** complete(const char* text, int begin, int) {
  rl_attempted_completion_over = 1;  // no names of files
  return begin == 0 ? rl_completion_matches(text, next_completion) : nullptr;
}

// Returns whether the terminal has cursor keys. If it has, sets up the library.
bool set_up(std::vector<std::string> names) {
  const char* terminal = std::getenv("TERM");
  if (terminal == nullptr || *terminal == '\0' || std::string_view(terminal) == "dumb") return false;
  // The library reads bytes above 127 only in a locale with multibyte characters.
  if (std::setlocale(LC_CTYPE, "") == nullptr || MB_CUR_MAX == 1) std::setlocale(LC_CTYPE, "C.UTF-8");
  completed_names = std::move(names);
  rl_readline_name = "sotto";
  rl_attempted_completion_function = complete;
  return true;
}

bool edit(std::string& line) {
  // The bytes 1 and 2 enclose escape codes, which take no columns. libedit shows them together with the character after
  // them.
  const char* prompt = std::getenv("NO_COLOR") == nullptr ? "\1\033[1m\2>\1\033[0m\2 " : kPrompt;
  const std::unique_ptr<char, decltype(&std::free)> text(readline(prompt), std::free);
  if (text == nullptr) return false;
  line = text.get();
  if (!line.empty()) add_history(line.c_str());
  return true;
}

#else

bool set_up(const std::vector<std::string>&) { return false; }
bool edit(std::string&) { return false; }

#endif

}  // namespace

LineEditor::LineEditor(std::vector<std::string> names) : edits_(set_up(std::move(names))) {}

bool LineEditor::read(const Input& input, uint64_t number, std::string& line) const {
  if (edits_) return edit(line);
  OutputWriter().write_bold(kPrompt);
  return read_line(input, number, line);
}

}  // namespace sotto::cli
