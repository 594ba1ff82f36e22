// Porter's stemmer (1980), with the changes of the package nltk, which rouge-score uses.
#pragma once

#include <string>

namespace sotto::cli {

// Returns the stem of a word of letters a to z and digits: "connect" for "connecting", "connection" and "connected".
std::string stem_of(const std::string& word);

}  // namespace sotto::cli
