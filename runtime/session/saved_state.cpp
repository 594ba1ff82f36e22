#include "runtime/session/saved_state.h"

#include <cmath>
#include <cstring>

#include "runtime/base/xxhash64.h"

namespace sotto {
namespace {

Status mismatch(const char* name, uint64_t saved, uint64_t own, Error* error) {
  return fail(error, Status::kInvalidArgument, name, " of the saved state is ", saved, ", the session's ", own);
}

Status corrupt(const char* what, uint64_t offset, Error* error) {
  return fail_at(error, Status::kStateCorrupt, offset, what);
}

}  // namespace

uint64_t model_fingerprint(const Model& model) {
  const ModelConfig& config = model.config();
  uint64_t hash = 0;
  const auto add = [&](uint64_t value) {
    value = little_endian(value);
    hash = xxhash64(&value, sizeof value, hash);
  };
  for (const uint32_t value : {config.vocabulary_size, config.position_count, config.embedding_size, config.head_count,
                               config.head_size, config.feed_forward_size, config.layer_count}) {
    add(value);
  }
  add(static_cast<uint64_t>(config.activation));
  for (size_t i = 0; i < model.view().linear_count(); ++i) {
    add(model.view().linear_bytes(i).checksum);
  }
  add(model.view().token_embedding_bytes().checksum);
  return hash;
}

SavedHeader make_header(const Model& model, const SessionParams& params) {
  SavedHeader header;
  header.fingerprint = model_fingerprint(model);
  header.context_tokens = params.context_tokens;
  header.sink_tokens = params.sink_tokens;
  header.overflow = static_cast<int32_t>(params.overflow);
  header.features = params.features & kFeatureHiddenHistory;
  return header;
}

void write_header(const SavedHeader& header, ByteWriter* writer) {
  writer->put_array(SavedHeader::kMagic, sizeof SavedHeader::kMagic);
  writer->put(SavedHeader::kVersion);
  writer->put(uint32_t{0});
  writer->put(header.size);
  writer->put(header.fingerprint);
  writer->put(header.context_tokens);
  writer->put(header.sink_tokens);
  writer->put(header.overflow);
  writer->put(header.features);
}

Status check_saved(std::span<const uint8_t> bytes, const SavedHeader& expected, Error* error) {
  if (bytes.size() < kSavedHeaderSize + SavedHeader::kChecksumSize) {
    return corrupt("shorter than a saved state's header", bytes.size(), error);
  }
  ByteReader reader(bytes);
  uint8_t magic[sizeof SavedHeader::kMagic];
  reader.get_array(magic, sizeof magic);
  if (std::memcmp(magic, SavedHeader::kMagic, sizeof magic) != 0) {
    return corrupt("not a saved state: its first bytes are not SOTTOSES", 0, error);
  }
  const auto version = reader.get<uint32_t>();
  if (version != SavedHeader::kVersion) {
    return fail_at(error, Status::kStateCorrupt, sizeof magic, "version ", version, "; this library reads version ",
                   SavedHeader::kVersion);
  }
  if (reader.get<uint32_t>() != 0) return corrupt("the header is damaged", 12, error);
  const auto size = reader.get<uint64_t>();
  if (size != bytes.size()) {
    return fail_at(error, Status::kStateCorrupt, bytes.size(), "has ", bytes.size(), " bytes, should have ", size);
  }
  const size_t hashed = bytes.size() - SavedHeader::kChecksumSize;
  ByteReader tail(bytes.subspan(hashed));
  if (tail.get<uint64_t>() != xxhash64(bytes.data(), hashed)) {
    return corrupt("does not have its checksum", hashed, error);
  }
  if (reader.get<uint64_t>() != expected.fingerprint) {
    return fail(error, Status::kInvalidArgument, "the saved state is of another model");
  }
  const auto context_tokens = reader.get<uint32_t>();
  if (context_tokens != expected.context_tokens) {
    return mismatch("context_tokens", context_tokens, expected.context_tokens, error);
  }
  const auto sink_tokens = reader.get<uint32_t>();
  if (sink_tokens != expected.sink_tokens) {
    return mismatch("sink_tokens", sink_tokens, expected.sink_tokens, error);
  }
  const auto overflow = reader.get<uint32_t>();
  if (overflow != static_cast<uint32_t>(expected.overflow)) {
    return mismatch("overflow", overflow, static_cast<uint32_t>(expected.overflow), error);
  }
  const auto features = reader.get<uint32_t>();
  if (features == expected.features) return Status::kOk;
  return mismatch("features", features, expected.features, error);
}

void write_state(const TokenState& state, ByteWriter* writer) {
  constexpr uint16_t kKept = TokenState::kGenerated | TokenState::kAnswerEnd | TokenState::kTextEnd;
  writer->put(state.sampler.mirostat_mu);
  writer->put(state.sampler.adaptive_sum);
  writer->put(state.sampler.adaptive_weight);
  writer->put(state.sampler.top_p_step);
  writer->put(state.untaken);
  writer->put(static_cast<uint16_t>(state.flags & kKept));
}

TokenState read_state(ByteReader* reader) {
  TokenState state;
  state.sampler.mirostat_mu = reader->get<float>();
  state.sampler.adaptive_sum = reader->get<float>();
  state.sampler.adaptive_weight = reader->get<float>();
  state.sampler.top_p_step = reader->get<uint32_t>();
  state.untaken = reader->get<uint16_t>();
  state.flags = reader->get<uint16_t>();
  constexpr uint16_t kKept = TokenState::kGenerated | TokenState::kAnswerEnd | TokenState::kTextEnd;
  if (!std::isfinite(state.sampler.mirostat_mu) || !std::isfinite(state.sampler.adaptive_sum) ||
      !std::isfinite(state.sampler.adaptive_weight) || (state.flags & ~kKept) != 0 ||
      state.untaken > StringMatcher::kMaxStringBytes) {
    reader->fail();
  }
  return state;
}

void write_held(const HeldToken& held, ByteWriter* writer) {
  writer->put(held.log_probability);
  writer->put(held.sampled_log_probability);
  writer->put(held.alternative_count);
  for (size_t i = 0; i < held.alternative_count; ++i) {
    writer->put(held.alternatives[i].token);
    writer->put(held.alternatives[i].log_probability);
  }
}

void read_held(uint32_t vocabulary_size, ByteReader* reader, HeldToken* held) {
  held->log_probability = reader->get<float>();
  held->sampled_log_probability = reader->get<float>();
  held->alternative_count = reader->get<uint32_t>();
  held->elapsed_ns = 0;
  if (held->alternative_count > kMaxAlternatives) {
    held->alternative_count = 0;
    reader->fail();
  }
  for (size_t i = 0; i < held->alternative_count; ++i) {
    held->alternatives[i].token = reader->get<int32_t>();
    held->alternatives[i].log_probability = reader->get<float>();
    if (static_cast<uint32_t>(held->alternatives[i].token) >= vocabulary_size) reader->fail();
  }
}

}  // namespace sotto
