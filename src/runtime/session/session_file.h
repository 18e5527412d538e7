// SessionFile: reads and writes a session file with the keys and values of its cached tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "base/mapped_file.h"
#include "runtime/session/session_head.h"

namespace ingot {

/// Writes a session file completely or not at all. For each block in `blocks`, in order, calls
/// `read`, which must write the block's KvRows to `out`.
///
/// Layout, little-endian, counts before lists: magic and version; order version, numerics,
/// fingerprint, KV type, kv heads, head size, window of each layer; request fields as JSON; tokens
/// and the number of drawn tokens; flags of the stored blocks; their KvRows, by block, group and
/// layer; a checksum of all bytes before it. The checksum detects damage, not attacks: the file's
/// author decides which keys and values the model has for these tokens.
/// Errors: Error{kIo}.
void write_session(
    const std::string& path, const Session& session, const SessionBlocks& blocks,
    FunctionRef<void(std::int64_t block, std::int32_t group, std::span<std::byte> out)> read);

/// An open session file. The constructor maps it and checks its checksum and head.
class SessionFile {
 public:
  /// Maps and checks a file. Errors: Error{kModel} if the file cannot be read, is not a session, is
  /// damaged, or has another order version.
  explicit SessionFile(const std::string& path);
  /// Reads a session from `bytes`, the content of a file. The bytes must outlive this object.
  SessionFile(std::span<const std::byte> bytes, std::string name);

  const std::string& name() const { return name_; }
  const Session& session() const { return session_; }
  /// Returns how many of the sequence's first blocks the file lists. Some groups may lack a block.
  std::int64_t blocks() const { return blocks_; }
  /// Returns the KvRows of block i in group g, by layer; empty if the file lacks the block.
  std::span<const std::byte> block(std::int64_t i, std::int32_t g) const;
  /// Checks the file. Errors: Error{kIo} if the file was changed since it was opened.
  void expect_unchanged() const;

  /// Checks the session against a model's limits. Errors: Error{kModel} if `check_session` throws.
  void require_session(const RequestLimits& limits) const;
  /// Checks that the session's model equals `mine`. Errors: Error{kModel} naming the difference.
  void require_model(const SessionModel& mine) const;

 private:
  void parse(std::span<const std::byte> bytes);

  std::string name_;
  bool mapped_ = false;
  MappedFile file_;
  Session session_;
  std::int64_t blocks_ = 0;
  std::vector<std::span<const std::byte>> payload_;  ///< [blocks, groups]: KvRows
};

}  // namespace ingot
