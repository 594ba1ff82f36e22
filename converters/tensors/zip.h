// Reads the directory of a zip archive (PKWARE's APPNOTE.TXT, with ZIP64). Only entries stored without compression can
// be used; torch.save() writes no others. Errors are std::runtime_error and name the file and the entry.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "converters/file.h"

namespace sotto {

struct ZipEntry {
  uint64_t offset = 0;  // offset of the data in the file
  uint64_t size = 0;
  bool is_stored = true;  // false if the data is compressed or encrypted
};

// Returns whether a file begins like a zip archive.
bool is_zip(const InputFile& file);

// Returns the entries by name. Throws if the archive is damaged or if entries overlap, because overlapping entries
// would let a small file claim any amount of data, and no honest writer produces them.
std::map<std::string, ZipEntry> read_zip_directory(const InputFile& file);

}  // namespace sotto
