// AdapterFolder: the open folder of --lora-dir, whose folders are adapters.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "load/adapter/adapter_file.h"

namespace ingot {

/// Identifies a folder and its list of files, to detect changes.
struct FolderState {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t modified_ns = 0;
  bool operator==(const FolderState&) const = default;
};

/// A folder that may be an adapter.
struct FolderBytes {
  std::string name;
  std::uint64_t bytes = 0;  ///< size of the file with the tensors
};

/// An open folder of adapters. A name is that of one folder in it, which is no link. The name is an
/// adapter's (see check_adapter_name) and does not begin with ".". The folder stays open, so no
/// later change of its path leads elsewhere.
class AdapterFolder {
 public:
  /// Errors: Error{kModel} if the folder cannot be opened.
  explicit AdapterFolder(const std::string& path);

  /// Returns whether a folder can have this name, without a look at the files.
  static bool is_name(std::string_view name);
  /// Returns an error with `name` in place of the paths of descriptors, which mean nothing to a
  /// reader.
  static Error with_name(const Error& error, std::string_view name);

  /// Returns whether a folder has this name.
  bool contains(std::string_view name) const { return state(name).has_value(); }
  /// Returns the state of the folder `name`; nothing if there is none.
  std::optional<FolderState> state(std::string_view name) const;
  /// Returns all folders in this folder that may be adapters, by descending bytes. Slow, but reads
  /// no files.
  ///
  /// Errors: Error{kModel} if this folder cannot be listed.
  std::vector<FolderBytes> all_by_bytes() const;
  /// Opens the adapter in the folder `name`. Messages name files from this folder on.
  ///
  /// Errors: those of `open_adapter`.
  AdapterFile open(std::string_view name) const;

 private:
  Fd open_entry(std::string_view name, int flags) const;
  std::optional<std::uint64_t> file_bytes(std::string_view name) const;

  Fd fd_;
};

}  // namespace ingot
