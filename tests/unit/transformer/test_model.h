// A model with random weights, written by the converter and loaded by the runtime, and a KvSequence over it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "converters/readers/checkpoint.h"
#include "runtime/model/model.h"
#include "runtime/transformer/beams.h"

namespace sotto {

// Returns the instruction set that SOTTO_TEST_ISA names, or kAuto. Throws on an unknown name.
Isa isa_of_environment();

// Zeroed memory aligned to 64 bytes.
class TestMemory {
 public:
  explicit TestMemory(size_t size) : storage_(size + kMemoryAlignment) {}
  void* data() {
    const auto address = reinterpret_cast<uintptr_t>(storage_.data());
    return storage_.data() + (kMemoryAlignment - address % kMemoryAlignment);
  }

 private:
  std::vector<uint8_t> storage_;
};

class TestModel {
 public:
  // Weights are drawn from normal(0, 0.02) times `gain`. Without `end_of_text` the model has no such token.
  explicit TestModel(const ModelShape& shape, uint64_t seed = 1, Isa isa = Isa::kAuto, float gain = 1,
                     int32_t end_of_text = -1);
  // `file` holds the bytes of a .sotto file.
  explicit TestModel(const std::vector<uint8_t>& file, Isa isa = Isa::kAuto);

  const Model& get() const { return *model_; }

 private:
  void init(const std::vector<uint8_t>& file, Isa isa);

  std::unique_ptr<TestMemory> file_;
  std::unique_ptr<TestMemory> memory_;
  Model* model_ = nullptr;
};

struct TestSequence {
  // By default, there are no sinks.
  TestSequence(const Model& model, SessionParams params);

  TestMemory memory;
  KvSequence sequence;
  Beams beams;
};

}  // namespace sotto
