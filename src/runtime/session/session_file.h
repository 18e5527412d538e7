// SessionFile: a session in a file, with the keys and values of its cached tokens.
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

/// Writes the file, whole or not at all. `read` fills in one block of one group at a time, in the
/// order of blocks.
///
/// Layout, little-endian, counts before lists: magic and version; order version, numerics profile,
/// fingerprint, KV type, kv heads, head size, window of each layer; request fields as JSON; tokens
/// and how many of them were drawn; which blocks are in the file; their KvRows, by block, group and
/// layer; a checksum over all before it. The checksum finds damage, not attacks: the file's author
/// decides what the model remembers of these tokens.
/// Errors: Error{kIo}.
void write_session(
    const std::string& path, const Session& session, const SessionBlocks& blocks,
    FunctionRef<void(std::int64_t block, std::int32_t group, std::span<std::byte> out)> read);

/// A file that `write_session` wrote. The constructor reads and checks all of it.
class SessionFile {
 public:
  /// Errors: Error{kModel} for a file that cannot be read, is not a session, is damaged, or was
  /// made by another order version or numerics profile.
  explicit SessionFile(const std::string& path);
  /// The file's bytes, which outlive this.
  SessionFile(std::span<const std::byte> bytes, std::string name);

  const std::string& name() const { return name_; }
  const Session& session() const { return session_; }
  /// Blocks from the front on. A block may be missing in some groups.
  std::int64_t blocks() const { return blocks_; }
  /// KvRows of the layers of group g, one after the other; empty if the block is missing.
  std::span<const std::byte> block(std::int64_t i, std::int32_t g) const;
  /// Errors: Error{kIo} when the file was changed since it was read.
  void expect_unchanged() const;

  /// Errors: Error{kModel} if `check_session` refuses the session.
  void require_session(const RequestLimits& limits) const;
  /// Errors: Error{kModel} that names the difference between `mine` and the session's model.
  void require_model(const SessionModel& mine) const;

 private:
  void parse(std::span<const std::byte> bytes);

  std::string name_;
  bool mapped_ = false;
  MappedFile file_;
  Session session_;
  std::int64_t blocks_ = 0;
  std::vector<std::span<const std::byte>> payload_;  ///< [blocks, groups]
};

}  // namespace ingot
