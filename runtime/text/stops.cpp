#include "runtime/text/stops.h"

#include <algorithm>
#include <cassert>
#include <new>

#include "runtime/base/range_check.h"
#include "runtime/base/sort.h"
#include "runtime/base/utf8.h"

namespace sotto {
namespace {

constexpr uint32_t kMinRepetitionWindow = 8;

Status check_strings(const char* name, std::span<const TextView> strings, Error* error) {
  size_t total = 0;
  for (size_t i = 0; i < strings.size(); ++i) {
    const TextView& string = strings[i];
    const auto reject = [&](const auto&... what) {
      return fail(error, Status::kInvalidArgument, name, "[", i, "] ", what...);
    };
    if (string.size == 0) return reject("is empty");
    if (string.text == nullptr) return reject("is NULL");
    if (string.size > StringMatcher::kMaxStringBytes) {
      return reject("has ", string.size, " bytes; it may have at most ", StringMatcher::kMaxStringBytes);
    }
    if (find_invalid_utf8({string.text, string.size}) != string.size) return reject("is not UTF-8");
    total += string.size;
  }
  if (total <= StringMatcher::kMaxTotalBytes) return Status::kOk;
  return fail(error, Status::kInvalidArgument, name, " have ", total, " bytes; they may have at most ",
              StringMatcher::kMaxTotalBytes);
}

size_t memory_size(const StopParams& params) {
  return params.stop_tokens.size_bytes() + StringMatcher::memory_size(params.stop_strings) +
         StringMatcher::memory_size(params.banned_strings);
}

}  // namespace

size_t StringMatcher::memory_size(std::span<const TextView> strings) {
  size_t bytes = 0;
  for (const TextView& string : strings) bytes += string.size;
  return strings.empty() ? 0 : Automaton::memory_size(bytes);
}

void StringMatcher::build(std::span<const TextView> strings, void* memory) {
  automaton_ = {};
  if (strings.empty()) return;
  automaton_.init(memory);
  for (const TextView& string : strings) {
    assert(string.size > 0 && string.size <= kMaxStringBytes);
    automaton_.insert({string.text, string.size});
  }
  automaton_.link();
}

void Stops::layout(Arena& arena, const StopSizes& sizes) {
  sizes_ = sizes;
  memory_ = arena.take<uint8_t>(sizes.list_bytes);
}

Status Stops::check(const StopParams& params, Error* error) const {
  SOTTO_TRY(check_ranges(params, error));
  if (params.repetition_limit > 0) {
    SOTTO_TRY(
        check_range("repetition_window", params.repetition_window, kMinRepetitionWindow, sizes_.context_tokens, error));
  }
  if (params.stop_tokens.size() > sizes_.list_bytes / sizeof(int32_t)) {
    return fail(error, Status::kInvalidArgument, "stop_tokens: ", params.stop_tokens.size(),
                " do not fit the session's list_bytes, ", sizes_.list_bytes);
  }
  SOTTO_TRY(check_tokens("stop_tokens", params.stop_tokens, sizes_.vocabulary_size, error));
  SOTTO_TRY(check_strings("stop_strings", params.stop_strings, error));
  SOTTO_TRY(check_strings("banned_strings", params.banned_strings, error));
  if (!sizes_.has_text && !(params.stop_strings.empty() && params.banned_strings.empty())) {
    return fail(error, Status::kTokenizerMissing, params.stop_strings.empty() ? "banned_strings" : "stop_strings",
                ": the model has no tokenizer");
  }
  const size_t needed = memory_size(params);
  if (needed <= sizes_.list_bytes) return Status::kOk;
  return fail(error, Status::kInvalidArgument, "stop_tokens, stop_strings and banned_strings take ", needed,
              " bytes, more than the session's list_bytes, ", sizes_.list_bytes);
}

Status Stops::set(const StopParams& params, Error* error) {
  SOTTO_TRY(check(params, error));
  include_stop_text_ = params.include_stop_text;
  max_tokens_ = params.max_tokens;
  max_time_ns_ = params.max_time_ns;
  repetition_limit_ = params.repetition_limit;
  repetition_window_ = params.repetition_window;
  uint8_t* free = memory_;
  auto* tokens = reinterpret_cast<int32_t*>(free);
  std::copy(params.stop_tokens.begin(), params.stop_tokens.end(), tokens);
  sort_numbers(tokens, tokens + params.stop_tokens.size());
  stop_tokens_ = {tokens, params.stop_tokens.size()};
  free += params.stop_tokens.size_bytes();
  stop_strings_.build(params.stop_strings, free);
  free += StringMatcher::memory_size(params.stop_strings);
  banned_strings_.build(params.banned_strings, free);
  return Status::kOk;
}

Status Stops::stop_of(int32_t token, std::span<const int32_t> end_tokens) const {
  if (std::find(end_tokens.begin(), end_tokens.end(), token) != end_tokens.end()) return Status::kStopEndOfText;
  return is_stop_token(token) ? Status::kStopToken : Status::kOk;
}

bool Stops::is_stop_token(int32_t token) const {
  return std::binary_search(stop_tokens_.begin(), stop_tokens_.end(), token);
}

}  // namespace sotto
