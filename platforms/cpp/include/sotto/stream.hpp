// Part of sotto.hpp: the stream of a session's tokens.
#ifndef SOTTO_STREAM_HPP
#define SOTTO_STREAM_HPP

#include <iterator>

#include "session.hpp"

namespace sotto {
inline namespace SOTTO_HPP_ERRORS_ {

// A range of the tokens that a session generates. The range ends at a stop; status() returns it. Without exceptions, it
// also ends at a failure; error() returns it.
class Stream {
 public:
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Piece;
    using difference_type = std::ptrdiff_t;
    using pointer = const Piece*;
    using reference = const Piece&;

    explicit Iterator(Stream* stream = nullptr) : stream_(stream) {}
    reference operator*() const { return stream_->piece_; }
    pointer operator->() const { return &stream_->piece_; }
    Iterator& operator++() {
      stream_->pull();
      return *this;
    }
    void operator++(int) { stream_->pull(); }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.is_at_end() == b.is_at_end(); }
    friend bool operator!=(const Iterator& a, const Iterator& b) { return !(a == b); }

   private:
    bool is_at_end() const { return !stream_ || stream_->is_over_; }
    Stream* stream_;
  };

  Iterator begin() {
    pull();
    return Iterator(this);
  }
  Iterator end() { return Iterator(); }

  Status status() const { return status_; }  // Status::ok unless the stream is at its end
  const Error* error() const { return error_ ? &*error_ : nullptr; }

 private:
  friend class Session;

  explicit Stream(std::shared_ptr<detail::SessionState> session) : session_(std::move(session)) {}

  // Stores the result of a call. Without exceptions, a failure ends the range.
  void take(const Result<Status>& result) {
#ifdef SOTTO_HPP_NO_EXCEPTIONS
    if (!result) {
      error_ = result.error();
      is_over_ = true;
      return;
    }
    status_ = result.value();
#else
    status_ = result;
#endif
  }

  void pull() {
    if (status_ != Status::ok) is_over_ = true;
    if (is_over_) return;
    take(session_.next(piece_));
    if (status_ != Status::ok) is_over_ = piece_.text().empty();
  }

  Session session_;
  Piece piece_;
  Status status_ = Status::ok;
  std::optional<Error> error_;
  bool is_over_ = false;
};

inline Stream Session::stream(std::string_view prompt, std::optional<size_t> max_tokens) {
  Stream stream(state_);
  stream.take(prefill(prompt));
  set_limit(max_tokens);
  return stream;
}

inline Stream Session::stream(Tokens prompt, std::optional<size_t> max_tokens) {
  Stream stream(state_);
  stream.take(prefill(prompt));
  set_limit(max_tokens);
  return stream;
}

}  // namespace SOTTO_HPP_ERRORS_
}  // namespace sotto

#endif  // SOTTO_STREAM_HPP
