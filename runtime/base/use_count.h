// Counts the functions that are using an object, so that calls in their callbacks can be rejected.
#pragma once

#include <cstdint>

namespace sotto {

class UseCount {
 public:
  // One use, which lasts as long as this object.
  class Scope {
   public:
    explicit Scope(UseCount* uses) : uses_(uses) { uses_->begin(); }
    ~Scope() { uses_->end(); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    UseCount* uses_;
  };

  void begin() { ++count_; }
  void end() { --count_; }
  bool is_in_use() const { return count_ > 0; }

 private:
  uint32_t count_ = 0;
};

}  // namespace sotto
