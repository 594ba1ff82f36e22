// Saving, restoring and forking a session: see saved_state.h.
#include <algorithm>

#include "runtime/base/clock.h"
#include "runtime/base/xxhash64.h"
#include "runtime/session/saved_state.h"
#include "runtime/session/session.h"

namespace sotto {
namespace {

bool is_end(int32_t value) {
  switch (static_cast<Status>(value)) {
    case Status::kOk:
    case Status::kStopEndOfText:
    case Status::kStopMaxTokens:
    case Status::kStopContextFull:
    case Status::kStopGrammar:
    case Status::kStopToken:
    case Status::kStopString:
    case Status::kStopTime:
    case Status::kStopRepetition:
    case Status::kStopBanned:
      return true;
    default:
      return false;
  }
}

}  // namespace

// Beside the context, the states and what is held.
struct Session::SavedStream {
  uint32_t has_pending = 0;
  int32_t pending = 0;
  uint64_t token_count = 0;
  uint64_t answer_start = 0;
  uint64_t states_begin = 0;
  uint64_t healing_place = 0;
  uint32_t healing_size = 0;
  uint32_t held_count = 0;
  uint32_t refused_count = 0;
  uint32_t refused_attempts = 0;
  uint32_t refuse_newest = 0;
  int32_t end = 0;

  bool read(const KvSequencePosition& place, const SessionParams& params, uint32_t vocabulary, ByteReader* reader) {
    has_pending = reader->get<uint32_t>();
    pending = reader->get<int32_t>();
    answer_start = reader->get<uint64_t>();
    states_begin = reader->get<uint64_t>();
    healing_place = reader->get<uint64_t>();
    healing_size = reader->get<uint32_t>();
    held_count = reader->get<uint32_t>();
    refused_count = reader->get<uint32_t>();
    refused_attempts = reader->get<uint32_t>();
    refuse_newest = reader->get<uint32_t>();
    end = reader->get<int32_t>();
    token_count = place.token_count + has_pending;
    const uint64_t capacity = uint64_t{2} * params.context_tokens;
    return !reader->failed() && has_pending <= 1 &&
           static_cast<uint32_t>(pending) < (has_pending != 0 ? vocabulary : 1) && answer_start <= token_count &&
           states_begin <= token_count && token_count - states_begin <= capacity &&
           (token_count == 0 || states_begin < token_count) && healing_place <= token_count &&
           healing_size <= kMaxTokenBytes && held_count <= HeldTokens::kCapacity &&
           held_count <= token_count - states_begin && (held_count == 0 || held_count < token_count) &&
           refused_count <= RefusedTokens::kCapacity && refused_attempts <= RefusedTokens::kMaxAttempts &&
           refuse_newest <= 1 && is_end(end);
  }
};

void Session::write(ByteWriter* writer) const {
  KvSequenceImage::write(context_, model_->config(), writer);
  writer->put(uint32_t{has_pending_ ? 1u : 0u});
  writer->put(has_pending_ ? pending_ : 0);
  writer->put(answer_start_);
  writer->put(states_.begin());
  writer->put(healing_.place());
  writer->put(static_cast<uint32_t>(healing_.bytes().size()));
  writer->put(static_cast<uint32_t>(held_.size()));
  writer->put(static_cast<uint32_t>(refused_.all().size()));
  writer->put(refused_.attempts());
  writer->put(uint32_t{refuse_newest_ ? 1u : 0u});
  writer->put(static_cast<int32_t>(end_));
  writer->put_array(healing_.bytes().data(), healing_.bytes().size());
  for (uint64_t i = states_.begin(); i < token_count(); ++i) write_state(states_[i], writer);
  for (size_t i = 0; i < held_.size(); ++i) write_held(held_[i], writer);
  for (const RefusedTokens::Refusal& refusal : refused_.all()) {
    writer->put(refusal.place);
    writer->put(refusal.token);
  }
}

size_t Session::saved_size() const {
  ByteWriter measure(nullptr);
  write(&measure);
  return kSavedHeaderSize + measure.size() + SavedHeader::kChecksumSize;
}

void Session::save(uint8_t* bytes) const {
  SavedHeader header = make_header(*model_, params_);
  header.size = saved_size();
  ByteWriter writer(bytes);
  write_header(header, &writer);
  write(&writer);
  writer.put(xxhash64(bytes, writer.size()));
}

Status Session::restore(std::span<const uint8_t> bytes, Error* error) {
  SOTTO_TRY(check_saved(bytes, make_header(*model_, params_), error));
  const auto body = bytes.subspan(kSavedHeaderSize).first(bytes.size() - kSavedHeaderSize - SavedHeader::kChecksumSize);
  ByteReader verifier(body);
  if (!verify(&verifier) || verifier.failed() || verifier.rest() != 0) {
    return fail(error, Status::kStateCorrupt, "the saved state contradicts itself");
  }
  reset();
  ByteReader reader(body);
  read(&reader);
  return Status::kOk;
}

// Reads everything as read() would, and changes nothing.
bool Session::verify(ByteReader* reader) const {
  const uint32_t vocabulary = model_->config().vocabulary_size;
  KvSequencePosition place;
  SavedStream saved;
  if (!KvSequenceImage::verify(context_, model_->config(), reader, &place)) return false;
  if (!saved.read(place, params_, vocabulary, reader)) return false;
  char healed[kMaxTokenBytes];
  reader->get_array(healed, saved.healing_size);
  if (saved.healing_size > 0 && model_->tokenizer() == nullptr) return false;
  for (uint64_t i = saved.states_begin; i < saved.token_count && !reader->failed(); ++i) {
    const TokenState state = read_state(reader);
    const bool is_held = i + saved.held_count >= saved.token_count;
    if (is_held && !state.has(TokenState::kGenerated)) return false;
  }
  for (uint32_t i = 0; i < saved.held_count && !reader->failed(); ++i) {
    HeldToken held;
    read_held(vocabulary, reader, &held);
  }
  uint64_t before = 0;
  for (uint32_t i = 0; i < saved.refused_count && !reader->failed(); ++i) {
    const auto at = reader->get<uint64_t>();
    if (at < before || at > saved.token_count) return false;
    if (reader->get<uint32_t>() >= vocabulary) return false;
    before = at;
  }
  return true;
}

// Into a session that has been reset.
void Session::read(ByteReader* reader) {
  KvSequenceImage::read(&context_, model_->config(), reader);
  SavedStream saved;
  KvSequencePosition place;
  place.token_count = context_.token_count();
  saved.read(place, params_, model_->config().vocabulary_size, reader);
  has_pending_ = saved.has_pending != 0;
  pending_ = saved.pending;
  answer_start_ = saved.answer_start;
  answer_begin_ns_ = monotonic_ns();
  char healed[kMaxTokenBytes];
  reader->get_array(healed, saved.healing_size);
  healing_.restore({healed, saved.healing_size}, saved.healing_place);
  states_.forget_before(saved.states_begin);
  for (uint64_t i = saved.states_begin; i < saved.token_count; ++i) {
    states_.set(i, read_state(reader));
  }
  for (uint32_t i = 0; i < saved.held_count; ++i) {
    HeldToken& held = held_.push();
    read_held(model_->config().vocabulary_size, reader, &held);
    held.token = token_at(saved.token_count - saved.held_count + i);
  }
  RefusedTokens::Refusal refused[RefusedTokens::kCapacity];
  for (uint32_t i = 0; i < saved.refused_count; ++i) {
    const auto at = reader->get<uint64_t>();
    refused[i] = {at, reader->get<int32_t>()};
  }
  refused_.restore({refused, saved.refused_count}, saved.refused_attempts);
  refuse_newest_ = saved.refuse_newest != 0;
  end_ = static_cast<Status>(saved.end);
  rebuild_text(handed_out());
  hold_text_again();
}

// The text of the held tokens, behind that of those handed out.
void Session::hold_text_again() {
  using Found = TextStream::Found;
  if (held_.empty() && end_ == Status::kStopString) {  // what follows the string is no text
    text_.clear();
    handed_out_mark_ = text_.mark();
  }
  for (size_t i = 0; i < held_.size(); ++i) {
    const auto bytes = bytes_of(held_[i].token);
    const TextMark before = text_.mark();
    const size_t hidden = healing_.hidden(bytes.size());
    const bool last = i + 1 == held_.size();
    const Found found = text_.append(bytes, hidden);
    const bool is_stop = found == Found::kStop && last && end_ == Status::kStopString;
    const bool is_ban = found == Found::kBan && last && end_ == Status::kStopBanned;
    if (found != Found::kNothing && !is_stop) text_.cut(before);
    // Other strings than when it was held.
    if (found != Found::kNothing && !is_stop && !is_ban) text_.replay(bytes, hidden);
    healing_.advance(bytes.size());
    held_[i].mark = text_.mark();
  }
}

Status Session::fork(const Session& from, Session* to, Error* error) {
  if (&from == to) return fail(error, Status::kInvalidArgument, "to is the session itself");
  const SavedHeader own = make_header(*to->model_, to->params_);
  const SavedHeader other = make_header(*from.model_, from.params_);
  if (own.fingerprint != other.fingerprint) {
    return fail(error, Status::kInvalidArgument, "to is a session of another model");
  }
  if (own.context_tokens != other.context_tokens || own.sink_tokens != other.sink_tokens ||
      own.overflow != other.overflow || own.features != other.features) {
    return fail(error, Status::kInvalidArgument, "context_tokens, sink_tokens, overflow or features of the two differ");
  }
  to->reset();
  KvSequenceImage::copy(from.context_, from.model_->config(), &to->context_);
  to->has_pending_ = from.has_pending_;
  to->pending_ = from.pending_;
  to->answer_start_ = from.answer_start_;
  to->answer_begin_ns_ = from.answer_begin_ns_;
  to->healing_ = from.healing_;
  to->states_.forget_before(from.states_.begin());
  for (uint64_t i = from.states_.begin(); i < from.token_count(); ++i) {
    to->states_.set(i, from.states_[i]);
  }
  to->states_.clear_flag(TokenState::kConstrained, to->token_count());
  to->states_.clear_flag(TokenState::kGuided, to->token_count());
  to->held_ = from.held_;
  to->refused_ = from.refused_;
  to->refuse_newest_ = from.refuse_newest_;
  to->end_ = from.end_;
  to->rebuild_text(to->handed_out());
  to->hold_text_again();
  return Status::kOk;
}

}  // namespace sotto
