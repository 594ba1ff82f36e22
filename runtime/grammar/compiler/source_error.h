// Errors in the source of a grammar, with their line and column and the text there.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "runtime/base/status.h"

namespace sotto {

// Fails with the message "LINE:COLUMN: what at 'TEXT'". TEXT is the source at `offset`, cut off after 32 bytes.
Status fail_in_source(Error* error, std::span<const char> source, uint64_t offset, std::string_view what,
                      Status status = Status::kGrammarSyntax);
// Fails with the message "LINE:COLUMN: what: NAME". NAME is `name`, cut off after 32 bytes.
Status fail_at_name(Error* error, std::span<const char> source, uint64_t offset, std::string_view what,
                    std::span<const char> name);

}  // namespace sotto
