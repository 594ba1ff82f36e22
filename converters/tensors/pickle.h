// A restricted reader of Python's pickle format (PEP 307, PEP 3154) for untrusted files. A pickle is a program that may
// call any function, so the reader builds a tree of inert values and calls nothing: a call in the pickle becomes a
// value that records the name of the function and the arguments. A name that the caller does not allow is an error.
// Memory and time are linear in the size of the pickle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sotto {

// A node of the tree. The members after `kind` have the meaning that the kind determines.
struct PickleValue {
  enum class Kind : uint8_t {
    kNone,
    kFlag,
    kInteger,
    kBigInteger,  // outside int64; text holds the bytes, little-endian
    kReal,
    kText,
    kBytes,
    kTuple,
    kList,
    kSet,
    kDict,        // a dict or collections.OrderedDict; items holds keys and values alternately
    kGlobal,      // a class or function; text holds its name, for example "torch.FloatStorage"
    kCall,        // items holds the function and the tuple of its arguments; state may hold more
    kPersistent,  // items holds the id of an object outside the pickle
  };

  Kind kind = Kind::kNone;
  int64_t integer = 0;
  double real = 0;
  std::string text;
  std::vector<const PickleValue*> items;
  const PickleValue* state = nullptr;

  bool is_call_of(std::string_view function) const { return kind == Kind::kCall && items[0]->text == function; }
  // Returns the value of a key of a dict, or null.
  const PickleValue* find(std::string_view key) const;
};

// A parsed pickle. It owns the values of its tree.
class Pickle {
 public:
  // Parses the pickle at the start of `bytes`. Throws a std::runtime_error that begins with `where`.
  Pickle(std::string_view bytes, const std::string& where, bool (*allows)(std::string_view global));

  const PickleValue& root() const { return *root_; }
  // Returns all values, including those that the root does not refer to.
  const std::deque<PickleValue>& values() const { return values_; }
  // Returns the size of the pickle in bytes.
  size_t size() const { return at_; }

 private:
  using Kind = PickleValue::Kind;

  [[noreturn]] void fail(const std::string& message) const;
  void run();
  bool step();
  bool step_scalar(uint8_t opcode);
  bool step_container(uint8_t opcode);
  bool step_object(uint8_t opcode);
  bool step_stack(uint8_t opcode);

  std::string_view take(uint64_t size);
  std::string_view take_line();
  uint64_t take_number(size_t size);
  PickleValue& push(Kind kind);
  void push_text(Kind kind, std::string_view text);
  void push_integer(std::string_view bytes);
  void push_global(std::string_view module, std::string_view name);
  void push_call(bool has_keywords);
  void push_tuple(size_t size);
  PickleValue* pop();
  PickleValue& top();
  std::vector<const PickleValue*> pop_items(size_t size);
  std::vector<const PickleValue*> pop_to_mark();
  void add_items(Kind kind, const std::vector<const PickleValue*>& items);

  std::string_view bytes_;  // valid only during parsing
  std::string where_;
  bool (*allows_)(std::string_view global);
  size_t at_ = 0;
  size_t opcode_at_ = 0;
  std::deque<PickleValue> values_;
  std::vector<PickleValue*> stack_;
  std::vector<size_t> marks_;
  std::unordered_map<uint64_t, PickleValue*> memo_;
  const PickleValue* root_ = nullptr;
};

}  // namespace sotto
