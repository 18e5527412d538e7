// The pack cache: files of packed weights, which later starts map instead of packing again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"
#include "base/thread_pool.h"

namespace ingot {

/// A file of packed weights, mapped read-only. Processes that map one file share its memory.
///
/// Layout, little-endian: magic, key size, number of weights, checksum of key and table; the key;
/// the table with (offset, bytes, checksum) of each weight; the weights, each aligned to 4,096
/// bytes. Checksums detect damage, not tampering. A user who can write to the folder controls the
/// models, just like a user who can write to the folder of the model files.
struct PackedFile {
  MappedFile file;
  std::vector<std::span<const std::byte>> weights;  ///< views into the file
};

/// The path of the packed file in `folder` whose weights have this key.
std::string packed_path(std::string_view folder, std::string_view key);

/// Maps a file that `write_packed` wrote; nullopt if it does not exist. Reads the file once on the
/// threads of `pool` to verify checksums.
///
/// Errors: Error{kModel} if the file is damaged, has another key, or has weights of other sizes
/// than `sizes`; errors of MappedFile.
std::optional<PackedFile> open_packed(const std::string& path, std::string_view key,
                                      std::span<const std::int64_t> sizes, ThreadPool& pool);

/// Writes a file of packed weights atomically; creates its folder if needed.
///
/// Errors: Error{kIo}.
void write_packed(const std::string& path, std::string_view key,
                  std::span<const std::span<const std::byte>> weights);

}  // namespace ingot
