// Checks calls that must fail with a message that names the fault.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "capi/include/sotto.h"

namespace sotto {

class NamedErrors : public testing::Test {
 protected:
  NamedErrors() { error_.struct_size = sizeof error_; }

  // `status` is the result of a call that received error_.
  void expect_error(sotto_status status, const std::string& word, sotto_status expected = SOTTO_INVALID_ARGUMENT) {
    EXPECT_EQ(status, expected) << word << ": " << error_.message;
    EXPECT_EQ(error_.status, expected) << word;
    EXPECT_NE(std::string(error_.message).find(word), std::string::npos)
        << "'" << error_.message << "' does not name " << word;
    error_ = {};
    error_.struct_size = sizeof error_;
  }

  sotto_error error_ = {};
};

}  // namespace sotto
