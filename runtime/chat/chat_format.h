// The format of a conversation: how messages become a prompt. sotto_chat_format_text() describes the notation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/status.h"
#include "runtime/generated/params.h"

namespace sotto {

// The text around the messages of one role.
struct ChatPart {
  std::span<const char> before;
  std::span<const char> after;
  bool is_present = false;
};

class ChatFormatView {
 public:
  static constexpr size_t kMaxBytes = 4096;

  // Returns the text of a named format, or an empty string for other values.
  static const char* text_of(ChatFormat format);

  // Reads a format. Its text must outlive the view.
  Status parse(std::span<const char> text, Error* error);

  std::span<const char> start() const { return start_; }
  const ChatPart& part(ChatRole role) const { return parts_[static_cast<size_t>(role)]; }

  // Finds the string that ends a reply. Writes it to `stop` (kMaxBytes bytes) and returns its size, or 0 if there is
  // none.
  size_t write_stop(char* stop) const;

 private:
  Status parse_part(std::span<const char> text, size_t offset, Error* error);

  static constexpr size_t kRoleCount = 4;
  std::span<const char> start_;
  ChatPart parts_[kRoleCount];
};

}  // namespace sotto
