// Functions of the operating system that the standard library lacks: terminals, interrupts, the memory of the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>

namespace sotto::cli {

// Calls `run` for main(). An exception becomes a line on standard error, and 1 is returned. The standard streams carry
// the program's bytes unchanged, a console of Windows shows UTF-8, and a write beyond the limit of files fails instead
// of ending the program.
int run_main(const char* program, const std::function<int()>& run);

bool is_terminal(FILE* stream);

// Returns the number of columns of the terminal at standard output, or 0 if it is unknown.
size_t terminal_columns();

// The keys that end the input at the start of a line of the terminal.
extern const char* const kEndOfInputKeys;

// Returns the largest amount of memory that the process has used until now.
uint64_t peak_resident_bytes();

// Calls a function when Ctrl-C is pressed or the process is asked to end. A blocked system call then fails instead of
// being restarted, so that the program can react.
void catch_interrupts(void (*handler)(int signal));

// Reads a byte, or returns EOF, without locking the stream.
int read_byte(FILE* stream);

// Replaces this program by another one, from the same directory or else from PATH. Returns a message if that fails.
std::string replace_program(const std::string& name, char** arguments);

}  // namespace sotto::cli
