#include "tests/unit/transformer/test_model.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include "converters/model_writer.h"
#include "converters/readers/synthetic.h"

namespace sotto {
namespace {

void require(Status status, const Error& error) {
  if (status != Status::kOk) throw std::runtime_error(error.message);
}

// Synthetic weights, larger than in an untrained model, so that texts differ more.
class LoudCheckpoint final : public Checkpoint {
 public:
  LoudCheckpoint(const ModelShape& shape, uint64_t seed, float gain, int32_t end_of_text)
      : Checkpoint(SyntheticCheckpoint("test", shape, seed).info()), quiet_("test", shape, seed), gain_(gain) {
    info_.end_of_text_token = end_of_text;
  }

  std::vector<float> positions() const override { return loud(quiet_.positions()); }
  std::vector<float> token_embedding() const override { return loud(quiet_.token_embedding()); }
  FloatLayer layer(uint32_t index) const override {
    FloatLayer layer = quiet_.layer(index);
    for (FloatLinear* linear :
         {&layer.attention_qkv, &layer.attention_output, &layer.feed_forward_up, &layer.feed_forward_down}) {
      linear->weights = loud(linear->weights);
    }
    return layer;
  }
  FloatNorm final_norm() const override { return quiet_.final_norm(); }
  FloatLinear head() const override { return quiet_.head(); }

 private:
  std::vector<float> loud(std::vector<float> x) const {
    for (float& value : x) value *= gain_;
    return x;
  }

  SyntheticCheckpoint quiet_;
  float gain_;
};

}  // namespace

Isa isa_of_environment() {
  const char* name = std::getenv("SOTTO_TEST_ISA");
  if (name == nullptr) return Isa::kAuto;
  for (int32_t i = 0; std::strcmp(isa_name(static_cast<Isa>(i)), "unknown") != 0; ++i) {
    if (std::strcmp(name, isa_name(static_cast<Isa>(i))) == 0) return static_cast<Isa>(i);
  }
  throw std::runtime_error(std::string("no instruction set is called ") + name);
}

TestModel::TestModel(const ModelShape& shape, uint64_t seed, Isa isa, float gain, int32_t end_of_text) {
  const auto path = std::filesystem::temp_directory_path() / ("sotto-unit-test-" + std::to_string(getpid()) + ".sotto");
  write_model(LoudCheckpoint(shape, seed, gain, end_of_text), path, {});
  std::ifstream stream(path, std::ios::binary);
  std::vector<uint8_t> bytes(std::filesystem::file_size(path));
  stream.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  std::filesystem::remove(path);
  init(bytes, isa);
}

TestModel::TestModel(const std::vector<uint8_t>& file, Isa isa) { init(file, isa); }

void TestModel::init(const std::vector<uint8_t>& file, Isa isa) {
  file_ = std::make_unique<TestMemory>(file.size());
  std::memcpy(file_->data(), file.data(), file.size());
  ModelParams params;
  params.isa = isa;
  Error error;
  size_t size = 0;
  require(Model::memory_size(file_->data(), file.size(), params, &size, &error), error);
  memory_ = std::make_unique<TestMemory>(size);
  require(Model::init(file_->data(), file.size(), params, memory_->data(), size, &model_, &error), error);
}

TestSequence::TestSequence(const Model& model, SessionParams params)
    : memory([&] {
        if (params.sink_tokens == UINT32_MAX) params.sink_tokens = 0;
        Arena measure;
        KvSequence().layout(measure, model.config(), {params});
        Beams().layout(measure, params.sequence_count, params.sequence_tokens, nullptr);
        return measure.size();
      }()) {
  Arena arena(memory.data());
  sequence.layout(arena, model.config(), {params});
  beams.layout(arena, params.sequence_count, params.sequence_tokens, &sequence);
  sequence.init(model, nullptr);
}

}  // namespace sotto
