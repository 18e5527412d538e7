// SessionReader and SessionLoader: choose which of a session's blocks to copy and to load.
#include "runtime/session/session_copy.h"

#include "base/index.h"

#include <algorithm>

namespace ingot {

namespace {

/// Number of blocks of `per_block` bytes to copy between two steps, at least one.
std::int64_t blocks_at_once(std::int64_t bytes, std::int64_t per_block) {
  return std::max<std::int64_t>(1, bytes / std::max<std::int64_t>(1, per_block));
}

}  // namespace

SessionReader::SessionReader(std::span<const std::int32_t> tokens, const PrefixKey& key,
                             const KvCache& cache, PrefixIndex* index)
    : tokens_(tokens), key_(key), cache_(cache), index_(index) {}

void SessionReader::find() {
  if (index_ != nullptr) blocks_ = index_->find(key_, tokens_, std::ssize(tokens_)).blocks;
}

bool SessionReader::prepare(std::int64_t bytes) {
  first_ = last_;
  if (first_ >= blocks_) return false;
  std::int64_t per_block = 0;
  for (std::int32_t g = 0; g < cache_.groups(); ++g) per_block += cache_.row_bytes(g);
  last_ = std::min(blocks_, first_ + blocks_at_once(bytes, per_block));
  rows_.resize(cell(last_, 0));
  for (std::int64_t i = first_; i < last_; ++i) {
    for (std::int32_t g = 0; g < cache_.groups(); ++g) {
      rows_[cell(i, g)].resize(to_size(cache_.row_bytes(g)));
    }
  }
  return true;
}

void SessionReader::read() {
  blocks_ = std::min(blocks_, index_->find(key_, tokens_, std::ssize(tokens_)).blocks);
  for (std::int64_t i = first_; i < std::min(last_, blocks_); ++i) {
    for (std::int32_t g = 0; g < cache_.groups(); ++g) {
      const std::int32_t block = index_->found(i, g);
      if (block >= 0) {
        cache_.read(g, block, rows_[cell(i, g)]);
      } else {
        rows_[cell(i, g)].clear();
      }
    }
  }
}

SessionBlocks SessionReader::blocks() const {
  // Not all cached blocks may have been read.
  SessionBlocks blocks{.blocks = std::min(blocks_, last_)};
  for (std::size_t i = 0; i < cell(blocks.blocks, 0); ++i) {
    blocks.there.push_back(rows_[i].empty() ? 0 : 1);
  }
  return blocks;
}

SessionLoader::SessionLoader(const SessionFile& file, const PrefixKey& key, KvCache& cache,
                             PrefixIndex& index)
    : file_(file), key_(key), cache_(cache), index_(index), offsets_{0} {
  for (std::int32_t g = 0; g < cache.groups(); ++g) {
    offsets_.push_back(offsets_.back() + cache.row_bytes(g));
  }
}

void SessionLoader::look_up() {
  known_ = index_.find(key_, all_tokens(), std::ssize(all_tokens())).blocks;
}

/// The first block that the row after `blocks` blocks sees in group g.
std::int64_t SessionLoader::first_seen(std::int32_t g, std::int64_t blocks) const {
  const std::int64_t window = cache_.group(g).window;
  if (window == 0) return 0;
  return std::max<std::int64_t>(0, blocks * kBlockTokens - window + 1) / kBlockTokens;
}

bool SessionLoader::is_missing(std::int64_t i, std::int32_t g) const {
  return index_.found(i, g) < 0 && file_.block(i, g).empty();
}

/// Whether the block takes one of the pool's available blocks: it is not cached, or it is evictable
/// and must not be evicted for another block of this session.
bool SessionLoader::is_wanted(std::int64_t i, std::int32_t g) const {
  const std::int32_t known = index_.found(i, g);
  return known < 0 || cache_.pool(g).references(known) == 0;
}

/// Clears possible[n] if a sequence could not begin with n blocks: a block that it sees is neither
/// cached nor in the file, or the pool has no room for it.
void SessionLoader::rule_out(std::int32_t g, std::vector<bool>& possible) const {
  std::int64_t first = 0, wanted = 0, last_missing = -1;
  for (std::int64_t blocks = 1; blocks < std::ssize(possible); ++blocks) {
    const std::int64_t added = blocks - 1;
    wanted += is_wanted(added, g) ? 1 : 0;
    if (is_missing(added, g)) last_missing = added;
    for (; first < first_seen(g, blocks); ++first) wanted -= is_wanted(first, g) ? 1 : 0;
    if (last_missing < first && wanted <= cache_.pool(g).available()) continue;
    at(possible, blocks) = false;
  }
}

/// The most blocks that a sequence could begin with. The file may claim any number. A window's
/// index knows at most a few times as many blocks as its pool has, because older ones are released.
std::int64_t SessionLoader::blocks_max() const {
  std::int64_t blocks = file_.blocks();
  for (std::int32_t g = 0; g < cache_.groups(); ++g) {
    const std::int64_t total = cache_.pool(g).total();
    blocks = std::min(blocks, cache_.group(g).window > 0 ? 4 * total : total);
  }
  std::vector<bool> possible(to_size(blocks) + 1, true);
  for (std::int32_t g = 0; g < cache_.groups(); ++g) rule_out(g, possible);
  while (!at(possible, blocks)) --blocks;
  return blocks;
}

void SessionLoader::find() {
  look_up();
  target_ = blocks_max();
  for (std::int32_t g = 0; g < cache_.groups(); ++g) {
    std::int64_t& left = seen_left_.emplace_back();
    for (std::int64_t i = first_seen(g, target_); i < target_; ++i) {
      left += index_.found(i, g) < 0 ? 1 : 0;
    }
  }
}

bool SessionLoader::prepare(std::int64_t bytes) {
  first_ = last_;
  last_ = std::min(target_, first_ + blocks_at_once(bytes, offsets_.back()));
  if (first_ >= last_) return false;
  staged_.resize(to_size((last_ - first_) * offsets_.back()));
  for (std::int64_t i = first_; i < last_; ++i) {
    for (std::int32_t g = 0; g < cache_.groups(); ++g) {
      const std::span<const std::byte> rows = file_.block(i, g);
      std::copy(rows.begin(), rows.end(), staged(i, g).begin());
    }
  }
  file_.expect_unchanged();
  return true;
}

std::span<std::byte> SessionLoader::staged(std::int64_t i, std::int32_t g) {
  const auto group = to_size(g);
  return std::span(staged_).subspan(to_size((i - first_) * offsets_.back() + offsets_[group]),
                                    to_size(offsets_[group + 1] - offsets_[group]));
}

/// Whether the loaded blocks are still cached, and the pools have room for the next visible blocks.
bool SessionLoader::can_load() const {
  for (std::int32_t g = 0; g < cache_.groups(); ++g) {
    std::int64_t wanted = 0;
    for (std::int64_t i = first_seen(g, target_); i < last_; ++i) {
      if (i < first_ ? index_.found(i, g) < 0 : is_missing(i, g)) return false;
      wanted += is_wanted(i, g) ? 1 : 0;
    }
    if (wanted > cache_.pool(g).available()) return false;
  }
  return true;
}

void SessionLoader::hold_known(SequenceBlocks& held) const {
  std::vector<std::int32_t> table;
  for (std::int32_t g = 0; g < cache_.groups(); ++g) {
    table.clear();
    for (std::int64_t i = 0; i < last_; ++i) {
      table.push_back(i < first_seen(g, target_) ? -1 : index_.found(i, g));
    }
    held.adopt(g, table);
  }
}

/// Loads the blocks that the next row sees. In a group with a window, also loads older blocks while
/// spare blocks are free: if the last blocks are evicted, a sequence can still begin with fewer.
void SessionLoader::load_group(SequenceBlocks& held, std::int32_t g) {
  BlockPool& pool = cache_.pool(g);
  std::int64_t& seen_left = at(seen_left_, g);
  for (std::int64_t i = last_ - 1; i >= first_; --i) {
    if (at(held.table(g), i) >= 0) continue;
    const bool is_seen = i >= first_seen(g, target_);
    const bool is_idle = pool.free() > seen_left && index_.found(i, g) < 0;
    if (!is_seen && (!is_idle || file_.block(i, g).empty())) continue;
    const std::int32_t block = *pool.allocate();
    held.replace(g, i, block);
    pool.release(block);
    cache_.load(g, block, staged(i, g));
    seen_left -= is_seen ? 1 : 0;
  }
}

/// Holds all blocks that are cached so far, loads the next ones, and releases all, the last ones
/// first, so that leaves are evicted before their parents.
void SessionLoader::load() {
  look_up();
  if (!can_load()) {
    target_ = first_;
    return;
  }
  SequenceBlocks held(cache_);
  hold_known(held);
  for (std::int32_t g = 0; g < cache_.groups(); ++g) load_group(held, g);
  PrefixIndex::Place place = index_.adopt(key_, {}, held);
  index_.extend(key_, place, all_tokens(), last_ * kBlockTokens, held);
  index_.leave(place);
  held.truncate(0);
  look_up();
}

}  // namespace ingot
