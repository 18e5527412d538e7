// OutputFile: atomic writing of files. A file appears complete under its name, or not at all.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "base/file.h"

namespace ingot {

/// How an OutputFile writes.
struct OutputFileOptions {
  /// Bytes of one write. With 2 MiB, file systems cache the file in large memory pages. The offset
  /// of each write is a multiple of this size.
  std::size_t piece_bytes = 64 << 10;
  unsigned mode = 0666;  ///< permissions of a new file, before the process's umask
  /// Whether `commit` waits until storage has the file. Without, a power failure can leave a file
  /// with wrong bytes, so readers need a checksum.
  bool synced = true;
  /// Whether the temporary file is locked (flock) until it is renamed or removed. A temporary file
  /// without a lock then belongs to a process that was killed. Without effect where the file system
  /// has no locks.
  bool locked = false;
};

/// Writes a temporary file beside its target, and renames it to the target at the end. If the
/// target exists and is not a regular file (a FIFO, /dev/null), writes to the target directly.
///
/// Errors: kIo "<path>: cannot write: <reason>".
class OutputFile {
 public:
  explicit OutputFile(std::string path, const OutputFileOptions& options = {});
  /// Removes the temporary file if `commit` was not called.
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  /// Writes the rest, flushes the file to storage if `synced`, and renames it to its target. Call
  /// it once, after all writes.
  void commit();

 private:
  void open_temporary();
  bool is_kept() const;
  void remember_temporary();
  void forget_temporary();
  void flush();
  [[noreturn]] void fail(int error) const;

  std::string path_;       ///< the path that the user gave
  std::string target_;     ///< the path with symbolic links resolved
  std::string temporary_;  ///< path of the temporary file; empty if the target is written directly
  Fd fd_;
  std::string buffer_;
  OutputFileOptions options_;
  int slot_ = -1;  ///< index in the table of unfinished files; -1 if not in the table
};

/// Removes the temporary files of all OutputFiles that are not committed. Forced exits do that.
void remove_unfinished_outputs();

}  // namespace ingot
