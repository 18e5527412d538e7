// OutputFile: atomic writing of files. A file appears complete under its name, or not at all.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "base/file.h"

namespace ingot {

/// Writes a temporary file beside its target, and renames it to the target at the end. If the
/// target exists and is not a regular file (a FIFO, /dev/null), writes to the target directly.
///
/// Errors: kIo "<path>: cannot write: <reason>".
class OutputFile {
 public:
  /// Sizes of one write: kPieceBytes by default, or kLargePageBytes, so that file systems cache the
  /// file in large memory pages. The offset of each write is a multiple of the chosen size.
  static constexpr std::size_t kPieceBytes = 64 << 10;
  static constexpr std::size_t kLargePageBytes = 2 << 20;

  explicit OutputFile(std::string path, std::size_t piece_bytes = kPieceBytes);
  /// Removes the temporary file if `commit` was not called.
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  /// Flushes the file to storage and renames it to its target. Call it once, after all writes.
  void commit();

 private:
  void open_temporary();
  void remember_temporary();
  void forget_temporary();
  void flush();
  [[noreturn]] void fail(int error) const;

  std::string path_;       ///< the path that the user gave
  std::string target_;     ///< the path with symbolic links resolved
  std::string temporary_;  ///< path of the temporary file; empty if the target is written directly
  Fd fd_;
  std::string buffer_;
  std::size_t piece_bytes_;
  int slot_ = -1;  ///< index in the table of unfinished files; -1 if not in the table
};

/// Removes the temporary files of all OutputFiles that are not committed. Forced exits do that.
void remove_unfinished_outputs();

}  // namespace ingot
