// Runs the built program sotto as a user would.
#include "tests/cli/program.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace sotto::test {
namespace {

constexpr unsigned kMaxSeconds = 120;

// The tests use no defaults of the person who runs them.
[[maybe_unused]] const bool kHasNoDefaults = unsetenv("SOTTO_MODEL") == 0 && setenv("SOTTO_CONFIG", "", 1) == 0;

std::string contents(FILE* file) {
  std::rewind(file);
  std::string text;
  char buffer[4096];
  size_t size;
  while ((size = std::fread(buffer, 1, sizeof buffer, file)) > 0) text.append(buffer, size);
  return text;
}

[[noreturn]] void become(const std::string& path, const std::vector<std::string>& arguments) {
  std::vector<char*> words = {const_cast<char*>(path.c_str())};
  for (const std::string& argument : arguments) {
    words.push_back(const_cast<char*>(argument.c_str()));
  }
  words.push_back(nullptr);
  execv(path.c_str(), words.data());
  _exit(127);
}

}  // namespace

Program::Program(const std::string& path, const std::vector<std::string>& arguments, const std::string& input)
    : input_(std::tmpfile(), std::fclose), out_(std::tmpfile(), std::fclose), err_(std::tmpfile(), std::fclose) {
  if (!input_ || !out_ || !err_) throw std::runtime_error("no temporary files");
  std::fwrite(input.data(), 1, input.size(), input_.get());
  std::rewind(input_.get());
  process_ = fork();
  if (process_ < 0) throw std::runtime_error("no new process");
  if (process_ == 0) {
    dup2(fileno(input_.get()), STDIN_FILENO);
    dup2(fileno(out_.get()), STDOUT_FILENO);
    dup2(fileno(err_.get()), STDERR_FILENO);
    signal(SIGINT, SIG_DFL);  // a background shell passes SIG_IGN on to its children
    alarm(kMaxSeconds);
    become(path, arguments);
  }
}

size_t Program::output_size() const {
  struct stat status = {};
  fstat(fileno(out_.get()), &status);
  return static_cast<size_t>(status.st_size);
}

void Program::interrupt() { kill(process_, SIGINT); }

Result Program::wait() {
  int status = 0;
  waitpid(process_, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), contents(out_.get()), contents(err_.get())};
}

Result run_sotto(const std::vector<std::string>& arguments, const std::string& input) {
  return Program(SOTTO_CLI, arguments, input).wait();
}

Result run_on_demo(const std::string& command, const std::vector<std::string>& arguments, const std::string& input) {
  std::vector<std::string> all = {command, "-m", SOTTO_DEMO_MODEL};
  const auto is_seed = [](const std::string& word) { return word == "-s" || word.starts_with("--seed"); };
  const bool has_seed = std::any_of(arguments.begin(), arguments.end(), is_seed);
  if ((command == "generate" || command == "chat") && !has_seed) all.insert(all.end(), {"--seed", "0"});
  all.insert(all.end(), arguments.begin(), arguments.end());
  return run_sotto(all, input);
}

nlohmann::json json_of(const Result& result) {
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err, "");
  return nlohmann::json::parse(result.out);
}

void expect_refused(const Result& result, int exit_code, const std::string& part) {
  EXPECT_EQ(result.exit_code, exit_code) << result.err;
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err.rfind("sotto: ", 0), 0u) << result.err;
  EXPECT_NE(result.err.find(part), std::string::npos) << result.err << "lacks: " << part;
}

std::string shell_word(const std::string& text) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + '\'';
}

void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

TemporaryFolder::TemporaryFolder() : path_(testing::TempDir() + "sotto-XXXXXX") {
  if (mkdtemp(path_.data()) == nullptr) throw std::runtime_error("no temporary folder");
}

TemporaryFolder::~TemporaryFolder() { std::filesystem::remove_all(path_); }

}  // namespace sotto::test
