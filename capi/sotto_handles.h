// Conversions between the C interface and the runtime: handles, statuses, errors and structs. A caller compiled against
// another minor version knows fewer or more fields of a struct.
#pragma once

#include <cstddef>
#include <cstring>
#include <type_traits>

#include "capi/generated/field_ends.h"
#include "capi/include/sotto.h"
#include "runtime/base/status.h"
#include "runtime/grammar/compiler/compiled_grammar.h"
#include "runtime/grammar/vocabulary/vocabulary.h"
#include "runtime/model/model.h"
#include "runtime/session/session.h"

namespace sotto {

class Chat;
class Matcher;
class StandaloneSampler;

}  // namespace sotto

namespace sotto::capi {

// The runtime's class of each handle.
template <typename Handle>
struct ClassOf;
template <>
struct ClassOf<sotto_chat> : std::type_identity<Chat> {};
template <>
struct ClassOf<sotto_grammar> : std::type_identity<CompiledGrammar> {};
template <>
struct ClassOf<sotto_matcher> : std::type_identity<Matcher> {};
template <>
struct ClassOf<sotto_model> : std::type_identity<Model> {};
template <>
struct ClassOf<sotto_sampler> : std::type_identity<StandaloneSampler> {};
template <>
struct ClassOf<sotto_session> : std::type_identity<Session> {};
template <>
struct ClassOf<sotto_vocabulary> : std::type_identity<Vocabulary> {};

template <typename Handle>
typename ClassOf<Handle>::type* unwrap(Handle* handle) {
  return reinterpret_cast<typename ClassOf<Handle>::type*>(handle);
}
template <typename Handle>
const typename ClassOf<Handle>::type* unwrap(const Handle* handle) {
  return reinterpret_cast<const typename ClassOf<Handle>::type*>(handle);
}

// Reverses unwrap(). `Handle` has to be named.
template <typename Handle>
Handle* to_handle(typename ClassOf<Handle>::type* object) {
  return reinterpret_cast<Handle*>(object);
}
template <typename Handle>
const Handle* to_handle(const typename ClassOf<Handle>::type* object) {
  return reinterpret_cast<const Handle*>(object);
}

inline sotto_status wrap(Status status) { return static_cast<sotto_status>(status); }

// Like SOTTO_TRY, but for an expression with a sotto_status.
#define SOTTO_TRY_C(expression)                                                                                    \
  do {                                                                                                             \
    if (const sotto_status sotto_try_status = (expression); sotto_try_status != SOTTO_OK) return sotto_try_status; \
  } while (false)

// Copies the fields that both sides know: the fields that end within both sizes. `target` keeps its struct_size.
template <typename T>
void copy_known(T* target, uint32_t target_size, const T& source, uint32_t source_size) {
  const size_t size = target_size < source_size ? target_size : source_size;
  size_t known = sizeof(uint32_t);
  for (const size_t end : FieldEnds<T>::kEnds) {
    if (end <= size) known = end;
  }
  std::memcpy(reinterpret_cast<char*>(target) + sizeof(uint32_t),
              reinterpret_cast<const char*>(&source) + sizeof(uint32_t), known - sizeof(uint32_t));
}

// Writes the fields of `source` that the caller knows. The caller has set target->struct_size.
template <typename T>
void fill(T* target, const T& source) {
  copy_known(target, target->struct_size, source, sizeof(T));
}

// Returns a caller's struct. Fields that the caller does not know have their defaults. `given` may be null.
template <typename T>
T read(const T* given, const T& defaults) {
  T params = defaults;
  if (given != nullptr) copy_known(&params, sizeof(T), *given, given->struct_size);
  return params;
}

// Writes the defaults into a struct of `size` bytes. Does nothing if `params` is null or ends inside
// struct_size.
template <typename T>
void init_params(T* params, size_t size, const T& defaults) {
  if (params == nullptr || size < sizeof params->struct_size) return;
  params->struct_size = static_cast<uint32_t>(size);
  fill(params, defaults);
}

inline sotto_error to_c(const Error& error) {
  sotto_error c_error = {};
  c_error.status = wrap(error.status);
  c_error.offset = error.offset;
  static_assert(sizeof c_error.message == sizeof error.message);
  std::memcpy(c_error.message, error.message, sizeof c_error.message);
  return c_error;
}

// Collects the details of a failure during a call.
class ErrorOut {
 public:
  // The destructor copies the details to the caller's sotto_error, unless that is null.
  explicit ErrorOut(sotto_error* out) : out_(out) {}
  ~ErrorOut() {
    if (out_ == nullptr || error_.status == Status::kOk) return;
    fill(out_, to_c(error_));
  }
  ErrorOut(const ErrorOut&) = delete;
  ErrorOut& operator=(const ErrorOut&) = delete;

  Error* get() { return &error_; }

  // Returns the status of the call. A failure without details is described by the text of its status.
  sotto_status finish(sotto_status status) {
    const auto own = static_cast<Status>(status);
    if (!is_failure(own) || error_.status == own) return status;
    return wrap(fail(&error_, own, status_text(own)));
  }

  // Each of the following records a message and returns the status of the failure.
  sotto_status null_argument(const char* name) {
    return wrap(fail(&error_, Status::kInvalidArgument, name, " is NULL"));
  }
  // Rejects null, and an object that is in use, such as one that is called from its own callback.
  template <typename Object>
  sotto_status check_usable(const Object* object, const char* name) {
    if (object == nullptr) return null_argument(name);
    return object->is_in_use() ? wrap(fail_in_use(&error_, name)) : SOTTO_OK;
  }
  sotto_status not_bool(const char* name, uint32_t value) {
    return wrap(fail(&error_, Status::kInvalidArgument, name, " is ", value, "; it must be 0 or 1"));
  }
  sotto_status bad_struct(const char* name) {
    return wrap(fail(&error_, Status::kInvalidArgument, name, "->struct_size is not set"));
  }
  // Rejects a feature that the CMake option turned off.
  sotto_status not_built(const char* feature, const char* option) {
    return wrap(fail(&error_, Status::kUnsupported, feature, ": this library is built with ", option, "=OFF"));
  }

 private:
  sotto_error* out_;
  Error error_;
};

}  // namespace sotto::capi
