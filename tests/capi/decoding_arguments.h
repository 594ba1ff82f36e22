// A session with everything on, and cases of one field out of range each.
#pragma once

#include <functional>
#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

#include "tests/capi/open_session.h"

namespace sotto {

inline constexpr ModelShape kDecodingShape = {300, 64, 48, 3, 100, 2};
inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

template <typename Params>
struct Case {
  const char* name;
  std::function<void(Params&)> spoil;
};

// One case for each value.
template <typename Params, typename T>
void add(std::vector<Case<Params>>& cases, const char* name, T Params::*field,
         std::initializer_list<T> values) {
  for (const T value : values) {
    cases.push_back({name, [field, value](Params& params) { params.*field = value; }});
  }
}

class DecodingArguments : public testing::Test {
 protected:
  DecodingArguments()
      : model_(make_model_file(kDecodingShape, true)),
        session_(model_.get(), [](sotto_session_params& params) {
          params.sequence_count = 4;
          params.sequence_tokens = 8;
          params.features = SOTTO_FEATURE_HIDDEN_HISTORY | SOTTO_FEATURE_DOLA | SOTTO_FEATURE_GUIDE;
        }) {
    error_.struct_size = sizeof error_;
  }

  void expect_error(sotto_status status, const std::string& word,
                    sotto_status expected = SOTTO_INVALID_ARGUMENT) {
    EXPECT_EQ(status, expected) << word << ": " << error_.message;
    EXPECT_EQ(error_.status, expected) << word;
    EXPECT_NE(std::string(error_.message).find(word), std::string::npos)
        << "'" << error_.message << "' does not name " << word;
    error_ = {};
    error_.struct_size = sizeof error_;
  }

  sotto_status set(const sotto_sampler_params& params) {
    return sotto_session_set_sampler(session_.get(), &params, &error_);
  }

  LoadedModel model_;
  OpenSession session_;
  sotto_error error_ = {};
};

}  // namespace sotto
