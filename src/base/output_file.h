// OutputFile: a file appears whole under its name, or not at all.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "base/file.h"

namespace ingot {

/// Writes a file beside its target and renames it there at the end. A target that exists and is not
/// a regular file (a FIFO, /dev/null) is written to directly.
///
/// Errors: kIo "<path>: cannot write: <reason>".
class OutputFile {
 public:
  /// What is written at once, at an offset that is a multiple of it. Files that are written in
  /// pieces of a large page are then cached in such pages, where the file system does that.
  static constexpr std::size_t kPieceBytes = 64 << 10;
  static constexpr std::size_t kLargePageBytes = 2 << 20;

  explicit OutputFile(std::string path, std::size_t piece_bytes = kPieceBytes);
  /// Without `commit` nothing remains of what was written.
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  /// Brings everything to storage and the file to its name. Once, at the end.
  void commit();

 private:
  void open_temporary();
  void remember_temporary();
  void forget_temporary();
  void flush();
  [[noreturn]] void fail(int error) const;

  std::string path_;       ///< as the user gave it
  std::string target_;     ///< behind symbolic links
  std::string temporary_;  ///< empty when the target is written directly
  Fd fd_;
  std::string buffer_;
  std::size_t piece_bytes_;
  int slot_ = -1;  ///< in the table of unfinished files
};

/// Removes what every OutputFile that is not committed has written so far: for a signal handler
/// that ends the process, and of use for nothing else.
void remove_unfinished_outputs();

}  // namespace ingot
