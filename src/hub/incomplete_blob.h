// A blob that is being downloaded: appended to, digested on the way, renamed when it is whole.
#pragma once

#include <cstdint>
#include <string>

#include "base/file.h"
#include "base/function_ref.h"
#include "hub/digest.h"
#include "hub/http.h"
#include "hub/listing.h"

namespace ingot {

/// Takes a download into a file beside its target. What an earlier attempt left there is continued.
///
/// Errors: Error{kIo} when writing fails; the unfinished file is removed then, because a full disk
/// is not helped by keeping it. model_error when more bytes come than the file has.
class IncompleteBlob final : public HttpSink {
 public:
  /// Opens the file at `path` and digests what is in it, calling `tick` now and then. `file` must
  /// outlive this.
  IncompleteBlob(std::string path, const HubFile& file, FunctionRef<void()> tick);

  /// Bytes that are there.
  std::uint64_t bytes() const { return bytes_; }
  /// Empties the file.
  void restart();

  void begin(std::uint64_t offset) override;
  void write(std::span<const std::byte> bytes) override;

  /// The checksum of what is there. Once, at the end.
  std::string checksum() { return digest_.finish(); }
  /// Brings the content to storage and to its name.
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
