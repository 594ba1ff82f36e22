// File descriptors of POSIX and Windows, for file.h. Functions that fail set errno.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>

namespace sotto::descriptor {

// Both return a descriptor, or -1. Opening a pipe does not wait for its writer. A new file must not exist yet.
int open_to_read(const std::filesystem::path& path);
int create(const std::filesystem::path& path);

void close(int descriptor);
bool is_regular_file(int descriptor, uint64_t* size);

// Return the number of bytes, at most `size`, or -1.
int64_t read_at(int descriptor, uint64_t offset, void* bytes, size_t size);
int64_t write_at(int descriptor, uint64_t offset, const void* bytes, size_t size);

bool make_durable(int descriptor);
int process_id();

}  // namespace sotto::descriptor
