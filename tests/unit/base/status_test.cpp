// Tests Failure: messages composed without allocation.
#include "runtime/base/status.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <set>
#include <string>

namespace sotto {
namespace {

template <typename Number>
std::string message_of(Number number) {
  Error error;
  EXPECT_EQ(fail(&error, Status::kInternal, number), Status::kInternal);
  return error.message;
}

TEST(Failure, FillsTheError) {
  Error error;
  const Status status = fail_at(&error, Status::kModelCorrupt, 17, "layer ", 3u, " lacks a bias");
  EXPECT_EQ(status, Status::kModelCorrupt);
  EXPECT_EQ(error.status, Status::kModelCorrupt);
  EXPECT_EQ(error.offset, 17u);
  EXPECT_STREQ(error.message, "layer 3 lacks a bias");
}

TEST(Failure, ReplacesAnEarlierError) {
  Error error;
  EXPECT_EQ(fail_at(&error, Status::kModelCorrupt, 17, "long text"), Status::kModelCorrupt);
  EXPECT_EQ(fail(&error, Status::kInternal), Status::kInternal);
  EXPECT_EQ(error.offset, Error::kNoOffset);
  EXPECT_STREQ(error.message, "");
}

TEST(Failure, NeedsNoError) { EXPECT_EQ(fail(nullptr, Status::kInternal, "a", 1u, 1.5f), Status::kInternal); }

TEST(Failure, CutsLongTextInsideTheMessage) {
  struct {
    Error error;
    char after = '#';
  } guarded;
  MessageWriter writer(&guarded.error);
  for (int i = 0; i < 100; ++i) {
    writer.add("12345");
    writer.add(UINT64_MAX);
    writer.add(-1.5f);
  }
  EXPECT_EQ(std::string(guarded.error.message).size(), sizeof guarded.error.message - 1);
  EXPECT_EQ(guarded.after, '#');
}

TEST(Failure, ReplacesUnprintableBytes) {
  Error error;
  const char bytes[] = {'a', '\0', '\n', '\x1b', '\x7f', '\xc3', '\xa4', 'z'};
  EXPECT_EQ(fail(&error, Status::kInternal, std::span<const char>(bytes, sizeof bytes)), Status::kInternal);
  EXPECT_STREQ(error.message, "a??????z");
}

TEST(Failure, WritesIntegers) {
  EXPECT_EQ(message_of(uint64_t{0}), "0");
  EXPECT_EQ(message_of(uint64_t{10203}), "10203");
  EXPECT_EQ(message_of(UINT64_MAX), "18446744073709551615");
  EXPECT_EQ(message_of(-16777217), "-16777217");  // not exact as a float
  EXPECT_EQ(message_of(INT64_MIN), "-9223372036854775808");
}

TEST(Failure, WritesFloats) {
  EXPECT_EQ(message_of(0.0f), "0");
  EXPECT_EQ(message_of(-2.0f), "-2");
  EXPECT_EQ(message_of(0.5f), "0.5");
  EXPECT_EQ(message_of(1.25f), "1.25");
  EXPECT_EQ(message_of(100.015625f), "100.016");
  EXPECT_EQ(message_of(0.05f), "0.05");
  EXPECT_EQ(message_of(1234567.0f), "1234570");
  EXPECT_EQ(message_of(-1e-6f), "-1e-6");
  EXPECT_EQ(message_of(2.5e20f), "2.5e20");
  EXPECT_EQ(message_of(0.9999999f), "1");
  EXPECT_EQ(message_of(NAN), "NaN");
  EXPECT_EQ(message_of(INFINITY), "infinity");
  EXPECT_EQ(message_of(-INFINITY), "-infinity");
}

// Writes six significant digits at any magnitude. The number read back has the same six digits.
TEST(Failure, WritesSixDigitsAtAnyMagnitude) {
  for (const float value : {1.0f, 0.1f, 1.1f, 0.999999f, 0.9999999f, 1.9999999f, 100.00001f, 12345.678f, 1e-3f, 1e-7f,
                            3.25e-20f, 1e-45f, 123456789.0f, 1e15f, 3.4028235e38f, -1e-5f, -7.5f}) {
    const std::string text = message_of(value);
    EXPECT_NEAR(std::strtod(text.c_str(), nullptr) / static_cast<double>(value), 1, 5.1e-6) << text;
  }
}

TEST(StatusText, EveryStatusHasItsOwn) {
  const Status all[] = {Status::kOk,
                        Status::kStopEndOfText,
                        Status::kStopMaxTokens,
                        Status::kStopContextFull,
                        Status::kStopGrammar,
                        Status::kStopCallback,
                        Status::kStopCancelled,
                        Status::kStopToken,
                        Status::kStopString,
                        Status::kStopTime,
                        Status::kStopRepetition,
                        Status::kStopBanned,
                        Status::kGrammarDeadEnd,
                        Status::kStateCorrupt,
                        Status::kInvalidArgument,
                        Status::kInvalidState,
                        Status::kMemoryTooSmall,
                        Status::kMemoryMisaligned,
                        Status::kBufferTooSmall,
                        Status::kModelCorrupt,
                        Status::kModelUnsupported,
                        Status::kCpuUnsupported,
                        Status::kTextInvalid,
                        Status::kTokenizerMissing,
                        Status::kThreadsUnavailable,
                        Status::kPromptTooLong,
                        Status::kInternal};
  std::set<std::string> texts;
  for (const Status status : all) texts.insert(status_text(status));
  EXPECT_EQ(texts.size(), std::size(all));
  EXPECT_EQ(texts.count("unknown status"), 0u);
  EXPECT_STREQ(status_text(static_cast<Status>(12345)), "unknown status");
}

TEST(Try, PassesOnEverythingButOk) {
  const auto attempt = [](Status inner) {
    SOTTO_TRY(inner);
    return Status::kStopCallback;
  };
  EXPECT_EQ(attempt(Status::kOk), Status::kStopCallback);
  EXPECT_EQ(attempt(Status::kTextInvalid), Status::kTextInvalid);
  EXPECT_EQ(attempt(Status::kStopEndOfText), Status::kStopEndOfText);
}

}  // namespace
}  // namespace sotto
