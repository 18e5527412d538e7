// The pack cache: files of packed weights. Later starts map these files instead of packing again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "base/mapped_file.h"
#include "base/thread_pool.h"

namespace ingot {

/// A file of packed weights, mapped read-only. Processes that map the same file share its memory.
///
/// Layout, little-endian: magic, key size, number of weights; the key; the weights, each aligned to
/// 4,096 bytes; the table with (offset, bytes, checksum) of each weight; checksum of key and table.
/// Checksums detect damage, not tampering. A user with write access to the cache folder
/// controls the models, as does a user with write access to the model files.
struct PackedFile {
  MappedFile file;
  std::vector<std::span<const std::byte>> weights;  ///< each weight's bytes, as views of the file
};

/// Returns the path that the packed file with this key has in `folder`.
std::string packed_path(std::string_view folder, std::string_view key);

/// Maps a file that `write_packed` wrote; returns nullopt if the file does not exist. Reads the
/// file once, on the threads of `pool`, to verify its checksums.
///
/// Errors: Error{kModel} if the file is damaged, has another key, or has weights of other sizes
/// than `sizes`; errors of MappedFile.
std::optional<PackedFile> open_packed(const std::string& path, std::string_view key,
                                      std::span<const std::int64_t> sizes, ThreadPool& pool);

/// Writes a file of packed weights atomically. Creates the file's folder if it does not exist.
///
/// Calls `packed` once for each weight, in order; it returns the sizes[i] bytes of weight i, which
/// are valid until the next call. Copies no weight. Errors: Error{kIo}; errors of `packed`.
void write_packed(const std::string& path, std::string_view key,
                  std::span<const std::int64_t> sizes,
                  FunctionRef<std::span<const std::byte>(std::size_t i)> packed);

}  // namespace ingot
