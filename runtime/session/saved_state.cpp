#include "runtime/session/saved_state.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "runtime/base/clock.h"
#include "runtime/base/range_check.h"
#include "runtime/base/xxhash64.h"
#include "runtime/transformer/kv_sequence_image.h"

namespace sotto {
namespace {

Status corrupt_at(const char* what, uint64_t offset, Error* error) {
  return fail_at(error, Status::kStateCorrupt, offset, what);
}

// The visit() functions pass the fields of a struct, in the order of the format, to a ByteWriter or a ByteReader.

template <typename State, typename Bytes>
void visit(State& state, Bytes* bytes) {
  bytes->field(state.sampler.mirostat_mu);
  bytes->field(state.sampler.adaptive_sum);
  bytes->field(state.sampler.adaptive_weight);
  bytes->field(state.sampler.top_p_step);
  bytes->field(state.withheld);
  bytes->field(state.flags);
}

constexpr uint16_t kSavedFlags = TokenState::kGenerated | TokenState::kAnswerEnd | TokenState::kTextEnd;

// Writes the state of a token, without the flags of the constraint and the guide.
void write_state(TokenState state, ByteWriter* writer) {
  state.flags &= kSavedFlags;
  visit(state, writer);
}

// Reads the state of a token, and marks the reader as failed if a value is out of range.
TokenState read_state(ByteReader* reader) {
  TokenState state;
  visit(state, reader);
  if (!std::isfinite(state.sampler.mirostat_mu) || !std::isfinite(state.sampler.adaptive_sum) ||
      !std::isfinite(state.sampler.adaptive_weight) || (state.flags & ~kSavedFlags) != 0 ||
      state.withheld > StringMatcher::kMaxStringBytes) {
    reader->fail();
  }
  return state;
}

template <typename Values, typename Bytes>
void visit_values(Values& piece, Bytes* bytes) {
  bytes->field(piece.log_probability);
  bytes->field(piece.sampled_log_probability);
  bytes->field(piece.alternative_count);
  bytes->field(piece.entropy);
  bytes->field(piece.kept_count);
  bytes->field(piece.repetitiveness);
}

template <typename Listed, typename Bytes>
void visit_alternative(Listed& alternative, Bytes* bytes) {
  bytes->field(alternative.token);
  bytes->field(alternative.log_probability);
}

void write_buffered(const BufferedToken& buffered, ByteWriter* writer) {
  visit_values(buffered.piece, writer);
  for (size_t i = 0; i < buffered.piece.alternative_count; ++i) visit_alternative(buffered.alternatives[i], writer);
}

void read_buffered(uint32_t vocabulary_size, ByteReader* reader, BufferedToken* buffered) {
  buffered->piece = kEmptyPiece;
  visit_values(buffered->piece, reader);
  if (buffered->piece.alternative_count > SamplerParams::kMaxAlternativeCount) {
    buffered->piece.alternative_count = 0;
    reader->fail();
  }
  for (size_t i = 0; i < buffered->piece.alternative_count; ++i) {
    visit_alternative(buffered->alternatives[i], reader);
    if (!is_token(buffered->alternatives[i].token, vocabulary_size)) reader->fail();
  }
}

}  // namespace

// The header of a saved state. It must agree with the header of the session that restores it.
struct SavedState::Header {
  static constexpr uint8_t kMagic[8] = {'S', 'O', 'T', 'T', 'O', 'S', 'E', 'S'};
  static constexpr uint32_t kVersion = 4;
  static constexpr size_t kChecksumSize = sizeof(uint64_t);

  uint64_t size = 0;
  uint64_t fingerprint = 0;
  uint32_t context_tokens = 0;
  uint32_t sink_tokens = 0;
  uint32_t overflow = 0;
  uint32_t features = 0;  // only the features that store data with the stream

  // Visits the fields after the magic bytes, the version and its padding.
  template <typename Bytes>
  void visit(Bytes* bytes) {
    bytes->field(size);
    bytes->field(fingerprint);
    bytes->field(context_tokens);
    bytes->field(sink_tokens);
    bytes->field(overflow);
    bytes->field(features);
  }
};

// The counters of a stream that the KV sequence does not contain, and the sizes of the lists after them.
struct SavedState::Counts {
  uint32_t has_pending = 0;
  int32_t pending = 0;
  uint64_t token_count = 0;
  uint64_t answer_start = 0;
  uint64_t states_begin = 0;
  uint64_t healing_place = 0;
  uint32_t healing_size = 0;
  uint32_t buffered_count = 0;
  uint32_t rejected_count = 0;
  uint32_t rejected_attempts = 0;
  uint32_t reject_newest = 0;
  int32_t pending_stop = 0;
  int32_t stop = 0;

  // Visits all fields but token_count.
  template <typename Bytes>
  void visit(Bytes* bytes) {
    bytes->field(has_pending);
    bytes->field(pending);
    bytes->field(answer_start);
    bytes->field(states_begin);
    bytes->field(healing_place);
    bytes->field(healing_size);
    bytes->field(buffered_count);
    bytes->field(rejected_count);
    bytes->field(rejected_attempts);
    bytes->field(reject_newest);
    bytes->field(pending_stop);
    bytes->field(stop);
  }

  // Reads the counters. Returns false if they contradict each other or the session.
  bool read(uint64_t evaluated_count, const TokenStream& stream, ByteReader* reader) {
    visit(reader);
    token_count = evaluated_count + has_pending;
    const uint32_t vocabulary = stream.model().config().vocabulary_size;
    return !reader->failed() && has_pending <= 1 &&
           static_cast<uint32_t>(pending) < (has_pending != 0 ? vocabulary : 1) && answer_start <= token_count &&
           states_begin <= token_count && token_count - states_begin <= stream.states().capacity() &&
           (token_count == 0 || states_begin < token_count) && healing_place <= token_count &&
           (healing_size > 0 || healing_place == 0) && healing_size <= kMaxTokenBytes &&
           buffered_count <= TokenBuffer::kCapacity && buffered_count <= token_count - states_begin &&
           (buffered_count == 0 || buffered_count < token_count) && rejected_count <= RejectedTokens::kCapacity &&
           rejected_attempts <= RejectedTokens::kMaxAttempts && reject_newest <= 1 &&
           (pending_stop == 0 || ends_text(static_cast<Status>(pending_stop))) &&
           (stop == 0 || ends_text(static_cast<Status>(stop)));
  }
};

SavedState::Header SavedState::make_header(const TokenStream& stream) {
  const SessionParams& params = stream.params();
  Header header;
  header.fingerprint = stream.model().view().fingerprint();
  header.context_tokens = params.context_tokens;
  header.sink_tokens = params.sink_tokens;
  header.overflow = static_cast<uint32_t>(params.overflow);
  header.features = params.features & kFeatureHiddenHistory;
  return header;
}

// Verifies the checksum and compares the header with `expected`.
Status SavedState::check_header(std::span<const uint8_t> bytes, const Header& expected, Error* error) {
  if (bytes.size() < kHeaderSize + Header::kChecksumSize) {
    return corrupt_at("the saved state is shorter than its header", bytes.size(), error);
  }
  ByteReader reader(bytes);
  uint8_t magic[sizeof Header::kMagic];
  reader.get_array(magic, sizeof magic);
  if (std::memcmp(magic, Header::kMagic, sizeof magic) != 0) {
    return corrupt_at("not a saved state: its first bytes are not SOTTOSES", 0, error);
  }
  const auto version = reader.get<uint32_t>();
  if (version != Header::kVersion) {
    return fail_at(error, Status::kStateCorrupt, sizeof magic, "the saved state has version ", version,
                   "; this library reads version ", Header::kVersion);
  }
  if (reader.get<uint32_t>() != 0) return corrupt_at("the header of the saved state is damaged", 12, error);
  Header saved;
  saved.visit(&reader);
  if (saved.size != bytes.size()) {
    return fail_at(error, Status::kStateCorrupt, bytes.size(), "the saved state has ", bytes.size(),
                   " bytes; it must have ", saved.size);
  }
  const size_t hashed = bytes.size() - Header::kChecksumSize;
  ByteReader tail(bytes.subspan(hashed));
  if (tail.get<uint64_t>() != xxhash64(bytes.data(), hashed)) {
    return corrupt_at("the saved state has a wrong checksum", hashed, error);
  }
  if (saved.fingerprint != expected.fingerprint) {
    return fail(error, Status::kInvalidArgument, "the saved state belongs to another model");
  }
  const struct {
    const char* name;
    uint32_t saved, own;
  } fields[] = {
      {"context_tokens", saved.context_tokens, expected.context_tokens},
      {"sink_tokens", saved.sink_tokens, expected.sink_tokens},
      {"overflow", saved.overflow, expected.overflow},
      {"features", saved.features, expected.features},
  };
  for (const auto& field : fields) {
    if (field.saved == field.own) continue;
    return fail(error, Status::kInvalidArgument, field.name, " of the saved state is ", field.saved,
                "; it must be the session's, ", field.own);
  }
  return Status::kOk;
}

void SavedState::write(const Session& session, ByteWriter* writer) {
  const TokenStream& stream = session.stream_;
  const OutputState& output = session.output_.state();
  const TokenStates& states = stream.states();
  KvSequenceImage::write(stream.kv(), stream.model().config(), writer);
  Counts counts;
  counts.has_pending = stream.cursor().has_pending ? 1 : 0;
  counts.pending = stream.cursor().has_pending ? stream.cursor().pending : 0;
  counts.answer_start = stream.cursor().answer_start;
  counts.states_begin = states.begin();
  counts.healing_place = output.healing.place();
  counts.healing_size = static_cast<uint32_t>(output.healing.bytes().size());
  counts.buffered_count = static_cast<uint32_t>(output.buffer.size());
  counts.rejected_count = static_cast<uint32_t>(output.rejected.all().size());
  counts.rejected_attempts = output.rejected.attempts();
  counts.reject_newest = output.reject_newest ? 1 : 0;
  counts.pending_stop = static_cast<int32_t>(output.ending.pending());
  counts.stop = output.ending.has_ended() ? static_cast<int32_t>(output.ending.reached()) : 0;
  counts.visit(writer);
  writer->put_array(output.healing.bytes().data(), output.healing.bytes().size());
  for (uint64_t i = states.begin(); i < stream.token_count(); ++i) write_state(states[i], writer);
  for (size_t i = 0; i < output.buffer.size(); ++i) write_buffered(output.buffer[i], writer);
  for (const RejectedTokens::Rejection& rejection : output.rejected.all()) {
    writer->put(rejection.place);
    writer->put(rejection.token);
  }
}

size_t SavedState::size(const Session& session) {
  ByteWriter measure(nullptr);
  write(session, &measure);
  return kHeaderSize + measure.size() + Header::kChecksumSize;
}

void SavedState::save(const Session& session, uint8_t* bytes) {
  Header header = make_header(session.token_stream());
  header.size = size(session);
  ByteWriter writer(bytes);
  writer.put_array(Header::kMagic, sizeof Header::kMagic);
  writer.put(Header::kVersion);
  writer.put(uint32_t{0});
  header.visit(&writer);
  write(session, &writer);
  writer.put(xxhash64(bytes, writer.size()));
}

Status SavedState::restore(std::span<const uint8_t> bytes, Session* session, Error* error) {
  SOTTO_TRY(check_header(bytes, make_header(session->token_stream()), error));
  const auto body = bytes.subspan(kHeaderSize).first(bytes.size() - kHeaderSize - Header::kChecksumSize);
  ByteReader verifier(body);
  if (!verify(session->token_stream(), &verifier) || verifier.failed() || verifier.rest() != 0) {
    return fail(error, Status::kStateCorrupt, "the saved state is inconsistent");
  }
  session->reset();
  ByteReader reader(body);
  read(&reader, session);
  return Status::kOk;
}

// Verifies the values that read() restores, without changing the session.
bool SavedState::verify(const TokenStream& stream, ByteReader* reader) {
  const uint32_t vocabulary = stream.model().config().vocabulary_size;
  KvSequencePosition position;
  Counts saved;
  if (!KvSequenceImage::verify(stream.kv(), stream.model().config(), reader, &position)) return false;
  if (!saved.read(position.token_count, stream, reader)) return false;
  char healed[kMaxTokenBytes];
  reader->get_array(healed, saved.healing_size);
  if (saved.healing_size > 0 && stream.model().tokenizer() == nullptr) return false;
  for (uint64_t i = saved.states_begin; i < saved.token_count && !reader->failed(); ++i) {
    const TokenState state = read_state(reader);
    const bool is_buffered = i + saved.buffered_count >= saved.token_count;
    if (is_buffered && !state.has(TokenState::kGenerated)) return false;
  }
  for (uint32_t i = 0; i < saved.buffered_count && !reader->failed(); ++i) {
    BufferedToken buffered;
    read_buffered(vocabulary, reader, &buffered);
  }
  uint64_t before = 0;
  for (uint32_t i = 0; i < saved.rejected_count && !reader->failed(); ++i) {
    const auto at = reader->get<uint64_t>();
    if (at < before || at > saved.token_count) return false;
    if (reader->get<uint32_t>() >= vocabulary) return false;
    before = at;
  }
  return true;
}

// Restores the state of a session that has just been reset.
void SavedState::read(ByteReader* reader, Session* session) {
  TokenStream& stream = session->stream_;
  const ModelConfig& config = stream.model().config();
  KvSequenceImage::read(&stream.kv(), config, reader);
  Counts saved;
  saved.read(stream.kv().token_count(), stream, reader);
  stream.set_cursor({saved.has_pending != 0, saved.pending, saved.answer_start, monotonic_ns()});
  session->output_.change_state([&](OutputState& output) {
    char healed[kMaxTokenBytes];
    reader->get_array(healed, saved.healing_size);
    output.healing.restore({healed, saved.healing_size}, saved.healing_place);
    stream.states().drop_before(saved.states_begin);
    for (uint64_t i = saved.states_begin; i < saved.token_count; ++i) stream.states().set(i, read_state(reader));
    for (uint32_t i = 0; i < saved.buffered_count; ++i) {
      BufferedToken& buffered = output.buffer.push();
      read_buffered(config.vocabulary_size, reader, &buffered);
      buffered.piece.token = stream.token_at(saved.token_count - saved.buffered_count + i);
    }
    RejectedTokens::Rejection rejections[RejectedTokens::kCapacity];
    for (uint32_t i = 0; i < saved.rejected_count; ++i) {
      const auto at = reader->get<uint64_t>();
      rejections[i] = {at, reader->get<int32_t>()};
    }
    output.rejected.restore({rejections, saved.rejected_count}, saved.rejected_attempts);
    output.reject_newest = saved.reject_newest != 0;
    output.ending = {static_cast<Status>(saved.pending_stop), static_cast<Status>(saved.stop)};
  });
}

Status SavedState::fork(const Session& from, Session* to, Error* error) {
  if (&from == to) return fail(error, Status::kInvalidArgument, "to is the session itself; it must be another session");
  const Header own = make_header(to->token_stream());
  const Header other = make_header(from.token_stream());
  if (own.fingerprint != other.fingerprint) {
    return fail(error, Status::kInvalidArgument, "to has another model; it must have the one of the session");
  }
  if (own.context_tokens != other.context_tokens || own.sink_tokens != other.sink_tokens ||
      own.overflow != other.overflow || own.features != other.features) {
    return fail(error, Status::kInvalidArgument, "context_tokens, sink_tokens, overflow or features of the two differ");
  }
  to->reset();
  const TokenStream& source = from.token_stream();
  TokenStream& stream = to->stream_;
  KvSequenceImage::copy(source.kv(), source.model().config(), &stream.kv());
  stream.set_cursor(source.cursor());
  stream.states().drop_before(source.states().begin());
  for (uint64_t i = source.states().begin(); i < source.token_count(); ++i) {
    stream.states().set(i, source.states()[i]);
  }
  // The copy has no constraint and no guide.
  stream.states().clear_flag(TokenState::kConstrained, stream.token_count());
  stream.states().clear_flag(TokenState::kGuided, stream.token_count());
  to->output_.change_state([&](OutputState& output) { output = from.output_.state(); });
  return Status::kOk;
}

}  // namespace sotto
