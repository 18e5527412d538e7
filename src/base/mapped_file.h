// MappedFile: maps a file into memory; the process ends orderly if the file is damaged meanwhile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/file.h"

namespace ingot {

/// A private read-only mapping of a whole file.
///
/// If the file was truncated, or its storage fails, when a mapped byte is read, the process writes
/// "error: <file>: file @<offset>: it was truncated or its storage failed while in use" to stderr,
/// removes unfinished outputs (output_file.h) and exits with 74. A handler of SIGBUS does this; it
/// is installed when the first file is mapped, and passes other faults to the previous handler.
class MappedFile {
 public:
  MappedFile() = default;
  /// Maps all of `file`. An empty file has an empty span.
  ///
  /// Errors: model_error(name, "file", ...) (code kModel) when it cannot be mapped.
  explicit MappedFile(File file);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  std::span<const std::byte> bytes() const { return bytes_; }
  const std::string& name() const { return file_.name(); }
  const FileIdentity& identity() const { return file_.identity(); }

  /// Tells the system that these bytes are not needed soon. Whole memory pages inside the range
  /// leave this process's memory, and are read again when touched. A range that reaches the end of
  /// the file includes its last page.
  void release(std::uint64_t offset, std::uint64_t count) const;

  /// Asks the system to hold the file in large memory pages, where its file system can (ext4 on
  /// Linux 6.18). For files that are read as a whole, many times.
  void prefer_large_pages() const;

  /// Errors: kIo "<file>: file @0: it changed while it was being read" unless the file is as it was
  /// when opened.
  void expect_unchanged() const;
  /// As expect_unchanged, for files in use for a long time: names, mode and owner may change.
  ///
  /// Errors: kIo "<file>: file @0: it was changed while in use" if it was written to.
  void expect_not_overwritten() const;

 private:
  void unmap();

  File file_;
  std::span<const std::byte> bytes_;
  int slot_ = -1;
};

}  // namespace ingot
