// The pack cache: a folder that keeps files of packed weights within a limit of bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/file.h"

namespace ingot {

/// Where packed weights are kept between starts, and how many bytes of them.
struct PackCacheOptions {
  std::string folder{};  ///< empty: no pack cache
  /// Limit on the bytes of all files together. Absent: no limit in a folder that a user chose; in
  /// the default folder kPackBytesMax, at most a tenth of the disk's free space.
  std::optional<std::int64_t> bytes_max{};
  /// Whether the program chose the folder. Then it is private to the user (mode 0700), a folder or
  /// file that others can write is not used, and small models are not kept.
  bool is_default = false;
};

/// Limit on the bytes of a default folder: 10 GiB, about ten models of 1 billion parameters.
inline constexpr std::int64_t kPackBytesMax = std::int64_t{10} << 30;

/// Smallest model, in packed bytes, that the default folder keeps: 32 MiB. Less is packed within
/// about 0.2 s, so that a file would gain nothing that a user notices.
inline constexpr std::int64_t kPackBytesMin = std::int64_t{32} << 20;

/// A pack cache's folder. Several processes may use the folder at the same time: files appear
/// complete, and a mapped file that another process deletes stays readable.
class PackFolder {
 public:
  /// Refers to a folder, which need not exist. Changes nothing.
  explicit PackFolder(PackCacheOptions options) : options_(std::move(options)) {}

  const PackCacheOptions& options() const { return options_; }
  /// Returns the path of the packed file with this key.
  std::string path(std::string_view key) const;

  /// Checks that no other user can change the default folder. A folder that does not exist is fine,
  /// as is every folder that a user chose.
  ///
  /// Errors: Error{kIo} if it belongs to another user, or other users can write to it.
  void expect_private() const;
  /// Returns the limit on the bytes of all files together; nothing if there is no limit.
  std::optional<std::int64_t> limit() const;
  /// Records that the file at `path` is used now. Then deletes the least recently used files until
  /// the limit holds.
  void record_use(const std::string& path) const;
  /// Makes the folder and room for a file of `bytes`, which must be within the limit: deletes the
  /// least recently used files, and temporary files that no living process has locked. Files that
  /// are being written count.
  ///
  /// Errors: Error{kIo} if the folder cannot be made or is not private, or has no room.
  void make_room(const std::string& path, std::int64_t bytes) const;
  /// Deletes the file at `path` if it still is the one that was opened as `file`.
  void remove(const std::string& path, const FileIdentity& file) const;
  /// Records that the model of the file at `path` is too large for the folder. Returns whether this
  /// is new: false at the model's next starts.
  bool record_too_large(const std::string& path) const;
  /// Returns the permissions of a new file.
  unsigned file_mode() const { return options_.is_default ? 0600 : 0666; }

 private:
  void make() const;
  bool evict(const std::string& keep, std::int64_t bytes) const;

  PackCacheOptions options_;
};

/// Returns whether the folder exists, or this user may make it below a folder of their own.
bool may_have_folder(const std::string& path);

}  // namespace ingot
