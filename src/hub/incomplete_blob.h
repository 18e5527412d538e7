// IncompleteBlob: a download in progress; appended, hashed meanwhile, renamed when complete.
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
/// Errors: Error{kIo} when writing fails; the unfinished file is removed then, to free a full disk.
/// model_error when more bytes arrive than the file has.
class IncompleteBlob final : public HttpSink {
 public:
  /// Opens the file at `path` and hashes its bytes, calling `tick` now and then. `file` must
  /// outlive this.
  IncompleteBlob(std::string path, const HubFile& file, FunctionRef<void()> tick);

  /// Bytes in the file.
  std::uint64_t bytes() const { return bytes_; }
  /// Empties the file.
  void restart();

  void begin(std::uint64_t offset) override;
  void write(std::span<const std::byte> bytes) override;

  /// The checksum of the file. Call it once, at the end.
  std::string checksum() { return digest_.finish(); }
  /// Flushes the file to storage and renames it to `target`.
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
