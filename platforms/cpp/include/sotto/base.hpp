// Part of sotto.hpp: status, errors, views of arrays, aligned memory.
#ifndef SOTTO_BASE_HPP
#define SOTTO_BASE_HPP

#include <sotto.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <initializer_list>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#if defined(__linux__)
#  include <sys/mman.h>
#endif

#if !defined(SOTTO_HPP_NO_EXCEPTIONS) && !defined(__cpp_exceptions)
#  define SOTTO_HPP_NO_EXCEPTIONS
#endif

// The types for exceptions and for Expected are in different inline namespaces: one program may contain both.
#ifdef SOTTO_HPP_NO_EXCEPTIONS
#  define SOTTO_HPP_ERRORS_ expecting
#else
#  define SOTTO_HPP_ERRORS_ throwing
#endif

namespace sotto {
inline namespace SOTTO_HPP_ERRORS_ {

using Token = sotto_token;

// The values of sotto_status that are not failures. Later versions may add new ones.
enum class Status : sotto_status {
  ok = SOTTO_OK,
  end_of_text = SOTTO_STOP_END_OF_TEXT,
  max_tokens = SOTTO_STOP_MAX_TOKENS,
  context_full = SOTTO_STOP_CONTEXT_FULL,
  grammar = SOTTO_STOP_GRAMMAR,
  callback = SOTTO_STOP_CALLBACK,
  cancelled = SOTTO_STOP_CANCELLED,
  stop_token = SOTTO_STOP_TOKEN,
  stop_string = SOTTO_STOP_STRING,
  time = SOTTO_STOP_TIME,
  repetition = SOTTO_STOP_REPETITION,
  banned = SOTTO_STOP_BANNED
};

inline const char* text_of(Status status) { return sotto_status_text(static_cast<sotto_status>(status)); }

// A failure: its status (such as SOTTO_INVALID_ARGUMENT), a message, and the offset in the input if one is known.
class Error : public std::exception {
 public:
  static constexpr uint64_t no_offset = UINT64_MAX;

  explicit Error(sotto_status status, const char* message = nullptr) {
    error_.struct_size = sizeof error_;
    error_.status = status;
    error_.offset = no_offset;
    std::snprintf(error_.message, sizeof error_.message, "%s", message ? message : sotto_status_text(status));
  }
  explicit Error(const sotto_error& error) : error_(error) {}

  const char* what() const noexcept override { return error_.message; }
  sotto_status status() const noexcept { return error_.status; }
  uint64_t offset() const noexcept { return error_.offset; }
  const sotto_error& c_error() const noexcept { return error_; }

 private:
  sotto_error error_{};
};

#ifdef SOTTO_HPP_NO_EXCEPTIONS
// A value or an error. Calling value() on an error aborts the program.
template <class T>
class [[nodiscard]] Expected {
 public:
  Expected(T value) : content_(std::in_place_index<0>, std::move(value)) {}
  Expected(Error error) : content_(std::in_place_index<1>, error) {}

  bool has_value() const noexcept { return content_.index() == 0; }
  explicit operator bool() const noexcept { return has_value(); }
  T& value() & { return *check(); }
  const T& value() const& { return *const_cast<Expected*>(this)->check(); }
  T&& value() && { return std::move(*check()); }
  T& operator*() & { return *check(); }
  T&& operator*() && { return std::move(*check()); }
  T* operator->() { return check(); }
  const Error& error() const { return *std::get_if<1>(&content_); }

 private:
  T* check() {
    T* value = std::get_if<0>(&content_);
    if (!value) {
      std::fprintf(stderr, "%s\n", error().what());
      std::abort();
    }
    return value;
  }

  std::variant<T, Error> content_;
};

template <>
class [[nodiscard]] Expected<void> : public Expected<std::monostate> {
 public:
  Expected() : Expected<std::monostate>(std::monostate{}) {}
  Expected(Error error) : Expected<std::monostate>(error) {}
};

template <class T>
using Result = Expected<T>;
#  define SOTTO_HPP_FAIL_(error) return (error)
#  define SOTTO_HPP_DONE_ return Expected<void>()
// SOTTO_HPP_VALUE_(name, call) declares a variable `name` and initializes it with the value of a Result.
#  define SOTTO_HPP_VALUE_(name, call)                           \
    auto name##_result = (call);                                 \
    if (!name##_result) return std::move(name##_result).error(); \
    auto& name = *name##_result
#else
template <class T>
using Result = T;
#  define SOTTO_HPP_FAIL_(error) throw(error)
#  define SOTTO_HPP_DONE_ return
#  define SOTTO_HPP_VALUE_(name, call) auto name = (call)  // NOLINT(bugprone-macro-parentheses): a declaration
#endif

// SOTTO_HPP_TRY_PLAIN_(call) returns the failure of a function that reports only a status.
#define SOTTO_HPP_TRY_PLAIN_(call)                             \
  do {                                                         \
    const sotto_status status_ = (call);                       \
    if (status_ < 0) SOTTO_HPP_FAIL_(::sotto::Error(status_)); \
  } while (false)
// SOTTO_HPP_TRY_SESSION_(call) returns the failure of a function without an error parameter, which the session
// describes.
#define SOTTO_HPP_TRY_SESSION_(call)                    \
  do {                                                  \
    const sotto_status status_ = (call);                \
    if (status_ < 0) SOTTO_HPP_FAIL_(failure(status_)); \
  } while (false)
// SOTTO_HPP_TRY_WHOLE_(call) also returns a stop as a failure, for calls whose outputs a stop leaves unwritten.
#define SOTTO_HPP_TRY_WHOLE_(call)                       \
  do {                                                   \
    const sotto_status status_ = (call);                 \
    if (status_ != 0) SOTTO_HPP_FAIL_(failure(status_)); \
  } while (false)
// SOTTO_HPP_TRY_(call) returns from a function that returns a Result if `call` fails. The call must report details to a
// detail::Report named `report`.
#define SOTTO_HPP_TRY_(call)                                 \
  do {                                                       \
    const sotto_status status_ = (call);                     \
    if (status_ < 0) SOTTO_HPP_FAIL_(report.error(status_)); \
  } while (false)

namespace detail {

// Receives the details of a failure from the C interface. If a file is the cause, the message begins with its name.
class Report {
 public:
  explicit Report(std::string file = {}) : file_(std::move(file)) { error_.struct_size = sizeof error_; }
  sotto_error* out() { return &error_; }
  Error error(sotto_status status) const {
    sotto_error found = error_.status == status ? error_ : Error(status).c_error();
    if (!file_.empty()) {
      const std::string message = file_ + ": " + found.message;
      std::snprintf(found.message, sizeof found.message, "%s", message.c_str());
    }
    return Error(found);
  }

 private:
  std::string file_;
  sotto_error error_{};
};

// Runs callbacks inside the C library, and stops exceptions from unwinding its frames.
class Guard {
 public:
  template <class Function>
  bool run(Function&& function) {
#ifdef SOTTO_HPP_NO_EXCEPTIONS
    function();
    return true;
#else
    try {
      function();
      return true;
    } catch (...) {
      exception_ = std::current_exception();
      return false;
    }
#endif
  }
  void rethrow() {
#ifndef SOTTO_HPP_NO_EXCEPTIONS
    if (exception_) std::rethrow_exception(std::exchange(exception_, nullptr));
#endif
  }

 private:
#ifndef SOTTO_HPP_NO_EXCEPTIONS
  std::exception_ptr exception_;
#endif
};

}  // namespace detail

// A view of an array, like std::span. It converts from vectors, arrays, strings, spans and braced lists, which must
// outlive it.
template <class T>
class View {
 public:
  constexpr View() = default;
  constexpr View(T* data, size_t size) : data_(data), size_(size) {}
  template <size_t n>
  constexpr View(T (&array)[n]) : data_(array), size_(n) {}
  View(std::initializer_list<std::remove_const_t<T>> list) : data_(list.begin()), size_(list.size()) {}
  template <class Container,
            class = std::enable_if_t<std::is_convertible_v<decltype(std::declval<Container&>().data()), T*>>>
  constexpr View(Container&& container) : data_(container.data()), size_(container.size()) {}

  constexpr T* data() const { return data_; }
  constexpr size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr T* begin() const { return data_; }
  constexpr T* end() const { return data_ + size_; }
  constexpr T& operator[](size_t i) const { return data_[i]; }

 private:
  T* data_ = nullptr;
  size_t size_ = 0;
};
using Tokens = View<const Token>;
using Bytes = View<const uint8_t>;

namespace detail {

#ifdef MADV_HUGEPAGE
constexpr size_t huge_page = size_t{2} << 20;
inline void ask_for_huge_pages(void* memory, size_t size) { madvise(memory, size, MADV_HUGEPAGE); }
#else
constexpr size_t huge_page = SIZE_MAX;  // no block reaches this size
inline void ask_for_huge_pages(void*, size_t) {}
#endif

inline std::align_val_t alignment_of(size_t size) {
  return std::align_val_t{size < huge_page ? SOTTO_MEMORY_ALIGNMENT : huge_page};
}

struct Release {
  std::align_val_t alignment{SOTTO_MEMORY_ALIGNMENT};
  void operator()(void* block) const { ::operator delete(block, alignment); }
};

}  // namespace detail

// A block of memory that is aligned to SOTTO_MEMORY_ALIGNMENT, or empty if there was not enough memory. Large blocks
// use huge pages if the system supports them, because decoding reads all weights for every token and is faster with
// fewer address translations. The code repeats a part of sotto_posix, because the binding is header-only.
class Memory {
 public:
  Memory() = default;
  explicit Memory(size_t size)
      : block_(::operator new(size ? size : 1, detail::alignment_of(size), std::nothrow),
               detail::Release{detail::alignment_of(size)}),
        size_(size) {
    if (data() && size >= detail::huge_page) detail::ask_for_huge_pages(data(), size);
  }

  void* data() const { return block_.get(); }
  size_t size() const { return size_; }

 private:
  std::unique_ptr<void, detail::Release> block_;
  size_t size_ = 0;
};

namespace detail {

inline sotto_status allocate(size_t size, Memory& memory) {
  memory = Memory(size);
  return memory.data() ? SOTTO_OK : SOTTO_MEMORY_TOO_SMALL;
}

}  // namespace detail

}  // namespace SOTTO_HPP_ERRORS_
}  // namespace sotto

#endif  // SOTTO_BASE_HPP
