// Checkpoints of TensorFlow, version 2 ("tensor bundles"): PREFIX.index, a LevelDB table from the names of variables to
// their descriptions, and the data in PREFIX.data-00000-of-00001 or several such shards. The checksums of the index are
// verified when it is opened, and the checksums of tensors when they are read. Errors are std::runtime_error and name
// the file and the tensor.
#pragma once

#include <filesystem>

#include "converters/tensors/tensors.h"

namespace sotto {

// Returns whether `path` is a file that ends like an index.
bool is_tensor_bundle_index(const std::filesystem::path& path);

Tensors open_tensor_bundle(const std::filesystem::path& index);

}  // namespace sotto
