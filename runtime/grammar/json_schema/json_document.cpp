#include "runtime/grammar/json_schema/json_document.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "runtime/base/ascii.h"
#include "runtime/base/utf8.h"
#include "runtime/base/xxhash64.h"
#include "runtime/grammar/compiler/source_error.h"

namespace sotto {

// The parser is one loop without recursion: the open containers are a chain of nodes.
class JsonReader {
 public:
  JsonReader(std::span<const char> text, JsonDocument& document, Error* error)
      : text_(text), document_(document), error_(error) {}

  Status read() {
    SOTTO_TRY(values());
    skip_space();
    if (at_ < text_.size()) return fail("trailing characters after the value");
    return Status::kOk;
  }

 private:
  Status fail(const char* what) { return fail_here(at_, what); }
  Status fail_here(uint64_t offset, const char* what) { return fail_in_source(error_, text_, offset, what); }

  bool at(char c) const { return at_ < text_.size() && text_[at_] == c; }
  bool take(char c) {
    if (!at(c)) return false;
    ++at_;
    return true;
  }
  bool at_digit() const { return at_ < text_.size() && is_digit(text_[at_]); }
  void skip_space() {
    while (at(' ') || at('\t') || at('\n') || at('\r')) ++at_;
  }

  JsonNode& node(uint32_t index) { return document_.nodes_[index]; }

  Status values() {
    open_ = kNoIndex;
    for (;;) {
      uint32_t value = kNoIndex;
      SOTTO_TRY(begin_value(&value));
      if (document_.workspace_.exhausted()) {
        return fail_too_large(error_);
      }
      bool closed = true;
      if (node(value).kind >= JsonKind::kArray) {
        open_ = value;
        skip_space();
        closed = at(node(value).kind == JsonKind::kArray ? ']' : '}');
        if (!closed && node(value).kind == JsonKind::kObject) SOTTO_TRY(member_name());
      }
      if (closed) SOTTO_TRY(after_value());
      if (open_ == kNoIndex) return Status::kOk;
    }
  }

  // Closes the containers that end after a value. Afterwards no container is open, or the next value of open_ begins.
  Status after_value() {
    while (open_ != kNoIndex) {
      const bool is_array = node(open_).kind == JsonKind::kArray;
      skip_space();
      if (take(is_array ? ']' : '}')) {
        if (!is_array) SOTTO_TRY(check_names());
        open_ = node(open_).parent;
        continue;
      }
      if (!take(',')) return fail(is_array ? "expected ',' or ']'" : "expected ',' or '}'");
      skip_space();
      return is_array ? Status::kOk : member_name();
    }
    return Status::kOk;
  }

  Status member_name() {
    if (!at('"')) return fail("expected a key");
    SOTTO_TRY(string(&name_, &name_size_));
    skip_space();
    if (!take(':')) return fail("expected ':'");
    return Status::kOk;
  }

  // Reads a whole scalar, or the opening bracket of an array or object.
  Status begin_value(uint32_t* value) {
    skip_space();
    JsonNode fresh{};
    fresh.first = fresh.last = fresh.next = kNoIndex;
    fresh.parent = open_;
    fresh.offset = at_;
    if (open_ != kNoIndex && node(open_).kind == JsonKind::kObject) {
      fresh.name = name_;
      fresh.name_size = name_size_;
    }
    if (at('"')) {
      fresh.kind = JsonKind::kString;
      SOTTO_TRY(string(&fresh.text, &fresh.text_size));
    } else if (at('-') || at_digit()) {
      fresh.kind = JsonKind::kNumber;
      SOTTO_TRY(number(&fresh));
    } else if (take('[')) {
      fresh.kind = JsonKind::kArray;
    } else if (take('{')) {
      fresh.kind = JsonKind::kObject;
    } else if (word("null")) {
      fresh.kind = JsonKind::kNull;
    } else if (word("false")) {
      fresh.kind = JsonKind::kFalse;
    } else if (word("true")) {
      fresh.kind = JsonKind::kTrue;
    } else {
      return fail("expected a JSON value");
    }
    *value = link(fresh);
    return Status::kOk;
  }

  uint32_t link(JsonNode& fresh) {
    if (open_ != kNoIndex) fresh.index = node(open_).count;
    const uint32_t index = document_.nodes_.push(fresh);
    if (open_ != kNoIndex && index != 0) {
      JsonNode& parent = node(open_);
      (parent.first == kNoIndex ? parent.first : node(parent.last).next) = index;
      parent.last = index;
      ++parent.count;
    }
    return index;
  }

  bool word(std::string_view word) {
    if (text_.size() - at_ < word.size()) return false;
    if (std::memcmp(text_.data() + at_, word.data(), word.size()) != 0) return false;
    at_ += word.size();
    return true;
  }

  Status number(JsonNode* value) {
    const size_t begin = at_;
    take('-');
    if (!at_digit()) return fail_here(begin, "invalid number");
    if (!take('0')) skip_digits();
    if (at_digit()) return fail_here(begin, "number has a leading zero");
    if (take('.') && !skip_digits()) return fail_here(begin, "invalid number");
    if (take('e') || take('E')) {
      if (!take('+')) take('-');
      if (!skip_digits()) return fail_here(begin, "invalid number");
    }
    value->text = document_.texts_.size();
    value->text_size = static_cast<uint32_t>(at_ - begin);
    for (size_t i = begin; i < at_; ++i) document_.texts_.push(text_[i]);
    return Status::kOk;
  }

  bool skip_digits() {
    const size_t begin = at_;
    while (at_digit()) ++at_;
    return at_ > begin;
  }

  Status string(uint32_t* text, uint32_t* size) {
    const size_t begin = at_++;
    auto& out = document_.texts_;
    *text = out.size();
    while (!take('"')) {
      if (at_ == text_.size()) return fail_here(begin, "unterminated string");
      const auto byte = static_cast<uint8_t>(text_[at_]);
      if (byte < 0x20) return fail("control character in a string");
      if (byte == '\\') {
        SOTTO_TRY(escape());
        continue;
      }
      const Utf8Character character = decode_utf8(text_.data() + at_, text_.size() - at_);
      if (!character.valid) return fail("invalid UTF-8");
      for (uint32_t i = 0; i < character.size; ++i) out.push(text_[at_ + i]);
      at_ += character.size;
    }
    *size = out.size() - *text;
    return Status::kOk;
  }

  Status escape() {
    static constexpr char kFrom[] = "\"\\/bfnrt";
    static constexpr char kTo[] = "\"\\/\b\f\n\r\t";
    const size_t begin = at_++;
    const char kind = at_ < text_.size() ? text_[at_] : '\0';
    if (kind == 'u') {
      uint32_t code_point = 0;
      if (!hexadecimal(&code_point)) return fail_here(begin, "invalid escape sequence");
      if (code_point >= 0xD800 && code_point < 0xDC00 && at('\\')) {
        uint32_t low = 0;
        ++at_;
        if (!at('u') || !hexadecimal(&low) || low < 0xDC00 || low > 0xDFFF) {
          return fail_here(begin, "unpaired surrogate");
        }
        code_point = 0x10000 + ((code_point - 0xD800) << 10) + (low - 0xDC00);
      }
      if (!is_scalar_value(code_point)) return fail_here(begin, "unpaired surrogate");
      uint8_t bytes[4];
      const uint32_t size = encode_utf8(code_point, bytes);
      for (uint32_t i = 0; i < size; ++i) document_.texts_.push(static_cast<char>(bytes[i]));
      return Status::kOk;
    }
    const char* found = kind == '\0' ? nullptr : std::strchr(kFrom, kind);
    if (found == nullptr) return fail_here(begin, "invalid escape sequence");
    ++at_;
    document_.texts_.push(kTo[found - kFrom]);
    return Status::kOk;
  }

  // Reads the four digits after a 'u', which is the current character.
  bool hexadecimal(uint32_t* value) {
    if (text_.size() - at_ < 5) return false;
    *value = 0;
    for (uint32_t i = 1; i <= 4; ++i) {
      const int digit = hex_value(text_[at_ + i]);
      if (digit < 0) return false;
      *value = *value << 4 | static_cast<uint32_t>(digit);
    }
    at_ += 5;
    return true;
  }

  Status check_names() {
    Workspace& workspace = document_.workspace_;
    const uint32_t count = node(open_).count;
    const size_t mark = workspace.size();
    auto* members = workspace.take<uint32_t>(count);
    if (members == nullptr) return Status::kOk;  // values() reports that the workspace is exhausted
    uint32_t filled = 0;
    for (uint32_t i = node(open_).first; i != kNoIndex; i = node(i).next) members[filled++] = i;
    std::sort(members, members + filled, [&](uint32_t a, uint32_t b) { return document_.name(a) < document_.name(b); });
    for (uint32_t i = 1; i < filled; ++i) {
      if (document_.name(members[i]) != document_.name(members[i - 1])) continue;
      const uint32_t later = std::max(members[i], members[i - 1]);
      return fail_at_name(error_, text_, node(later).offset, "duplicate key", document_.name(later));
    }
    workspace.release(mark);
    return Status::kOk;
  }

  std::span<const char> text_;
  JsonDocument& document_;
  Error* error_;
  size_t at_ = 0;
  uint32_t open_ = kNoIndex;
  uint32_t name_ = 0;
  uint32_t name_size_ = 0;
};

Status JsonDocument::parse(std::span<const char> text, Error* error) {
  nodes_.truncate(0);
  texts_.truncate(0);
  SOTTO_TRY(JsonReader(text, *this, error).read());
  return build_index(error);
}

namespace {

uint32_t child_hash(uint32_t object, std::string_view name) {
  return static_cast<uint32_t>(xxhash64(name.data(), name.size(), object));
}
uint32_t child_hash(uint32_t array, uint32_t index) {
  return static_cast<uint32_t>(xxhash64(&index, sizeof index, array));
}

}  // namespace

Status JsonDocument::build_index(Error* error) {
  const uint32_t slot_count = std::bit_ceil(count() + count() / 2 + 1);
  auto* const slots = workspace_.take<uint32_t>(slot_count);
  if (slots == nullptr) return fail_too_large(error);
  children_.use(slots, slot_count);
  for (uint32_t node = 1; node < count(); ++node) {
    const uint32_t parent = nodes_[node].parent;
    const bool is_element = nodes_[parent].kind == JsonKind::kArray;
    children_.insert(is_element ? child_hash(parent, nodes_[node].index) : child_hash(parent, name(node)), node);
  }
  return Status::kOk;
}

uint32_t JsonDocument::member(uint32_t object, std::string_view name) const {
  if (object == kNoIndex || nodes_[object].kind != JsonKind::kObject) return kNoIndex;
  return children_.find(child_hash(object, name),
                        [&](uint32_t node) { return nodes_[node].parent == object && this->name(node) == name; });
}

uint32_t JsonDocument::element(uint32_t array, uint32_t index) const {
  if (array == kNoIndex || nodes_[array].kind != JsonKind::kArray) return kNoIndex;
  return children_.find(child_hash(array, index),
                        [&](uint32_t node) { return nodes_[node].parent == array && nodes_[node].index == index; });
}

size_t JsonDocument::pointer(uint32_t node, char* out, size_t capacity) const {
  constexpr uint32_t kMaxDepth = 48;  // the pointer of a deeper node has only its last names
  uint32_t path[kMaxDepth];
  uint32_t depth = 0;
  for (; node != kNoIndex && nodes_[node].parent != kNoIndex; node = nodes_[node].parent) {
    if (depth < kMaxDepth) path[depth++] = node;
  }
  size_t size = 0;
  const auto put = [&](char c) {
    if (size < capacity) out[size++] = c;
  };
  put('#');
  while (depth > 0) {
    const uint32_t step = path[--depth];
    put('/');
    if (nodes_[nodes_[step].parent].kind == JsonKind::kArray) {
      char digits[12];
      uint32_t count = 0;
      uint32_t index = nodes_[step].index;
      do {
        digits[count++] = static_cast<char>('0' + index % 10);
        index /= 10;
      } while (index > 0);
      while (count > 0) put(digits[--count]);
      continue;
    }
    for (const char c : name(step)) {
      if (c == '~' || c == '/') {
        put('~');
        put(c == '~' ? '0' : '1');
      } else {
        put(c);
      }
    }
  }
  return size;
}

Status JsonDocument::fail(uint32_t node, Status status, const char* what, Error* error) const {
  char text[120];
  const size_t size = pointer(node, text, sizeof text);
  return fail_at(error, status, nodes_[node].offset, std::span<const char>(text, size), ": ", what);
}

}  // namespace sotto
