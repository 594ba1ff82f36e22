// Marks an object as in use while its functions may call back into the program.
#pragma once

namespace sotto {

// Sets a flag for the lifetime of the object.
class CallbackScope {
 public:
  explicit CallbackScope(bool* flag) : flag_(flag) { *flag_ = true; }
  ~CallbackScope() { *flag_ = false; }
  CallbackScope(const CallbackScope&) = delete;
  CallbackScope& operator=(const CallbackScope&) = delete;

 private:
  bool* flag_;
};

}  // namespace sotto
