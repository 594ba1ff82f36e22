// File descriptors of POSIX and Windows, for file.h. Functions that fail set errno.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>

namespace sotto::descriptor {

// These functions return a descriptor, or -1. open_to_read() does not wait for the writer of a pipe, and create() fails
// if the file exists.
int open_to_read(const std::filesystem::path& path);
int create(const std::filesystem::path& path);

void close(int descriptor);
bool is_regular_file(int descriptor, uint64_t* size);

// These functions return the number of bytes, at most `size`, or -1.
int64_t read_at(int descriptor, uint64_t offset, void* bytes, size_t size);
int64_t write_at(int descriptor, uint64_t offset, const void* bytes, size_t size);

bool make_durable(int descriptor);
int process_id();

}  // namespace sotto::descriptor
