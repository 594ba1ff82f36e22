// Entries of a zip archive that are stored without compression, as torch.save() writes them (APPNOTE.TXT of PKWARE,
// with ZIP64). Errors are std::runtime_error and name the file and the entry.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "converters/file.h"

namespace sotto {

struct ZipEntry {
  uint64_t offset = 0;  // of the data in the file
  uint64_t size = 0;
  bool is_stored = true;  // false if the data is compressed or encrypted
};

// Returns whether a file begins like a zip archive.
bool is_zip(const InputFile& file);

// Returns the entries by name. Throws if the archive is damaged, or if entries overlap, which no honest writer
// produces: overlapping entries let one small file claim any amount of data.
std::map<std::string, ZipEntry> read_zip_directory(const InputFile& file);

}  // namespace sotto
