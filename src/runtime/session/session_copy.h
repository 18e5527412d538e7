// SessionReader and SessionLoader: copy a session's blocks out of the KV cache and into it, a few
// blocks between two steps, so that other requests continue.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/index.h"
#include "kv/prefix_index.h"
#include "runtime/session/session_file.h"

namespace ingot {

/// Copies the cached blocks of a session's tokens into memory. Holds no block between two calls, so
/// a block that is evicted meanwhile is missing from the copy.
///
/// Call `find` once, then `prepare` and `read` alternately until `prepare` returns false. `find`
/// and `read` must run between steps. The other functions may run in any thread.
class SessionReader {
 public:
  /// `tokens`, `cache` and `index` must outlive this object. `index` may be null.
  SessionReader(std::span<const std::int32_t> tokens, const PrefixKey& key, const KvCache& cache,
                PrefixIndex* index);

  void find();
  /// Allocates about `bytes` bytes for the next blocks. Returns false if all blocks were read.
  [[nodiscard]] bool prepare(std::int64_t bytes);
  void read();

  /// Returns which blocks were read. A sequence can begin with these blocks.
  SessionBlocks blocks() const;
  /// Returns block i of group g in KvRows format; empty if the block was not read.
  std::span<const std::byte> rows(std::int64_t i, std::int32_t g) const {
    return rows_[cell(i, g)];
  }

 private:
  std::size_t cell(std::int64_t i, std::int32_t g) const {
    return to_size(i * cache_.groups() + g);
  }

  std::span<const std::int32_t> tokens_;
  PrefixKey key_;
  const KvCache& cache_;
  PrefixIndex* index_;
  std::int64_t blocks_ = 0;
  std::int64_t first_ = 0, last_ = 0;         ///< blocks [first_, last_) are read next
  std::vector<std::vector<std::byte>> rows_;  ///< [blocks, groups]: copied KvRows
};

/// Loads a file's blocks into the pools, in order, as cached blocks that no sequence holds. Holds
/// no block between two calls. Loading ends early if a loaded block is evicted meanwhile, or if a
/// pool has no block available.
///
/// Call `find` once, then `prepare` and `load` alternately until `prepare` returns false. `find`
/// and `load` must run between steps. The other functions may run in any thread.
class SessionLoader {
 public:
  /// `file`, `cache` and `index` must outlive this object.
  SessionLoader(const SessionFile& file, const PrefixKey& key, KvCache& cache, PrefixIndex& index);

  void find();
  /// Copies about `bytes` bytes of next blocks from the file. Returns false if no blocks are left.
  ///
  /// Errors: Error{kIo} if the file was changed since it was opened.
  [[nodiscard]] bool prepare(std::int64_t bytes);
  void load();

  /// Returns how many of the first tokens were cached when `find` or `load` last returned.
  std::int64_t tokens() const { return known_ * kBlockTokens; }

 private:
  std::span<const std::int32_t> all_tokens() const { return file_.session().tokens; }
  void look_up();
  std::int64_t first_seen(std::int32_t g, std::int64_t blocks) const;
  bool is_missing(std::int64_t i, std::int32_t g) const;
  bool is_wanted(std::int64_t i, std::int32_t g) const;
  void rule_out(std::int32_t g, std::vector<bool>& possible) const;
  std::int64_t blocks_max() const;
  bool can_load() const;
  void hold_known(SequenceBlocks& held) const;
  void load_group(SequenceBlocks& held, std::int32_t g);
  std::span<std::byte> staged(std::int64_t i, std::int32_t g);

  const SessionFile& file_;
  PrefixKey key_;
  KvCache& cache_;
  PrefixIndex& index_;
  std::int64_t target_ = 0;              ///< number of first blocks that must be cached at the end
  std::int64_t known_ = 0;               ///< number of cached blocks that a sequence can begin with
  std::int64_t first_ = 0, last_ = 0;    ///< blocks [first_, last_) are loaded next
  std::vector<std::int64_t> seen_left_;  ///< [groups]: unloaded blocks that the next row sees
  std::vector<std::int64_t>
      offsets_;                    ///< byte offset of each group in a block, then the block's size
  std::vector<std::byte> staged_;  ///< bytes of blocks [first_, last_)
};

}  // namespace ingot
