// MappedFile: a file's bytes in memory, with an orderly end when the file is damaged under us.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/file.h"

namespace ingot {

/// A private read-only mapping of a whole file.
///
/// When the file is truncated, or its storage fails, while a mapped byte is touched, the process
/// writes "error: <file>: file @<offset>: it was truncated or its storage failed while in use" to
/// stderr and exits with 74, without leaving unfinished outputs (output_file.h). The handler of
/// SIGBUS that does so is installed when the first file is mapped; faults elsewhere go on to the
/// handler that was there before.
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

  /// Tells the system that these bytes are not needed soon: whole pages inside the range leave this
  /// process's memory (they are read again when touched). A range that reaches the end of the file
  /// includes its last page.
  void release(std::uint64_t offset, std::uint64_t count) const;

  /// Asks the system to hold the file in large pages, as far as its file system can (ext4 does on
  /// Linux 6.18): for files of which all is read again and again.
  void prefer_large_pages() const;

  /// Errors: kIo "<file>: file @0: it changed while it was being read" unless the file is as it was
  /// when opened.
  void expect_unchanged() const;
  /// For files that are used for long, whose names, mode and owner may change meanwhile.
  ///
  /// Errors: kIo "<file>: file @0: it was changed while in use" where it was written to.
  void expect_not_overwritten() const;

 private:
  void unmap();

  File file_;
  std::span<const std::byte> bytes_;
  int slot_ = -1;
};

}  // namespace ingot
