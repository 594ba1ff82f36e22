#include "runtime/chat/chat_format.h"

#include <algorithm>

namespace sotto {
namespace {

struct Place {
  const char* name;
  size_t size;
};
// In the order of ChatRole.
constexpr Place kPlaces[] = {{"{system}", 8}, {"{user}", 6}, {"{assistant}", 11}, {"{tool}", 6}};
constexpr Place kSeparator = {"{|}", 3};

// Returns the offset of `place` in `text`, or text.size().
size_t find_place(std::span<const char> text, const Place& place) {
  return static_cast<size_t>(std::search(text.begin(), text.end(), place.name, place.name + place.size) - text.begin());
}

bool is_white_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// Returns the size of a text without the white space at its end.
size_t size_without_space(std::span<const char> text) {
  size_t size = text.size();
  while (size > 0 && is_white_space(text[size - 1])) --size;
  return size;
}

}  // namespace

const char* ChatFormatView::text_of(ChatFormat format) {
  switch (format) {
    case ChatFormat::kPlain:
      return "{system}\n\n{|}User: {user}\n{|}Assistant:{assistant}\n{|}Tool: {tool}\n";
    case ChatFormat::kInstruct:
      return "{system}\n\n{|}### Instruction:\n{user}\n\n{|}### Response:\n{assistant}\n\n{|}### Input:\n{tool}\n\n";
    case ChatFormat::kChatml:
      return "<|im_start|>system\n{system}<|im_end|>\n{|}<|im_start|>user\n{user}<|im_end|>\n{|}"
             "<|im_start|>assistant\n{assistant}<|im_end|>\n{|}<|im_start|>tool\n{tool}<|im_end|>\n";
    case ChatFormat::kAlpaca:
      return "Below is an instruction that describes a task. Write a response that appropriately completes the "
             "request.\n\n{|}{system}\n\n{|}### Instruction:\n{user}\n\n{|}### Response:\n{assistant}\n\n{|}"
             "### Input:\n{tool}\n\n";
  }
  return "";
}

Status ChatFormatView::parse(std::span<const char> text, Error* error) {
  *this = {};
  if (text.empty() || text.size() > kMaxBytes) {
    return fail(error, Status::kInvalidArgument, "format has ", text.size(), " bytes; it must have 1 to ", kMaxBytes);
  }
  for (size_t offset = 0; offset <= text.size();) {
    const auto rest = text.subspan(offset);
    const size_t size = find_place(rest, kSeparator);
    SOTTO_TRY(parse_part(rest.first(size), offset, error));
    offset += size + kSeparator.size;
  }
  for (const ChatRole role : {ChatRole::kUser, ChatRole::kAssistant}) {
    if (part(role).is_present) continue;
    return fail(error, Status::kInvalidArgument, "format: no part contains ", kPlaces[static_cast<size_t>(role)].name);
  }
  return Status::kOk;
}

Status ChatFormatView::parse_part(std::span<const char> text, size_t offset, Error* error) {
  ChatPart found;
  ChatPart* target = nullptr;
  for (size_t role = 0; role < kRoleCount; ++role) {
    const size_t at = find_place(text, kPlaces[role]);
    if (at == text.size()) continue;
    const auto after = text.subspan(at + kPlaces[role].size);
    if (target != nullptr || parts_[role].is_present || find_place(after, kPlaces[role]) != after.size()) {
      return fail_at(error, Status::kInvalidArgument, offset + at, "format: ", kPlaces[role].name, " at byte ",
                     offset + at, "; a part must contain one place for a message, and a role must have one part");
    }
    target = &parts_[role];
    found = {text.first(at), after, true};
  }
  if (target != nullptr) {
    *target = found;
  } else if (offset == 0) {
    start_ = text;
  } else {
    return fail_at(error, Status::kInvalidArgument, offset, "format: the part at byte ", offset,
                   " contains no place for a message, such as {user}");
  }
  return Status::kOk;
}

size_t ChatFormatView::write_stop(char* stop) const {
  const auto after = part(ChatRole::kAssistant).after;
  const size_t kept = size_without_space(after);
  if (kept > 0) {
    std::copy_n(after.data(), kept, stop);
    return kept;
  }
  const auto before = part(ChatRole::kUser).before;
  const auto word = std::find_if_not(before.begin(), before.end(), is_white_space);
  const auto line = before.first(static_cast<size_t>(std::find(word, before.end(), '\n') - before.begin()));
  const size_t size = size_without_space(line);
  if (size == 0) return 0;
  std::copy(after.begin(), after.end(), stop);
  std::copy_n(line.data(), size, stop + after.size());
  return after.size() + size;
}

}  // namespace sotto
