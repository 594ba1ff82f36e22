// A session with all features, and cases with one field out of range.
#pragma once

#include <functional>
#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

#include "tests/capi/named_errors.h"
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

// Returns one case per value.
template <typename Params, typename T>
void add(std::vector<Case<Params>>& cases, const char* name, T Params::*field, std::initializer_list<T> values) {
  for (const T value : values) {
    cases.push_back({name, [field, value](Params& params) { params.*field = value; }});
  }
}

class DecodingArguments : public NamedErrors {
 protected:
  DecodingArguments()
      : model_(make_model_file(kDecodingShape, true)), session_(model_.get(), [](sotto_session_params& params) {
          params.sequence_count = 4;
          params.sequence_tokens = 8;
          params.features = SOTTO_FEATURE_HIDDEN_HISTORY | SOTTO_FEATURE_DOLA | SOTTO_FEATURE_GUIDE;
        }) {}

  sotto_status set(const sotto_sampler_params& params) {
    return sotto_session_set_sampler(session_.get(), &params, &error_);
  }

  LoadedModel model_;
  OpenSession session_;
};

}  // namespace sotto
