// The commands of sotto-convert, one function each, and functions that several of them need.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "converters/commands/arguments.h"
#include "converters/model_writer.h"
#include "converters/readers/checkpoint.h"
#include "converters/tokenizers/reader.h"

namespace sotto {

// The largest text for calibration and evaluation.
inline constexpr uint64_t kMaxTextBytes = uint64_t{1} << 30;

// Writes a .sotto file, or only its summary with --dry-run.
void convert(const Arguments& arguments);
// Writes a file of another format (--export).
void export_model(const Arguments& arguments);
// Compares the file with the checkpoint and prints the result (--verify). Returns whether the file was made from these
// weights.
bool verify_model(const Arguments& arguments);
// Compares quantized models with float32 on a text (--evaluate, --compare).
void measure(const Arguments& arguments);

// Prints the errors that other numbers of bits would cause (--simulate).
void simulate(const Arguments& arguments);

// Rejects an output that exists and may not be replaced.
void check_output(const Arguments& arguments);
// Opens the checkpoint, or the synthetic one.
std::unique_ptr<Checkpoint> open_input(const Arguments& arguments);
// Returns the tokenizer of the checkpoint, or of --vocab, and adds its notes.
std::optional<TokenizerData> read_tokenizer(const Arguments& arguments, const CheckpointInfo& info,
                                            std::vector<std::string>& notes);

// These return the effort and the tokens that a value of --calibrate stands for.
CalibrationEffort effort_of(const std::string& calibration);
std::vector<TokenWindow> calibration_windows(const std::string& calibration, const Checkpoint& checkpoint,
                                             const WriteOptions& options);

// Writes to standard output.
void print(const std::string& text);
void print_notes(const std::vector<std::string>& notes);

}  // namespace sotto
