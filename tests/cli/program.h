// Runs the built program sotto as a user would, with files for its three streams.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/files.h"

namespace sotto::test {

struct Result {
  int exit_code;  // -N if signal N ended the program
  std::string out;
  std::string err;
};

// A running program, which SIGALRM ends if it takes two minutes.
class Program {
 public:
  Program(const std::string& path, const std::vector<std::string>& arguments, const std::string& input = "");
  size_t output_size() const;  // until now
  void interrupt();            // as Ctrl-C does
  Result wait();

 private:
  using File = std::unique_ptr<FILE, int (*)(FILE*)>;
  File input_;
  File out_;
  File err_;
  pid_t process_;
};

// Runs `sotto ARGUMENTS`.
Result run_sotto(const std::vector<std::string>& arguments, const std::string& input = "");

// Runs `sotto COMMAND -m DEMO_MODEL ARGUMENTS`. Adds --seed 0 to commands that sample, unless a seed is given.
Result run_on_demo(const std::string& command, const std::vector<std::string>& arguments,
                   const std::string& input = "");

// Expects success and no output on standard error, and parses standard output.
nlohmann::json json_of(const Result& result);

// Expects exit code `exit_code`, nothing on standard output, and a message
// "sotto: ..." that contains `part`.
void expect_refused(const Result& result, int exit_code, const std::string& part);

// Quotes any text as one word of a shell command.
std::string shell_word(const std::string& text);

void write_file(const std::string& path, const std::string& bytes);

// A folder that is removed at the end of the test.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string file(const std::string& name) const { return path_ + '/' + name; }

 private:
  std::string path_;
};

}  // namespace sotto::test
