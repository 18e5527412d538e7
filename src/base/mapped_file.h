// MappedFile: maps a file into memory, and handles files that are truncated while they are mapped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/file.h"

namespace ingot {

/// A private read-only mapping of a whole file.
///
/// If a mapped byte cannot be read (the file was truncated, or its storage fails), the process
/// writes "error: <file>: file @<offset>: it was truncated or its storage failed while in use" to
/// stderr, removes unfinished outputs (output_file.h) and exits with 74. The first mapping installs
/// a SIGBUS handler for this purpose. It passes other faults to the previous SIGBUS handler.
class MappedFile {
 public:
  MappedFile() = default;
  /// Maps all of `file`. An empty file has an empty span.
  ///
  /// Errors: model_error(name, "file", ...) (code kModel) if it cannot be mapped.
  explicit MappedFile(File file);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  std::span<const std::byte> bytes() const { return bytes_; }
  const std::string& name() const { return file_.name(); }
  const FileIdentity& identity() const { return file_.identity(); }

  /// Tells the system that `count` bytes from `offset` are not needed soon. The system removes
  /// memory pages that lie completely in this range from this process's memory. Later accesses read
  /// the pages again. A range up to the end of the file includes the file's last memory page.
  void release(std::uint64_t offset, std::uint64_t count) const;

  /// Asks the system to hold the file in large memory pages, if its file system supports this (such
  /// as ext4 on Linux 6.18). Use it for files that the program reads completely, many times.
  void prefer_large_pages() const;

  /// Throws if the file changed since it was opened.
  /// Errors: section_error(kIo, name, "file", "it changed while it was being read").
  void expect_unchanged() const;
  /// Throws if the file was written to since it was opened; names, mode and owner may change.
  ///
  /// Errors: section_error(kIo, name, "file", "it was changed while in use").
  void expect_not_overwritten() const;

 private:
  void unmap();

  File file_;
  std::span<const std::byte> bytes_;
  int slot_ = -1;
};

}  // namespace ingot
