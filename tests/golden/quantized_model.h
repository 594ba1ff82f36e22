// Converted checkpoints in the runtime, through the C++ binding.
#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <sotto.hpp>
#include <span>
#include <vector>

#include "tests/golden/golden_support.h"

namespace sotto {

inline Model open_model(const std::vector<uint8_t>& file, sotto_isa isa = SOTTO_ISA_AUTO) {
  Memory memory(file.size());
  std::memcpy(memory.data(), file.data(), file.size());
  ModelParams params;
  params.isa = isa;
  return Model::from_memory(std::move(memory), params);
}

inline Model convert_model(const std::filesystem::path& directory, WeightKind weights = WeightKind::kInt8,
                           sotto_isa isa = SOTTO_ISA_AUTO) {
  return open_model(convert_checkpoint(directory, weights), isa);
}

// Returns the logits after the last token, valid until the session's next call.
inline std::span<const float> logits_of(Session& session) {
  const View<const float> logits = session.logits();
  return {logits.data(), logits.size()};
}

inline void prefill(Session& session, std::span<const int32_t> tokens) {
  const Status status = session.prefill({tokens.data(), tokens.size()});
  if (status != Status::ok) throw Error(static_cast<sotto_status>(status));
}

// Returns the logits (token, vocabulary) of a window.
inline std::vector<float> quantized_logits(const Model& model, std::span<const int32_t> tokens) {
  Session session = Session::create(model);
  std::vector<float> logits;
  for (size_t t = 0; t < tokens.size(); ++t) {
    prefill(session, tokens.subspan(t, 1));
    const std::span<const float> row = logits_of(session);
    logits.insert(logits.end(), row.begin(), row.end());
  }
  return logits;
}

}  // namespace sotto
