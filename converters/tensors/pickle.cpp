#include "converters/tensors/pickle.h"

#include <bit>
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "converters/file.h"

namespace sotto {
namespace {

constexpr size_t kValueLimit = size_t{1} << 20;

// Opcodes, with the names of Python's pickletools. The text opcodes of protocol 0 are not supported.
enum Opcode : uint8_t {
  kMark = '(',
  kStop = '.',
  kPop = '0',
  kPopMark = '1',
  kDup = '2',
  kBinFloat = 'G',
  kBinInt = 'J',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kNone = 'N',
  kBinPersId = 'Q',
  kReduce = 'R',
  kBinString = 'T',
  kShortBinString = 'U',
  kBinUnicode = 'X',
  kAppend = 'a',
  kBuild = 'b',
  kGlobal = 'c',
  kDictOp = 'd',
  kEmptyDict = '}',
  kAppends = 'e',
  kBinGet = 'h',
  kLongBinGet = 'j',
  kListOp = 'l',
  kEmptyList = ']',
  kBinPut = 'q',
  kLongBinPut = 'r',
  kSetItem = 's',
  kTupleOp = 't',
  kEmptyTuple = ')',
  kSetItems = 'u',
  kBinBytes = 'B',
  kShortBinBytes = 'C',
  kProto = 0x80,
  kNewObj = 0x81,
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kNewTrue = 0x88,
  kNewFalse = 0x89,
  kLong1 = 0x8A,
  kLong4 = 0x8B,
  kShortBinUnicode = 0x8C,
  kBinUnicode8 = 0x8D,
  kBinBytes8 = 0x8E,
  kEmptySet = 0x8F,
  kAddItems = 0x90,
  kFrozenSet = 0x91,
  kNewObjEx = 0x92,
  kStackGlobal = 0x93,
  kMemoize = 0x94,
  kFrame = 0x95,
};

}  // namespace

const PickleValue* PickleValue::find(std::string_view key) const {
  if (kind != Kind::kDict) return nullptr;
  for (size_t i = items.size(); i > 0; i -= 2) {  // the last of equal keys counts
    if (items[i - 2]->kind == Kind::kText && items[i - 2]->text == key) return items[i - 1];
  }
  return nullptr;
}

Pickle::Pickle(std::string_view bytes, const std::string& where, bool (*allows)(std::string_view global))
    : bytes_(bytes), where_(where), allows_(allows) {
  run();
}

void Pickle::fail(const std::string& message) const {
  throw std::runtime_error(where_ + ": pickle: byte " + std::to_string(opcode_at_) + ": " + message);
}

void Pickle::run() {
  while (step()) {
  }
  if (stack_.size() != 1) fail("it ends with " + std::to_string(stack_.size()) + " values, not one");
  root_ = stack_.front();
  bytes_ = {};
}

// Executes one opcode. Returns false after the last one.
bool Pickle::step() {
  opcode_at_ = at_;
  const auto opcode = static_cast<uint8_t>(take(1)[0]);
  if (opcode == kStop) return false;
  if (step_scalar(opcode) || step_container(opcode) || step_object(opcode) || step_stack(opcode)) return true;
  char text[8];
  std::snprintf(text, sizeof text, "0x%02x", opcode);
  fail(std::string("opcode ") + text + " is not supported");
}

bool Pickle::step_scalar(uint8_t opcode) {
  switch (opcode) {
    case kNone:
      push(Kind::kNone);
      return true;
    case kNewTrue:
    case kNewFalse:
      push(Kind::kFlag).integer = opcode == kNewTrue;
      return true;
    case kBinInt:
      push_integer(take(4));
      return true;
    case kBinInt1:
      push(Kind::kInteger).integer = static_cast<int64_t>(take_number(1));
      return true;
    case kBinInt2:
      push(Kind::kInteger).integer = static_cast<int64_t>(take_number(2));
      return true;
    case kLong1:
      push_integer(take(take_number(1)));
      return true;
    case kLong4:
      push_integer(take(take_number(4)));
      return true;
    case kBinFloat: {
      uint64_t bits = 0;  // big-endian
      for (const char byte : take(sizeof bits)) bits = bits << 8 | static_cast<uint8_t>(byte);
      push(Kind::kReal).real = std::bit_cast<double>(bits);
      return true;
    }
    case kShortBinString:  // text of Python 2
    case kShortBinUnicode:
      push_text(Kind::kText, take(take_number(1)));
      return true;
    case kBinString:
    case kBinUnicode:
      push_text(Kind::kText, take(take_number(4)));
      return true;
    case kBinUnicode8:
      push_text(Kind::kText, take(take_number(8)));
      return true;
    case kShortBinBytes:
      push_text(Kind::kBytes, take(take_number(1)));
      return true;
    case kBinBytes:
      push_text(Kind::kBytes, take(take_number(4)));
      return true;
    case kBinBytes8:
      push_text(Kind::kBytes, take(take_number(8)));
      return true;
    default:
      return false;
  }
}

bool Pickle::step_container(uint8_t opcode) {
  switch (opcode) {
    case kEmptyTuple:
      push(Kind::kTuple);
      return true;
    case kEmptyList:
      push(Kind::kList);
      return true;
    case kEmptyDict:
      push(Kind::kDict);
      return true;
    case kEmptySet:
      push(Kind::kSet);
      return true;
    case kTuple1:
    case kTuple2:
    case kTuple3:
      push_tuple(opcode - kTuple1 + size_t{1});
      return true;
    case kTupleOp:
    case kListOp:
    case kFrozenSet: {
      std::vector<const PickleValue*> items = pop_to_mark();
      push(opcode == kTupleOp ? Kind::kTuple : opcode == kListOp ? Kind::kList : Kind::kSet).items = std::move(items);
      return true;
    }
    case kDictOp: {
      const std::vector<const PickleValue*> items = pop_to_mark();
      push(Kind::kDict);
      add_items(Kind::kDict, items);
      return true;
    }
    case kAppend:
      add_items(Kind::kList, pop_items(1));
      return true;
    case kAppends:
      add_items(Kind::kList, pop_to_mark());
      return true;
    case kSetItem:
      add_items(Kind::kDict, pop_items(2));
      return true;
    case kSetItems:
      add_items(Kind::kDict, pop_to_mark());
      return true;
    case kAddItems:
      add_items(Kind::kSet, pop_to_mark());
      return true;
    default:
      return false;
  }
}

bool Pickle::step_object(uint8_t opcode) {
  switch (opcode) {
    case kGlobal: {
      const std::string_view module = take_line();
      push_global(module, take_line());
      return true;
    }
    case kStackGlobal: {
      const PickleValue* name = pop();
      const PickleValue* module = pop();
      if (name->kind != Kind::kText || module->kind != Kind::kText) fail("the name of a global is not text");
      push_global(module->text, name->text);
      return true;
    }
    case kReduce:
    case kNewObj:
      push_call(false);
      return true;
    case kNewObjEx:
      push_call(true);
      return true;
    case kBuild: {
      const PickleValue* state = pop();
      top().state = state;
      return true;
    }
    case kBinPersId: {
      std::vector<const PickleValue*> id = pop_items(1);
      push(Kind::kPersistent).items = std::move(id);
      return true;
    }
    default:
      return false;
  }
}

bool Pickle::step_stack(uint8_t opcode) {
  constexpr uint64_t kNewestProtocol = 5;
  switch (opcode) {
    case kProto:
      if (const uint64_t protocol = take_number(1); protocol > kNewestProtocol) {
        fail("protocol " + std::to_string(protocol) + " is not supported");
      }
      return true;
    case kFrame:
      take_number(8);
      return true;
    case kMark:
      marks_.push_back(stack_.size());
      return true;
    case kPop:
      pop();
      return true;
    case kPopMark:
      pop_to_mark();
      return true;
    case kDup:
      stack_.push_back(&top());
      return true;
    case kBinPut:
      memo_[take_number(1)] = &top();
      return true;
    case kLongBinPut:
      memo_[take_number(4)] = &top();
      return true;
    case kMemoize:
      memo_[memo_.size()] = &top();
      return true;
    case kBinGet:
    case kLongBinGet: {
      const uint64_t index = take_number(opcode == kBinGet ? 1 : 4);
      const auto found = memo_.find(index);
      if (found == memo_.end()) fail("memo " + std::to_string(index) + " does not exist");
      stack_.push_back(found->second);
      return true;
    }
    default:
      return false;
  }
}

std::string_view Pickle::take(uint64_t size) {
  if (size > bytes_.size() - at_) fail("the pickle ends within a value; the file is damaged or incomplete");
  const std::string_view taken = bytes_.substr(at_, size);
  at_ += size;
  return taken;
}

std::string_view Pickle::take_line() {
  const size_t end = bytes_.find('\n', at_);
  if (end == std::string_view::npos) fail("the pickle ends within a name; the file is damaged or incomplete");
  const std::string_view line = take(end - at_);
  take(1);
  return line;
}

uint64_t Pickle::take_number(size_t size) {
  uint64_t number = 0;
  std::memcpy(&number, take(size).data(), size);
  return number;
}

PickleValue& Pickle::push(Kind kind) {
  if (values_.size() == kValueLimit) fail("it has more than " + std::to_string(kValueLimit) + " values");
  values_.emplace_back().kind = kind;
  stack_.push_back(&values_.back());
  return values_.back();
}

void Pickle::push_text(Kind kind, std::string_view text) { push(kind).text = text; }

// Pushes a signed little-endian integer of any size.
void Pickle::push_integer(std::string_view bytes) {
  if (bytes.size() > sizeof(int64_t)) return push_text(Kind::kBigInteger, bytes);
  const bool is_negative = !bytes.empty() && (bytes.back() & 0x80) != 0;
  int64_t integer = is_negative ? -1 : 0;
  std::memcpy(&integer, bytes.data(), bytes.size());
  push(Kind::kInteger).integer = integer;
}

void Pickle::push_global(std::string_view module, std::string_view name) {
  const std::string global = std::string(module) + "." + std::string(name);
  if (!allows_(global)) {
    fail("it refers to " + in_quotes(global) +
         ", which is not a part of a checkpoint's tensors; it was not loaded or called. If you trust the file, load it "
         "in Python and save its state_dict()");
  }
  push_text(Kind::kGlobal, global);
}

void Pickle::push_call(bool has_keywords) {
  if (has_keywords) pop();
  std::vector<const PickleValue*> parts = pop_items(2);
  if (parts[0]->kind != Kind::kGlobal || parts[1]->kind != Kind::kTuple) fail("a call has no function or no arguments");
  if (parts[0]->text == "collections.OrderedDict" && parts[1]->items.empty()) {
    push(Kind::kDict);
  } else {
    push(Kind::kCall).items = std::move(parts);
  }
}

void Pickle::push_tuple(size_t size) {
  std::vector<const PickleValue*> items = pop_items(size);
  push(Kind::kTuple).items = std::move(items);
}

PickleValue& Pickle::top() {
  if (stack_.size() == (marks_.empty() ? 0 : marks_.back())) fail("a value is missing");
  return *stack_.back();
}

PickleValue* Pickle::pop() {
  PickleValue* value = &top();
  stack_.pop_back();
  return value;
}

std::vector<const PickleValue*> Pickle::pop_items(size_t size) {
  std::vector<const PickleValue*> items(size);
  for (size_t i = size; i-- > 0;) items[i] = pop();
  return items;
}

std::vector<const PickleValue*> Pickle::pop_to_mark() {
  if (marks_.empty()) fail("a mark is missing");
  const auto first = stack_.begin() + static_cast<ptrdiff_t>(marks_.back());
  std::vector<const PickleValue*> items(first, stack_.end());
  stack_.erase(first, stack_.end());
  marks_.pop_back();
  return items;
}

// Adds items to the container on top of the stack.
void Pickle::add_items(Kind kind, const std::vector<const PickleValue*>& items) {
  PickleValue& container = top();
  if (container.kind != kind) fail("items are added to a value of another type");
  if (kind == Kind::kDict && items.size() % 2 != 0) fail("a key has no value");
  container.items.insert(container.items.end(), items.begin(), items.end());
}

}  // namespace sotto
