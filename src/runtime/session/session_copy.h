// SessionReader and SessionLoader: a session's blocks out of the pools and back into them, a few
// between two steps, so that other requests go on meanwhile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kv/prefix_index.h"
#include "runtime/session/session_file.h"

namespace ingot {

/// Copies what an index knows of some tokens into memory. Nothing is held between two calls: what
/// is evicted meanwhile is not in the copy.
///
/// `find`, then while `prepare` says so `read`. `find` and `read` run between steps, all else
/// anywhere.
class SessionReader {
 public:
  /// `tokens`, `cache` and `index` outlive it. A null `index` knows nothing.
  SessionReader(std::span<const std::int32_t> tokens, const PrefixKey& key, const KvCache& cache,
                PrefixIndex* index);

  void find();
  /// Makes room for the next blocks, of about so many bytes. False when all are there.
  [[nodiscard]] bool prepare(std::int64_t bytes);
  void read();

  /// Which blocks were read, from the front as far as a sequence can begin with them.
  SessionBlocks blocks() const;
  /// KvRows of a block that is there.
  std::span<const std::byte> rows(std::int64_t i, std::int32_t g) const {
    return rows_[cell(i, g)];
  }

 private:
  std::size_t cell(std::int64_t i, std::int32_t g) const {
    return static_cast<std::size_t>(i * cache_.groups() + g);
  }

  std::span<const std::int32_t> tokens_;
  PrefixKey key_;
  const KvCache& cache_;
  PrefixIndex* index_;
  std::int64_t blocks_ = 0;
  std::int64_t first_ = 0, last_ = 0;         ///< those to be read next
  std::vector<std::vector<std::byte>> rows_;  ///< [blocks, groups]
};

/// Takes the blocks of a file into the pools, from the front on, so that the index knows them and
/// nobody holds them. Nothing is held between two calls: it ends early where what it has loaded is
/// evicted meanwhile, or where no block is left.
///
/// `find`, then while `prepare` says so `load`. `find` and `load` run between steps, all else
/// anywhere.
class SessionLoader {
 public:
  /// All of it outlives this.
  SessionLoader(const SessionFile& file, const PrefixKey& key, KvCache& cache, PrefixIndex& index);

  void find();
  /// Takes the next blocks out of the file, of about so many bytes. False when there are no more.
  ///
  /// Errors: Error{kIo} when the file was changed since it was opened.
  [[nodiscard]] bool prepare(std::int64_t bytes);
  void load();

  /// Tokens that a request could begin with after the last call of `find` or `load`.
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
  std::int64_t target_ = 0;              ///< blocks that are to be known in the end
  std::int64_t known_ = 0;               ///< blocks that a sequence can begin with
  std::int64_t first_ = 0, last_ = 0;    ///< those to be loaded next
  std::vector<std::int64_t> seen_left_;  ///< by group: blocks to load that the next row sees
  std::vector<std::int64_t> offsets_;    ///< by group, and their end: where a block's rows lie
  std::vector<std::byte> staged_;        ///< of blocks [first_, last_)
};

}  // namespace ingot
