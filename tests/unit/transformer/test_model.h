// A model with random weights, made by the converter and loaded as the runtime does, and a
// context over it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "converters/readers/float_model.h"
#include "runtime/model/model.h"
#include "runtime/transformer/context.h"

namespace sotto {

// The instruction set named by SOTTO_TEST_ISA, or kAuto. Throws on an unknown name.
Isa isa_of_environment();

// 64-byte aligned bytes, all zero.
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
  // Weights are normal(0, 0.02) times `gain`. No end of text unless given.
  explicit TestModel(const ModelShape& shape, uint64_t seed = 1, Isa isa = Isa::kAuto, float gain = 1,
                     int32_t end_of_text = -1);
  // The bytes of a .sotto file.
  explicit TestModel(const std::vector<uint8_t>& file, Isa isa = Isa::kAuto);

  const Model& get() const { return *model_; }

 private:
  void init(const std::vector<uint8_t>& file, Isa isa);

  std::unique_ptr<TestMemory> file_;
  std::unique_ptr<TestMemory> memory_;
  Model* model_ = nullptr;
};

struct TestContext {
  TestContext(const Model& model, const ContextParams& params);

  TestMemory memory;
  Context context;
};

}  // namespace sotto
