// The pack cache: packed weights in files that all processes map.
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

/// A file of packed weights, mapped read-only: processes that map the same file share its memory.
///
/// Layout, little-endian: the magic, bytes of the key, number of weights, checksum of the key and
/// the table; the key; for each weight (offset, bytes, checksum); then the weights, each aligned to
/// a memory page. Checksums detect damage, not intent: a user that may write to the folder controls
/// the models, as in the models' own folder.
struct PackedFile {
  MappedFile file;
  std::vector<std::span<const std::byte>> weights;  ///< views into the file
};

/// The path in `folder` of the weights that `key` describes.
std::string packed_path(std::string_view folder, std::string_view key);

/// Maps a file of `write_packed`; nothing if it does not exist. Reads it once on the threads of
/// `pool` to compare checksums.
///
/// Errors: Error{kModel} when the file cannot be read, is damaged, or holds another key or weights
/// of other `sizes`.
std::optional<PackedFile> open_packed(const std::string& path, std::string_view key,
                                      std::span<const std::int64_t> sizes, ThreadPool& pool);

/// Writes the file, completely or not at all, and makes its folder if needed.
///
/// Errors: Error{kIo}.
void write_packed(const std::string& path, std::string_view key,
                  std::span<const std::span<const std::byte>> weights);

}  // namespace ingot
