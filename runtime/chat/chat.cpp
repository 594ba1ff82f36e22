#include "runtime/chat/chat.h"

#include <algorithm>
#include <cstring>

#include "runtime/base/envelope.h"
#include "runtime/base/object_memory.h"
#include "runtime/base/range_check.h"
#include "runtime/base/utf8.h"
#include "runtime/base/xxhash64.h"
#include "runtime/text/tokenizer.h"

namespace sotto {
namespace {

constexpr size_t kMaxStopStrings = 64;

constexpr Envelope kChatEnvelope = {"SOTTOCHT", "saved conversation", 1};

Status reject_contradiction(Error* error) {
  return fail(error, Status::kStateCorrupt, "the saved conversation contradicts itself");
}

Status check_params(const Session& session, const ChatParams& params, Error* error) {
  SOTTO_TRY(check_ranges(params, error));
  const uint32_t context = session.token_stream().params().context_tokens;
  SOTTO_TRY(check_range("reply_tokens", params.reply_tokens, 1, context - 1, error));
  return check_range("history_bytes", params.history_bytes, 8.0 * params.reply_tokens, ChatParams::kMaxHistoryBytes,
                     error);
}

}  // namespace

// The start of saved messages, after the head of the envelope. The number in the head is the number of messages.
struct Chat::Header {
  static constexpr size_t kBytes = 4 * sizeof(uint64_t);

  template <typename Bytes>
  void visit(Bytes* bytes) {
    bytes->field(format);
    bytes->field(dropped_turns);
    bytes->field(history_bytes);
    bytes->field(reserved);
  }

  uint64_t format = 0;  // hash of its text
  uint64_t dropped_turns = 0;
  uint64_t history_bytes = 0;
  uint64_t reserved = 0;
};

// Visits a message, without its contents.
template <typename Bytes>
void Chat::visit(Message& message, Bytes* bytes) {
  bytes->field(message.role);
  bytes->field(message.size);
}

void Chat::layout(Arena& arena, const Session& session, const ChatParams& params) {
  params_ = params;
  format_text_ = arena.take<char>(ChatFormatView::kMaxBytes);
  stop_ = arena.take<char>(ChatFormatView::kMaxBytes);
  messages_ = arena.take<Message>(params.message_limit);
  history_ = arena.take<uint8_t>(params.history_bytes);
  text_ = arena.take<char>(size_t{params.history_bytes} + ChatFormatView::kMaxBytes);
  token_capacity_ = size_t{2} * session.token_stream().params().context_tokens;
  tokens_ = arena.take<int32_t>(token_capacity_);
}

Status Chat::memory_size(const Session& session, const ChatParams& params, size_t* size, Error* error) {
  SOTTO_TRY(check_params(session, params, error));
  return measure_object<Chat>(size, error, session, params);
}

Status Chat::init(Session* session, const ChatParams& params, std::span<const char> format, void* memory,
                  size_t memory_size, Chat** out, Error* error) {
  SOTTO_TRY(check_params(*session, params, error));
  if (session->token_stream().model().tokenizer() == nullptr) {
    return fail(error, Status::kTokenizerMissing, "the model has no tokenizer");
  }
  if (const size_t bad = find_invalid_utf8(format); bad < format.size()) {
    return fail_at(error, Status::kInvalidArgument, bad, "format: byte ", bad, " is not UTF-8");
  }
  ChatFormatView given;
  SOTTO_TRY(given.parse(format, error));
  Chat* chat = nullptr;
  SOTTO_TRY(create_object(memory, memory_size, &chat, error, *session, params));
  chat->session_ = session;
  chat->format_size_ = format.size();
  std::copy(format.begin(), format.end(), chat->format_text_);
  SOTTO_TRY(chat->format_.parse({chat->format_text_, format.size()}, error));
  chat->stop_size_ = chat->format_.write_stop(chat->stop_);
  SOTTO_TRY(chat->set_stops({}, error));
  *out = chat;
  return Status::kOk;
}

Status Chat::set_stops(const StopParams& params, Error* error) {
  if (params.stop_strings.size() >= kMaxStopStrings) {
    return fail(error, Status::kInvalidArgument, "stop_string_count is ", params.stop_strings.size(),
                "; it must be at most ", kMaxStopStrings - 1);
  }
  TextView strings[kMaxStopStrings];
  std::copy(params.stop_strings.begin(), params.stop_strings.end(), strings);
  size_t count = params.stop_strings.size();
  if (stop_size_ > 0) strings[count++] = {stop_, stop_size_};
  StopParams all = params;
  all.stop_strings = {strings, count};
  return session_->set_stops(all, error);
}

// Rejects text that is not UTF-8, and text that contains a special token or completes one together with the format's
// text around it.
Status Chat::check_text(ChatRole role, std::span<const char> text, Error* error) const {
  if (static_cast<uint32_t>(role) > static_cast<uint32_t>(ChatRole::kTool)) {
    return fail(error, Status::kInvalidArgument, "role is ", static_cast<int32_t>(role), "; it must be from 0 to 3");
  }
  if (!format_.part(role).is_present) {
    return fail(error, Status::kInvalidArgument, "role is ", static_cast<int32_t>(role),
                "; the format has no part for it");
  }
  if (const size_t bad = find_invalid_utf8(text); bad < text.size()) {
    return fail_at(error, Status::kInvalidArgument, bad, "text: byte ", bad, " is not UTF-8");
  }
  if (text.empty()) return Status::kOk;
  const std::span<const char> before = format_.part(role).before, after = format_.part(role).after;
  const auto byte_at = [&](size_t i) {
    if (i < before.size()) return before[i];
    i -= before.size();
    return i < text.size() ? text[i] : after[i - text.size()];
  };
  const size_t end = before.size() + text.size();
  for (const uint32_t token : tokenizer().added_tokens) {
    const auto bytes = tokenizer().bytes_of(token);
    if (tokenizer().token_kinds[token] != TokenKind::kSpecial || bytes.empty()) continue;
    for (size_t at = before.size() - std::min(before.size(), bytes.size() - 1);
         at < end && at + bytes.size() <= end + after.size(); ++at) {
      size_t same = 0;
      while (same < bytes.size() && byte_at(at + same) == static_cast<char>(bytes[same])) ++same;
      if (same < bytes.size()) continue;
      const size_t offset = at - std::min(at, before.size());
      return fail_at(error, Status::kInvalidArgument, offset, "text: byte ", offset, " belongs to the special token ",
                     token, "; a message must not contain special tokens");
    }
  }
  return Status::kOk;
}

size_t Chat::offset_of(uint32_t index) const {
  size_t offset = 0;
  for (uint32_t i = 0; i < index; ++i) offset += messages_[i].size;
  return offset;
}

// Returns the index of the first message of the user after `index`, or count_.
uint32_t Chat::next_turn(uint32_t index) const {
  do {
    ++index;
  } while (index < count_ && messages_[index].role != ChatRole::kUser);
  return std::min(index, count_);
}

// Returns the size of the history after the messages before `first` have been dropped. The system message always stays.
size_t Chat::kept_bytes(uint32_t first) const {
  return offset_of(count_) - (offset_of(first) - offset_of(system_count()));
}

// Returns whether the history has space for `added` more messages, `bytes` bytes in total, after the messages before
// `first` have been dropped. The system message always stays.
bool Chat::has_space(uint32_t first, uint32_t added, size_t bytes) const {
  const uint32_t kept = count_ - first + system_count();
  return kept + added <= params_.message_limit && kept_bytes(first) + bytes <= params_.history_bytes;
}

// Finds the oldest turn that can stay. If even the last turn cannot stay, sets `*first` to it and returns false.
bool Chat::find_space(uint32_t added, size_t bytes, uint32_t* first) const {
  *first = system_count();
  while (!has_space(*first, added, bytes)) {
    const uint32_t next = next_turn(*first);
    if (next >= count_) return false;
    *first = next;
  }
  return true;
}

void Chat::erase(uint32_t first, uint32_t count) {
  const size_t begin = offset_of(first), end = offset_of(first + count);
  std::memmove(history_ + begin, history_ + end, offset_of(count_) - end);
  std::copy(messages_ + first + count, messages_ + count_, messages_ + first);
  count_ -= count;
}

void Chat::insert(uint32_t index, ChatRole role, std::span<const uint8_t> bytes) {
  const size_t begin = offset_of(index);
  std::memmove(history_ + begin + bytes.size(), history_ + begin, offset_of(count_) - begin);
  std::copy_backward(messages_ + index, messages_ + count_, messages_ + count_ + 1);
  std::copy(bytes.begin(), bytes.end(), history_ + begin);
  messages_[index] = {role, static_cast<uint32_t>(bytes.size())};
  ++count_;
}

void Chat::drop_before(uint32_t first) {
  const uint32_t begin = system_count();
  for (uint32_t i = begin; i < first; ++i) dropped_turns_ += messages_[i].role == ChatRole::kUser ? 1 : 0;
  if (first > begin) erase(begin, first - begin);
}

// Sets `*bytes` to the contents that the history stores for a message: the tokens of a reply, in tokens_, or the text
// itself.
Status Chat::encode_message(ChatRole role, std::span<const char> text, std::span<const uint8_t>* bytes, Error* error) {
  *bytes = {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
  if (role != ChatRole::kAssistant) return Status::kOk;
  size_t count = 0;
  const Status status = encode(tokenizer(), text, {}, {tokens_, token_capacity_}, &count, error);
  if (status == Status::kBufferTooSmall) {
    return fail(error, Status::kInvalidArgument, "text has about ", count, " tokens; the context holds ",
                context_tokens());
  }
  *bytes = reply_bytes(count);
  return status;
}

// Drops the oldest turns so that a message of `size` bytes fits. A message of the system replaces the previous one.
Status Chat::make_space(ChatRole role, size_t size, Error* error) {
  const bool is_system = role == ChatRole::kSystem;
  const size_t pinned = system_count() > 0 ? messages_[0].size : 0;
  const bool replaces = is_system && system_count() > 0;
  const size_t freed = replaces ? pinned : 0;
  const size_t needed = size > freed ? size - freed : 0;
  const uint32_t added = is_system && (replaces || size == 0) ? 0 : 1;
  uint32_t first = system_count();
  if (size > params_.history_bytes || !find_space(added, needed, &first)) {
    // A message of the user begins another turn, so that all others can be dropped.
    if (role != ChatRole::kUser || size > params_.history_bytes - pinned) {
      if (size <= params_.history_bytes && kept_bytes(first) + needed <= params_.history_bytes) {
        return fail(error, Status::kInvalidArgument, "message_limit is ", params_.message_limit,
                    "; the system's message and the last turn have ", count_ - first + system_count());
      }
      return fail(error, Status::kInvalidArgument, "text needs ", size, " bytes; history_bytes is ",
                  params_.history_bytes);
    }
    first = count_;
  }
  drop_before(first);
  return Status::kOk;
}

Status Chat::add(ChatRole role, std::span<const char> text, Error* error) {
  SOTTO_TRY(check_text(role, text, error));
  const bool is_system = role == ChatRole::kSystem;
  if (!is_system && role != ChatRole::kUser && count_ == system_count()) {
    return fail(error, Status::kInvalidState, "the conversation must begin with a message of the user");
  }
  std::span<const uint8_t> bytes;
  SOTTO_TRY(encode_message(role, text, &bytes, error));
  SOTTO_TRY(make_space(role, bytes.size(), error));
  if (is_system && system_count() > 0) erase(0, 1);
  if (!is_system || !bytes.empty()) insert(is_system ? 0 : count_, role, bytes);
  return Status::kOk;
}

// Appends the tokens of a text to the prompt. Returns kBufferTooSmall if they do not fit.
Status Chat::append_text(std::span<const char> before, std::span<const char> text, std::span<const char> after,
                         size_t* count, Error* error) {
  char* end = std::copy(before.begin(), before.end(), text_);
  end = std::copy(text.begin(), text.end(), end);
  end = std::copy(after.begin(), after.end(), end);
  const std::span<const char> whole(text_, static_cast<size_t>(end - text_));
  if (whole.empty()) return Status::kOk;
  size_t added = 0;
  SOTTO_TRY(
      encode(tokenizer(), whole, {.parse_special = true}, {tokens_ + *count, token_capacity_ - *count}, &added, error));
  *count += added;
  return Status::kOk;
}

// Writes the tokens of the prompt to tokens_: the system's message, the messages from `first` on, and the beginning of
// a reply. Returns kBufferTooSmall if they do not fit.
Status Chat::build_prompt(uint32_t first, size_t* count, Error* error) {
  *count = 0;
  SOTTO_TRY(append_text(format_.start(), {}, {}, count, error));
  size_t offset = 0;
  for (uint32_t i = 0; i < count_; ++i) {
    const Message& message = messages_[i];
    const uint8_t* bytes = history_ + offset;
    offset += message.size;
    if (i >= system_count() && i < first) continue;
    const ChatPart& part = format_.part(message.role);
    if (message.role != ChatRole::kAssistant) {
      SOTTO_TRY(
          append_text(part.before, {reinterpret_cast<const char*>(bytes), message.size}, part.after, count, error));
      continue;
    }
    SOTTO_TRY(append_text(part.before, {}, {}, count, error));
    const size_t reply_count = message.size / sizeof(int32_t);
    if (reply_count > token_capacity_ - *count) return Status::kBufferTooSmall;
    std::memcpy(tokens_ + *count, bytes, message.size);
    *count += reply_count;
    SOTTO_TRY(append_text(part.after, {}, {}, count, error));
  }
  return append_text(format_.part(ChatRole::kAssistant).before, {}, {}, count, error);
}

// Returns whether the history and the context have space for the messages from `first` on and a reply. Overwrites
// tokens_.
bool Chat::fits(uint32_t first) {
  size_t count = 0;
  return has_space(first, 1, params_.reply_tokens * sizeof(int32_t)) &&
         build_prompt(first, &count, nullptr) == Status::kOk && count + params_.reply_tokens <= context_tokens();
}

// Returns the first message of the oldest turn that fits together with all later turns, or count_ if the last turn
// alone does not fit.
uint32_t Chat::find_prompt_start() {
  uint32_t begin = system_count();
  if (fits(begin)) return begin;
  uint32_t last = count_ - 1;
  while (messages_[last].role != ChatRole::kUser) --last;
  if (last == begin || !fits(last)) return count_;
  // A prompt with fewer turns is shorter, so a binary search finds the turn. The turn after `begin` may be too old, and
  // the turn after `end` fits.
  uint32_t end = last - 1;
  while (begin < end) {
    const uint32_t middle = begin + (end - begin) / 2;
    if (fits(next_turn(middle))) {
      end = middle;
    } else {
      begin = middle + 1;
    }
  }
  return next_turn(end);
}

// Makes the stream of the session equal to `tokens`, and starts an answer.
Status Chat::evaluate_prompt(std::span<const int32_t> tokens, Error* error) {
  const TokenStream& stream = session_->token_stream();
  session_->drop_unemitted();
  size_t common = 0;
  if (stream.token_count() <= context_tokens() && !session_->has_embeddings()) {
    // The prefill of the last token begins an answer, also with a new sampler.
    const size_t most = std::min(tokens.size() - 1, static_cast<size_t>(stream.token_count()));
    while (common < most && stream.token_at(common) == tokens[common]) ++common;
  }
  if (common < stream.token_count() && (common == 0 || session_->rewind(common, nullptr) != Status::kOk)) {
    session_->reset();
    common = 0;
  }
  evaluated_tokens_ = static_cast<uint32_t>(tokens.size() - common);
  prompt_tokens_ = static_cast<uint32_t>(tokens.size());
  return session_->prefill(tokens.subspan(common), error);
}

Status Chat::reply(uint64_t max_tokens, PieceFunction on_piece, void* user_data, Error* error) {
  if (count_ == system_count()) {
    return fail(error, Status::kInvalidState, "the conversation has no message of the user");
  }
  if (messages_[count_ - 1].role == ChatRole::kAssistant) {
    return fail(error, Status::kInvalidState, "the last message is a reply: add a message or undo the reply first");
  }
  const size_t context = context_tokens();
  const uint32_t first = find_prompt_start();
  if (first == count_) {
    return fail(error, Status::kPromptTooLong, "the last turn and a reply of ", params_.reply_tokens,
                " tokens do not fit a context of ", context, " tokens and a history of ", params_.history_bytes,
                " bytes in ", params_.message_limit, " messages; shorten the message or the system's");
  }
  size_t count = 0;
  SOTTO_TRY(build_prompt(first, &count, error));
  const std::span<const int32_t> prompt(tokens_, count);
  if (prompt.empty()) return fail(error, Status::kInvalidState, "the prompt has no tokens");
  const UseCount::Scope use(&replies_);
  Status status = evaluate_prompt(prompt, error);
  if (status == Status::kOk) {
    const size_t free = (params_.history_bytes - kept_bytes(first)) / sizeof(int32_t);
    const uint64_t limit = std::min<uint64_t>({max_tokens, context - count, free});
    status = session_->generate({}, limit, on_piece, user_data, error);
    if (status == Status::kStopCallback || status == Status::kStopCancelled) session_->drop_unemitted();
    if (!is_failure(status)) {
      const TokenStream& stream = session_->token_stream();
      // If a stop string ends the text inside a token, several tokens may replace that token, even beyond max_tokens.
      const uint64_t end = std::min<uint64_t>({stream.token_count(), context, count + free});
      size_t size = 0;
      for (uint64_t i = count; i < end; ++i) tokens_[size++] = stream.token_at(i);
      drop_before(first);
      insert(count_, ChatRole::kAssistant, reply_bytes(size));
    }
  }
  return status;
}

Status Chat::undo(bool only_reply, Error* error) {
  if (only_reply) {
    if (count_ == 0 || messages_[count_ - 1].role != ChatRole::kAssistant) {
      return fail(error, Status::kInvalidState, "the last message is not a reply");
    }
    erase(count_ - 1, 1);
    return Status::kOk;
  }
  uint32_t last = count_;
  while (last > 0 && messages_[last - 1].role != ChatRole::kUser) --last;
  if (last == 0) return fail(error, Status::kInvalidState, "the conversation has no turn");
  erase(last - 1, count_ - (last - 1));
  return Status::kOk;
}

void Chat::reset() {
  if (is_in_use()) return;
  count_ = 0;
  dropped_turns_ = 0;
  prompt_tokens_ = evaluated_tokens_ = 0;
}

ChatInfo Chat::info() const {
  ChatInfo info = {};
  info.message_count = count_;
  for (uint32_t i = 0; i < count_; ++i) info.turn_count += messages_[i].role == ChatRole::kUser ? 1 : 0;
  info.prompt_tokens = prompt_tokens_;
  info.dropped_turn_count = dropped_turns_;
  info.evaluated_tokens = evaluated_tokens_;
  info.history_bytes = static_cast<uint32_t>(offset_of(count_));
  return info;
}

Chat::Header Chat::make_header() const {
  Header header;
  header.format = xxhash64(format_text_, format_size_);
  header.dropped_turns = dropped_turns_;
  header.history_bytes = offset_of(count_);
  return header;
}

void Chat::write(ByteWriter* writer) const {
  Header header = make_header();
  header.visit(writer);
  for (uint32_t i = 0; i < count_; ++i) visit(messages_[i], writer);
  writer->put_array(history_, static_cast<size_t>(header.history_bytes));
}

size_t Chat::saved_size() const {
  return kChatEnvelope.size([this](ByteWriter* writer) { write(writer); });
}

void Chat::save(uint8_t* bytes) const {
  const Envelope::Head head = {count_, session_->token_stream().model().view().fingerprint()};
  kChatEnvelope.save(bytes, head, [this](ByteWriter* writer) { write(writer); });
}

// Checks `count` messages and their contents.
Status Chat::verify(std::span<const uint8_t> messages, uint32_t count, std::span<const uint8_t> contents,
                    Error* error) const {
  const size_t vocabulary = session_->token_stream().model().config().vocabulary_size;
  ByteReader reader(messages);
  bool has_user = false;
  for (uint32_t i = 0; i < count; ++i) {
    Message message;
    visit(message, &reader);
    has_user = has_user || message.role == ChatRole::kUser;
    const bool is_placed = message.role == ChatRole::kSystem ? i == 0 : has_user;
    if (message.size > contents.size() || !is_placed) return reject_contradiction(error);
    const auto bytes = contents.first(message.size);
    contents = contents.subspan(message.size);
    if (message.role != ChatRole::kAssistant) {
      SOTTO_TRY(check_text(message.role, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}, error));
      continue;
    }
    ByteReader tokens(bytes);
    while (tokens.rest() > 0) {
      int32_t token;
      tokens.field(token);
      if (!tokens.require(is_token(token, vocabulary))) return reject_contradiction(error);
    }
  }
  return contents.empty() ? Status::kOk : reject_contradiction(error);
}

Status Chat::restore(std::span<const uint8_t> bytes, Error* error) {
  Envelope::Head head;
  std::span<const uint8_t> contents;
  SOTTO_TRY(kChatEnvelope.open(bytes, &head, &contents, error));
  ByteReader reader(contents);
  Header saved;
  saved.visit(&reader);
  if (reader.failed()) return reject_contradiction(error);
  if (head.fingerprint != session_->token_stream().model().view().fingerprint() ||
      saved.format != make_header().format) {
    return fail(error, Status::kInvalidArgument, "the saved conversation has another model or another format");
  }
  if (head.number > params_.message_limit || saved.history_bytes > params_.history_bytes) {
    return fail(error, Status::kInvalidArgument, "the saved conversation has ", head.number, " messages and ",
                saved.history_bytes, " bytes; message_limit is ", params_.message_limit, " and history_bytes is ",
                params_.history_bytes);
  }
  const size_t message_bytes = head.number * (2 * sizeof(uint32_t));
  if (reader.rest() != message_bytes + saved.history_bytes) return reject_contradiction(error);
  const auto history = contents.last(static_cast<size_t>(saved.history_bytes));
  SOTTO_TRY(verify(contents.subspan(Header::kBytes, message_bytes), head.number, history, error));
  count_ = head.number;
  dropped_turns_ = saved.dropped_turns;
  prompt_tokens_ = evaluated_tokens_ = 0;
  for (uint32_t i = 0; i < count_; ++i) visit(messages_[i], &reader);
  reader.get_array(history_, history.size());
  return Status::kOk;
}

}  // namespace sotto
