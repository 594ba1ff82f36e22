// A sampler without a session that owns its memory.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "tests/memory/support.h"

namespace sotto {

class OpenSampler {
 public:
  explicit OpenSampler(size_t vocabulary_size, uint32_t list_bytes = 0, const sotto_model* model = nullptr) {
    size_t size = 0;
    EXPECT_EQ(sotto_sampler_memory_size(vocabulary_size, list_bytes, &size, nullptr), SOTTO_OK);
    memory_ = std::make_unique<AlignedBytes>(size, 0xEE);  // no code may rely on zeros
    EXPECT_EQ(sotto_sampler_init(model, vocabulary_size, list_bytes, memory_->data(), size, &sampler_, nullptr),
              SOTTO_OK);
  }
  OpenSampler(const OpenSampler&) = delete;
  OpenSampler& operator=(const OpenSampler&) = delete;

  sotto_sampler* get() { return sampler_; }

 private:
  std::unique_ptr<AlignedBytes> memory_;
  sotto_sampler* sampler_ = nullptr;
};

}  // namespace sotto
