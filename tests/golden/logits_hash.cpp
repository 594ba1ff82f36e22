// Prints a hash of the logits along a fixed stream of tokens, or compares it with a committed hash. The hash must be
// the same for every instruction set, number of threads and batch size.
//
//   logits_hash [--isa NAME] [--threads N] [--batch N] [--int4] [--expect FILE] HF_DIR...
//
// Without --threads and --batch it runs with 1 and 2 threads and with batches of 1, 7 and 64, whose results must agree.
// FILE contains lines that the program has printed: the name (the last component of HF_DIR), the XXH64 of
// model.safetensors, and the hash of the logits. If the weights of a model differ from those in FILE, only its own runs
// are compared. --int4 uses 4-bit weights. Exit code 77: this CPU or this build lacks the instruction set, or HF_DIR
// does not exist.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "platforms/command_line/parser.h"
#include "runtime/base/xxhash64.h"
#include "tests/golden/quantized_model.h"

namespace {

using namespace sotto;

constexpr int kSkipped = 77;

sotto_isa parse_isa(const std::string& name) {
  for (sotto_isa isa = SOTTO_ISA_AUTO; std::string_view(sotto_isa_text(isa)) != "unknown"; ++isa) {
    if (name == sotto_isa_text(isa)) return isa;
  }
  throw std::runtime_error("no instruction set is called " + name);
}

// The stream overflows the ring. Logits are taken after a prompt, after each of a few single tokens, and after a long
// prefill.
uint64_t hash_logits(const Model& model, uint32_t thread_count, uint32_t batch_tokens) {
  const uint32_t positions = model.info().max_context_tokens;
  SessionParams params;
  params.context_tokens = positions < 16 ? positions : std::clamp(positions / 2, 16u, 64u);
  params.overflow = SOTTO_OVERFLOW_RING;
  params.thread_count = thread_count;
  params.batch_tokens = std::min(batch_tokens, params.context_tokens);
  Session session = Session::create(model, params);

  uint32_t state = 1;
  uint64_t hash = 0;
  const auto feed = [&](size_t count) {
    std::vector<sotto_token> tokens(count);
    for (sotto_token& token : tokens) {
      state = state * 1664525 + 1013904223;
      token = static_cast<sotto_token>((state >> 8) % model.info().vocabulary_size);
    }
    prefill(session, tokens);
    const std::span<const float> logits = logits_of(session);
    hash = xxhash64(logits.data(), logits.size_bytes(), hash);
  };
  feed(params.context_tokens * 2 / 3);
  for (int i = 0; i < 4; ++i) feed(1);
  feed(params.context_tokens);
  return hash;
}

std::string hex(uint64_t hash) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

// Returns the committed hash of a model's logits, or an empty string if it belongs to other weights. Throws if the
// model is not named.
std::string read_expected(const std::string& path, const std::string& name, const std::string& weights) {
  std::ifstream file(path);
  std::string known_name, known_weights, hash;
  while (file >> known_name >> known_weights >> hash) {
    if (known_name != name) continue;
    if (known_weights == weights) return hash;
    std::printf("%s: other weights than those whose hash is known\n", name.c_str());
    return "";
  }
  throw std::runtime_error(path + " has no hash of " + name);
}

struct Options {
  sotto_isa isa = SOTTO_ISA_AUTO;
  uint32_t threads = 0;  // 0 for both 1 and 2
  uint32_t batch = 0;    // 0 for 1, 7 and 64
  bool int4 = false;
  std::string expect;
  std::vector<std::string> directories;
};

// Returns the number of wrong hashes.
int run_directory(const Options& options, const std::filesystem::path& directory) {
  const WeightKind weight_kind = options.int4 ? WeightKind::kInt4 : WeightKind::kInt8;
  const Model model = convert_model(directory, weight_kind, options.isa);
  const std::vector<uint8_t> checkpoint = read_bytes(directory / "model.safetensors");
  const std::string name = directory.filename().string();
  const std::string weights = hex(xxhash64(checkpoint.data(), checkpoint.size()));
  std::string expected = options.expect.empty() ? "" : read_expected(options.expect, name, weights);
  const auto choices = [](uint32_t chosen, std::vector<uint32_t> all) {
    return chosen == 0 ? all : std::vector<uint32_t>{chosen};
  };
  int wrong_count = 0;
  for (const uint32_t threads : choices(options.threads, {1, 2})) {
    for (const uint32_t batch : choices(options.batch, {1, 7, 64})) {
      const std::string hash = hex(hash_logits(model, threads, batch));
      if (expected.empty()) expected = hash;
      const char* verdict = hash == expected ? "" : ": expected ";
      std::printf("%s %s %s  %s, threads %u, batch %u%s%s\n", name.c_str(), weights.c_str(), hash.c_str(),
                  sotto_isa_text(model.info().isa), threads, batch, verdict, hash == expected ? "" : expected.c_str());
      wrong_count += hash != expected;
    }
  }
  return wrong_count;
}

bool is_supported(sotto_isa isa, const std::filesystem::path& directory) {
  try {
    const Model model = convert_model(directory, WeightKind::kInt8, isa);
    return true;
  } catch (const Error& error) {
    if (error.status() != SOTTO_CPU_UNSUPPORTED) throw;
    std::printf("%s\n", error.what());
    return false;
  }
}

int run(const Options& options) {
  int run_count = 0;
  int wrong_count = 0;
  for (const std::filesystem::path directory : options.directories) {
    if (!std::filesystem::exists(directory / "config.json")) continue;
    if (run_count == 0 && !is_supported(options.isa, directory)) return kSkipped;
    wrong_count += run_directory(options, directory);
    ++run_count;
  }
  if (run_count == 0) return kSkipped;
  return wrong_count == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  std::string isa = "auto";
  cli::Command command("logits_hash", "Hash of the logits along a fixed stream of tokens");
  cli::add_value(command, "--isa", isa, "instruction set", "NAME");
  cli::add_value(command, "--threads", options.threads, "threads; 0: both 1 and 2", "N");
  cli::add_value(command, "--batch", options.batch, "tokens per batch; 0: 1, 7 and 64", "N");
  command.add_flag("--int4", options.int4, "weights of 4 bits");
  command.add_option("--expect", options.expect, "file of expected hashes").metavar("FILE");
  command.add_option("HF_DIR", options.directories, "checkpoints").required();
  if (const std::optional<int> exit_code = cli::parse_command_line(command, argc, argv)) return *exit_code;
  try {
    options.isa = parse_isa(isa);
    return run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "logits_hash: %s\n", error.what());
    return 1;
  }
}
