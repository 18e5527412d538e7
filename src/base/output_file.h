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
  /// 64 KiB: the size of a write, and what its offset is a multiple of. File systems that can then
  /// cache the file in large memory pages; with smaller writes they do not.
  static constexpr std::size_t kPieceBytes = 64 << 10;
  static constexpr std::size_t kLargePageBytes = 2 << 20;

  explicit OutputFile(std::string path, std::size_t piece_bytes = kPieceBytes);
  /// Without `commit` the written bytes are removed.
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  /// Flushes the file to storage and renames it to its target. Call it once, at the end.
  void commit();

 private:
  void open_temporary();
  void remember_temporary();
  void forget_temporary();
  void flush();
  [[noreturn]] void fail(int error) const;

  std::string path_;       ///< as the user gave it
  std::string target_;     ///< with symbolic links resolved
  std::string temporary_;  ///< empty when the target is written directly
  Fd fd_;
  std::string buffer_;
  std::size_t piece_bytes_;
  int slot_ = -1;  ///< in the table of unfinished files
};

/// Removes the temporary files of every OutputFile that is not committed. Only for signal handlers
/// that end the process.
void remove_unfinished_outputs();

}  // namespace ingot
