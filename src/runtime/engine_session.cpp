// Engine: sessions out of the prefix index and back into it.
#include <algorithm>

#include "runtime/engine.h"

namespace ingot {

namespace {

/// Takes the blocks of a file into the pools, so that the index knows them and nobody holds them.
class Restoration {
 public:
  Restoration(const SessionFile& file, const PrefixKey& key, KvCache& cache, PrefixIndex& index)
      : file_(file), key_(key), cache_(cache), index_(index) {}

  /// Returns the tokens that a request can begin with now.
  std::int64_t run() {
    static_cast<void>(find());
    const std::int64_t blocks = most_blocks();
    SequenceBlocks held(cache_);
    hold_known(held, blocks);
    for (std::int32_t g = 0; g < cache_.groups(); ++g) load(held, g, blocks);
    file_.expect_unchanged();
    PrefixIndex::Place place = index_.adopt(key_, {}, held);
    index_.extend(place, tokens(), blocks * kBlockTokens, held);
    index_.leave(place);
    held.truncate(0);
    return find().blocks * kBlockTokens;
  }

 private:
  std::span<const std::int32_t> tokens() const { return file_.session().tokens; }
  PrefixIndex::Match find() { return index_.find(key_, tokens(), std::ssize(tokens())); }

  /// The first block that the row after `blocks` blocks sees.
  std::int64_t first_seen(std::int32_t g, std::int64_t blocks) const {
    const std::int64_t window = cache_.group(g).window;
    if (window == 0) return 0;
    return std::max<std::int64_t>(0, blocks * kBlockTokens - window + 1) / kBlockTokens;
  }

  /// Whether a sequence could begin with so many blocks: what it sees of them is known or in the
  /// file, and there is room for the latter.
  bool is_possible(std::int64_t blocks) const {
    for (std::int32_t g = 0; g < cache_.groups(); ++g) {
      std::int64_t wanted = 0;
      for (std::int64_t i = first_seen(g, blocks); i < blocks; ++i) {
        const std::int32_t known = index_.found(i, g);
        if (known < 0 && file_.block(i, g).empty()) return false;
        // An evictable one must not be given away for another.
        wanted += known < 0 || cache_.pool(g).references(known) == 0 ? 1 : 0;
        if (wanted > cache_.pool(g).available()) return false;
      }
    }
    return true;
  }
  /// The file may claim any number; of windows the index knows a few times as many as there are.
  std::int64_t most_blocks() const {
    std::int64_t blocks = file_.blocks();
    for (std::int32_t g = 0; g < cache_.groups(); ++g) {
      const std::int64_t total = cache_.pool(g).total();
      blocks = std::min(blocks, cache_.group(g).window > 0 ? 4 * total : total);
    }
    while (blocks > 0 && !is_possible(blocks)) --blocks;
    return blocks;
  }

  void hold_known(SequenceBlocks& held, std::int64_t blocks) const {
    std::vector<std::int32_t> table;
    for (std::int32_t g = 0; g < cache_.groups(); ++g) {
      table.clear();
      for (std::int64_t i = 0; i < blocks; ++i) {
        table.push_back(i < first_seen(g, blocks) ? -1 : index_.found(i, g));
      }
      held.adopt(g, table);
    }
  }

  /// What is seen, and of a window what was seen before as far as blocks are free: when the last
  /// ones are given away, a sequence can still begin with fewer.
  void load(SequenceBlocks& held, std::int32_t g, std::int64_t blocks) {
    BlockPool& pool = cache_.pool(g);
    for (std::int64_t i = blocks - 1; i >= 0; --i) {
      if (held.table(g)[static_cast<std::size_t>(i)] >= 0) continue;
      if (i < first_seen(g, blocks) &&
          (pool.free() == 0 || index_.found(i, g) >= 0 || file_.block(i, g).empty())) {
        continue;
      }
      const std::int32_t block = *pool.allocate();
      held.replace(g, i, block);
      pool.release(block);
      cache_.load(g, block, file_.block(i, g));
    }
  }

  const SessionFile& file_;
  PrefixKey key_;
  KvCache& cache_;
  PrefixIndex& index_;
};

/// Which blocks of a session's tokens the index knows, as far as a sequence can begin with them.
SessionBlocks known_blocks(std::int64_t blocks, const KvCache& cache, const PrefixIndex& index) {
  SessionBlocks known{.blocks = blocks};
  for (std::int64_t i = 0; i < blocks; ++i) {
    for (std::int32_t g = 0; g < cache.groups(); ++g) {
      known.there.push_back(index.found(i, g) >= 0 ? 1 : 0);
    }
  }
  return known;
}

}  // namespace

std::int64_t Engine::save_session(const std::string& path, Session session,
                                  const std::array<std::uint64_t, 2>& domain) {
  std::int64_t blocks = 0;
  between_steps([&] {
    KvCache& cache = steps_->cache();
    session.model = session_model(cache, session.model.weights);
    PrefixIndex* const index = scheduler_.prefixes();
    SessionBlocks known;
    if (index != nullptr) {
      blocks = index->find({.domain = domain}, session.tokens, std::ssize(session.tokens)).blocks;
      known = known_blocks(blocks, cache, *index);
    }
    write_session(path, session, known,
                  [&](std::int64_t i, std::int32_t g, std::span<std::byte> out) {
                    cache.read(g, index->found(i, g), out);
                  });
  });
  return blocks * kBlockTokens;
}

std::int64_t Engine::restore_session(const SessionFile& file, const ModelFingerprint& weights,
                                     const std::array<std::uint64_t, 2>& domain) {
  std::int64_t tokens = 0;
  between_steps([&] {
    file.require_model(session_model(steps_->cache(), weights));
    PrefixIndex* const index = scheduler_.prefixes();
    if (index == nullptr) return;
    tokens = Restoration(file, {.domain = domain}, steps_->cache(), *index).run();
  });
  return tokens;
}

}  // namespace ingot
