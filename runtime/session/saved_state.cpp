#include "runtime/session/saved_state.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "runtime/base/clock.h"
#include "runtime/base/range_check.h"
#include "runtime/transformer/kv_sequence_image.h"

namespace sotto {
namespace {

constexpr Envelope kStateEnvelope = {"SOTTOSES", "saved state", 4};

// The visit() functions pass the fields of a struct, in the order of the format, to a ByteWriter, ByteChecker or
// ByteReader (runtime/base/byte_stream.h).

template <typename Bytes>
void visit_state(TokenState& state, Bytes* bytes) {
  constexpr uint16_t kSavedFlags = TokenState::kGenerated | TokenState::kAnswerEnd | TokenState::kTextEnd;
  if constexpr (Bytes::kSaves) state.flags &= kSavedFlags;
  for (float* number : {&state.sampler.mirostat_mu, &state.sampler.adaptive_sum, &state.sampler.adaptive_weight}) {
    bytes->field(*number);
    bytes->require(std::isfinite(*number));
  }
  bytes->field(state.sampler.top_p_step);
  bytes->field(state.withheld);
  bytes->field(state.flags);
  bytes->require(state.withheld <= StringMatcher::kMaxStringBytes && (state.flags & ~kSavedFlags) == 0);
}

template <typename Bytes>
void visit_buffered(BufferedToken& buffered, uint32_t vocabulary_size, Bytes* bytes) {
  Piece& piece = buffered.piece;
  bytes->field(piece.log_probability);
  bytes->field(piece.sampled_log_probability);
  bytes->field(piece.alternative_count);
  bytes->field(piece.entropy);
  bytes->field(piece.kept_count);
  bytes->field(piece.repetitiveness);
  if (!bytes->require(piece.alternative_count <= SamplerParams::kMaxAlternativeCount)) return;
  for (size_t i = 0; i < piece.alternative_count; ++i) {
    Alternative& alternative = buffered.alternatives[i];
    bytes->field(alternative.token);
    bytes->field(alternative.log_probability);
    bytes->require(is_token(alternative.token, vocabulary_size));
  }
}

// The settings of a session on which its saved states depend. They must agree with those of the session that restores
// them.
struct SavedConfiguration {
  explicit SavedConfiguration(const TokenStream& stream)
      : fingerprint(stream.model().view().fingerprint()),
        context_tokens(stream.params().context_tokens),
        sink_tokens(stream.params().sink_tokens),
        overflow(static_cast<uint32_t>(stream.params().overflow)),
        features(stream.params().features & kFeatureHiddenHistory) {}

  template <typename Bytes>
  void visit(Bytes* bytes) {
    bytes->field(context_tokens);
    bytes->field(sink_tokens);
    bytes->field(overflow);
    bytes->field(features);
  }

  uint64_t fingerprint;  // in the head of a saved state
  uint32_t context_tokens;
  uint32_t sink_tokens;
  uint32_t overflow;
  uint32_t features;  // only the features that store data with the stream
};

// Fails unless `other`, the configuration of `name`, is the session's own.
Status check_configuration(const char* name, const SavedConfiguration& other, const SavedConfiguration& own,
                           Error* error) {
  if (other.fingerprint != own.fingerprint) {
    return fail(error, Status::kInvalidArgument, name, " has another model; it must have the session's");
  }
  const struct {
    const char* name;
    uint32_t other, own;
  } fields[] = {
      {"context_tokens", other.context_tokens, own.context_tokens},
      {"sink_tokens", other.sink_tokens, own.sink_tokens},
      {"overflow", other.overflow, own.overflow},
      {"features", other.features, own.features},
  };
  for (const auto& field : fields) {
    if (field.other == field.own) continue;
    return fail(error, Status::kInvalidArgument, field.name, " of ", name, " is ", field.other,
                "; it must be the session's, ", field.own);
  }
  return Status::kOk;
}

// The counters of a stream that the KV sequence does not contain, and the sizes of the lists after them.
struct StreamCounts {
  StreamCounts() = default;
  StreamCounts(const TokenStream& stream, const OutputState& output)
      : has_pending(stream.cursor().has_pending),
        pending(has_pending ? stream.cursor().pending : 0),
        answer_start(stream.cursor().answer_start),
        states_begin(stream.states().begin()),
        healing_place(output.healing.place()),
        healing_size(static_cast<uint32_t>(output.healing.bytes().size())),
        buffered_count(static_cast<uint32_t>(output.buffer.size())),
        rejected_count(static_cast<uint32_t>(output.rejected.all().size())),
        rejected_attempts(output.rejected.attempts()),
        reject_newest(output.reject_newest),
        pending_stop(output.ending.pending()),
        stop(output.ending.has_ended() ? output.ending.reached() : Status::kOk) {}

  template <typename Bytes>
  void visit(Bytes* bytes) {
    bytes->flag(has_pending);
    bytes->field(pending);
    bytes->field(answer_start);
    bytes->field(states_begin);
    bytes->field(healing_place);
    bytes->field(healing_size);
    bytes->field(buffered_count);
    bytes->field(rejected_count);
    bytes->field(rejected_attempts);
    bytes->flag(reject_newest);
    bytes->field(pending_stop);
    bytes->field(stop);
  }

  // Returns whether the counters of `token_count` tokens agree with each other and with the session.
  bool are_possible(uint64_t token_count, const TokenStream& stream) const {
    const uint32_t vocabulary = stream.model().config().vocabulary_size;
    const bool has_tokenizer = stream.model().tokenizer() != nullptr;
    return is_token(pending, has_pending ? vocabulary : 1) && answer_start <= token_count &&
           states_begin <= token_count && token_count - states_begin <= stream.states().capacity() &&
           (token_count == 0 || states_begin < token_count) && healing_place <= token_count &&
           (healing_size > 0 || healing_place == 0) && healing_size <= (has_tokenizer ? kMaxTokenBytes : 0) &&
           buffered_count <= TokenBuffer::kCapacity && buffered_count <= token_count - states_begin &&
           (buffered_count == 0 || buffered_count < token_count) && rejected_count <= RejectedTokens::kCapacity &&
           rejected_attempts <= RejectedTokens::kMaxAttempts &&
           (pending_stop == Status::kOk || ends_text(pending_stop)) && (stop == Status::kOk || ends_text(stop));
  }

  bool has_pending = false;
  int32_t pending = 0;
  uint64_t answer_start = 0;
  uint64_t states_begin = 0;
  uint64_t healing_place = 0;
  uint32_t healing_size = 0;
  uint32_t buffered_count = 0;
  uint32_t rejected_count = 0;
  uint32_t rejected_attempts = 0;
  bool reject_newest = false;
  Status pending_stop = Status::kOk;
  Status stop = Status::kOk;
};

}  // namespace

template <typename Stream, typename Output, typename Bytes>
void SavedState::visit(Stream& stream, Output& output, Bytes* bytes) {
  const ModelConfig& config = stream.model().config();
  const uint64_t evaluated_count = KvSequenceImage::visit(stream.kv(), config, bytes);
  StreamCounts counts;
  if constexpr (Bytes::kSaves) counts = StreamCounts(stream, output);
  counts.visit(bytes);
  const uint64_t token_count = evaluated_count + (counts.has_pending ? 1 : 0);
  if (!bytes->require(counts.are_possible(token_count, stream))) return;
  char healed[kMaxTokenBytes];
  RejectedTokens::Rejection rejections[RejectedTokens::kCapacity];
  if constexpr (Bytes::kSaves) {
    std::copy(output.healing.bytes().begin(), output.healing.bytes().end(), healed);
    std::copy(output.rejected.all().begin(), output.rejected.all().end(), rejections);
  }
  if constexpr (Bytes::kStores) {
    stream.set_cursor({counts.has_pending, counts.pending, counts.answer_start, monotonic_ns()});
    stream.states().drop_before(counts.states_begin);
  }
  for (uint32_t i = 0; i < counts.healing_size; ++i) bytes->field(healed[i]);
  const uint64_t buffered_begin = token_count - counts.buffered_count;
  for (uint64_t i = counts.states_begin; i < token_count; ++i) {
    TokenState state;
    if constexpr (Bytes::kSaves) state = stream.states()[i];
    visit_state(state, bytes);
    bytes->require(i < buffered_begin || state.has(TokenState::kGenerated));
    if constexpr (Bytes::kStores) stream.states().set(i, state);
  }
  for (uint32_t i = 0; i < counts.buffered_count; ++i) {
    BufferedToken buffered;
    if constexpr (Bytes::kSaves) buffered = output.buffer[i];
    visit_buffered(buffered, config.vocabulary_size, bytes);
    if constexpr (Bytes::kStores) {
      buffered.piece.token = stream.token_at(buffered_begin + i);
      output.buffer.push() = buffered;
    }
  }
  uint64_t before = 0;
  for (RejectedTokens::Rejection& rejection : std::span(rejections, counts.rejected_count)) {
    bytes->field(rejection.place);
    bytes->field(rejection.token);
    bytes->require(rejection.place >= before && rejection.place <= token_count);
    bytes->require(is_token(rejection.token, config.vocabulary_size));
    before = rejection.place;
  }
  if constexpr (Bytes::kStores) {
    output.healing.restore({healed, counts.healing_size}, counts.healing_place);
    output.rejected.restore({rejections, counts.rejected_count}, counts.rejected_attempts);
    output.reject_newest = counts.reject_newest;
    output.ending = {counts.pending_stop, counts.stop};
  }
}

void SavedState::write(const Session& session, ByteWriter* writer) {
  SavedConfiguration(session.stream_).visit(writer);
  visit(session.stream_, session.output_.state(), writer);
}

size_t SavedState::size(const Session& session) {
  return kStateEnvelope.size([&](ByteWriter* writer) { write(session, writer); });
}

void SavedState::save(const Session& session, uint8_t* bytes) {
  const Envelope::Head head = {.fingerprint = session.token_stream().model().view().fingerprint()};
  kStateEnvelope.save(bytes, head, [&](ByteWriter* writer) { write(session, writer); });
}

Status SavedState::restore(std::span<const uint8_t> bytes, Session* session, Error* error) {
  Envelope::Head head;
  std::span<const uint8_t> contents;
  SOTTO_TRY(kStateEnvelope.open(bytes, &head, &contents, error));
  const SavedConfiguration own(session->stream_);
  SavedConfiguration saved = own;
  ByteChecker checker(contents);
  saved.fingerprint = head.fingerprint;
  saved.visit(&checker);
  if (!checker.require(head.number == 0)) {
    return fail(error, Status::kStateCorrupt, "the header of the saved state is damaged");
  }
  SOTTO_TRY(check_configuration("the saved state", saved, own, error));
  ByteReader reader(contents.last(checker.rest()));
  visit(std::as_const(session->stream_), session->output_.state(), &checker);
  if (checker.failed() || checker.rest() != 0) {
    return fail(error, Status::kStateCorrupt, "the saved state is inconsistent");
  }
  session->reset();
  session->output_.change_state([&](OutputState& output) { visit(session->stream_, output, &reader); });
  return Status::kOk;
}

Status SavedState::fork(const Session& from, Session* to, Error* error) {
  if (&from == to) return fail(error, Status::kInvalidArgument, "to is the session itself; it must be another session");
  const TokenStream& source = from.token_stream();
  TokenStream& stream = to->stream_;
  SOTTO_TRY(check_configuration("to", SavedConfiguration(stream), SavedConfiguration(source), error));
  to->reset();
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
