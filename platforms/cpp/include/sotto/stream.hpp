// Part of sotto.hpp: the stream of a session's tokens.
#ifndef SOTTO_STREAM_HPP
#define SOTTO_STREAM_HPP

#include <iterator>
#include <optional>

#include "session.hpp"

namespace sotto {
inline namespace SOTTO_HPP_ERRORS_ {

// A range over the next tokens. It ends at a stop, which status() returns. Without exceptions it also ends at a
// failure, which error() returns.
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

  Stream(std::shared_ptr<detail::SessionState> session, size_t max_tokens)
      : session_(std::move(session)), max_tokens_(max_tokens) {}
  void pull();

  Session session_;
  Piece piece_;
  size_t max_tokens_;
  size_t token_count_ = 0;
  Status status_ = Status::ok;
  std::optional<Error> error_;
  bool is_over_ = false;
};

inline Stream Session::stream(size_t max_tokens) { return Stream(state_, max_tokens); }

inline void Stream::pull() {
  if (status_ == Status::ok && max_tokens_ != 0 && token_count_ == max_tokens_) {
    status_ = Status::max_tokens;
  }
  if (status_ != Status::ok) {
    is_over_ = true;
    return;
  }
#ifdef SOTTO_HPP_NO_EXCEPTIONS
  const Result<Status> status = session_.next(piece_);
  if (!status) {
    error_ = status.error();
    is_over_ = true;
    return;
  }
  status_ = status.value();
#else
  status_ = session_.next(piece_);
#endif
  if (status_ == Status::ok) {
    ++token_count_;
  } else {
    is_over_ = piece_.text().empty();
  }
}

}  // namespace SOTTO_HPP_ERRORS_
}  // namespace sotto

#endif  // SOTTO_STREAM_HPP
