// Files of packed weights. Later starts map these files instead of packing again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
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

/// The error of a file that is damaged or not this model's: it has to be packed anew.
class BadPackedFile : public Error {
 public:
  BadPackedFile(const Error& error, const FileIdentity& file) : Error(error), file_(file) {}
  /// Returns which file was opened.
  const FileIdentity& file() const { return file_; }

 private:
  FileIdentity file_;
};

/// The end of a packed file's name.
inline constexpr std::string_view kPackedSuffix = ".ingot-pack";

/// Returns the path that the packed file with this key has in `folder`.
std::string packed_path(std::string_view folder, std::string_view key);

/// Maps a file that `write_packed` wrote; returns nullopt if the file does not exist. Reads the
/// file once, on the threads of `pool`, to verify its checksums. Other processes may delete or
/// replace the file meanwhile, and set its access time.
///
/// Errors: BadPackedFile if the file is damaged, has another key, has weights of other sizes than
/// `sizes`, or is not private although `private_only`. Error{kIo} if it cannot be opened or mapped.
std::optional<PackedFile> open_packed(const std::string& path, std::string_view key,
                                      std::span<const std::int64_t> sizes, ThreadPool& pool,
                                      bool private_only = false);

/// Writes a file of packed weights atomically into an existing folder. `mode`: the file's
/// permissions, before the process's umask. Does not wait for the storage: the checksums detect a
/// file that a power failure damaged.
///
/// Calls `packed` once for each weight, in order; it returns the sizes[i] bytes of weight i, which
/// are valid until the next call. Copies no weight. Errors: Error{kIo}; errors of `packed`.
void write_packed(const std::string& path, unsigned mode, std::string_view key,
                  std::span<const std::int64_t> sizes,
                  FunctionRef<std::span<const std::byte>(std::size_t i)> packed);

}  // namespace ingot
