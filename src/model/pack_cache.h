// The pack cache: packed weights in a file, as they are computed with, for all processes at once.
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
/// the table; the key; for each weight (offset, bytes, checksum); then the weights, each from the
/// border of a page on. Whoever may write to the folder decides what the models say, as with the
/// models' own folder; damage is told by the checksums.
struct PackedFile {
  MappedFile file;
  std::vector<std::span<const std::byte>> weights;  ///< of the file
};

/// Where the weights that `key` describes are kept in `folder`.
std::string packed_path(std::string_view folder, std::string_view key);

/// Maps what `write_packed` wrote under `key`; nothing where there is no such file. Reads all of it
/// once, to compare checksums, on the threads of `pool`.
///
/// Errors: Error{kModel} when the file cannot be read, or does not hold exactly `key` and weights
/// of these `sizes`, unharmed.
std::optional<PackedFile> open_packed(const std::string& path, std::string_view key,
                                      std::span<const std::int64_t> sizes, ThreadPool& pool);

/// Writes the file, whole or not at all, into a folder that is made where it is missing.
///
/// Errors: Error{kIo}.
void write_packed(const std::string& path, std::string_view key,
                  std::span<const std::span<const std::byte>> weights);

}  // namespace ingot
