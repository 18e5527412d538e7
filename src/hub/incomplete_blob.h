// IncompleteBlob: writes a download to a file, hashes it meanwhile, and renames it at the end.
#pragma once

#include <cstdint>
#include <string>

#include "base/file.h"
#include "base/function_ref.h"
#include "hub/digest.h"
#include "hub/http.h"
#include "hub/listing.h"

namespace ingot {

/// Writes a download to a file beside its target, and continues the file of an earlier attempt.
///
/// Errors: Error{kIo} if writing fails. IncompleteBlob then removes the file, to free the disk.
/// model_error if more bytes arrive than `HubFile::bytes`.
class IncompleteBlob final : public HttpSink {
 public:
  /// Opens or creates the file at `path`. Hashes the bytes that the file already has, and calls
  /// `tick` for each hashed MiB. `file` must outlive this object.
  IncompleteBlob(std::string path, const HubFile& file, FunctionRef<void()> tick);

  /// Returns the number of bytes in the file, including those of earlier attempts.
  std::uint64_t bytes() const { return bytes_; }
  /// Empties the file, to download it from the beginning.
  void restart();

  void begin(std::uint64_t offset) override;
  void write(std::span<const std::byte> bytes) override;

  /// Returns the checksum of the complete file. Call `checksum` once.
  std::string checksum() { return digest_.finish(); }
  /// Flushes the file to disk (fsync) and renames it to `target`.
  void commit(const std::string& target);
  /// Removes the file.
  void discard();

 private:
  void digest_existing(FunctionRef<void()> tick);
  [[noreturn]] void fail(int error);

  std::string path_;
  const HubFile& file_;
  Fd fd_;
  FileDigest digest_;
  std::uint64_t bytes_ = 0;
};

}  // namespace ingot
