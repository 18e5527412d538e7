// KvCache: grouping of layers, allocation of pages, block tables of sequences.
#include "kv/kv_cache.h"

#include <algorithm>
#include <limits>

namespace ingot {

namespace {

std::int64_t blocks_of(std::int64_t tokens) { return (tokens + kBlockTokens - 1) / kBlockTokens; }

}  // namespace

std::int64_t KvGroup::blocks_for(std::int64_t tokens, std::int64_t rows_max) const {
  const std::int64_t all = blocks_of(tokens);
  if (window == 0) return all;
  // The window and the step's own rows, and a partly used block at either end.
  return std::min(all, blocks_of(window + rows_max) + 1);
}

std::vector<KvGroup> kv_groups(const Backend& backend, std::span<const Attention> attention,
                               KvType type) {
  std::vector<KvGroup> groups;
  for (std::size_t i = 0; i < attention.size(); ++i) {
    const Attention& a = attention[i];
    const std::int64_t bytes = backend.kv_block_bytes(a, type);
    auto group = std::find_if(groups.begin(), groups.end(), [&](const KvGroup& g) {
      return g.window == a.window && g.block_bytes == bytes;
    });
    if (group == groups.end()) {
      groups.push_back({.layers = {}, .window = a.window, .block_bytes = bytes});
      group = groups.end() - 1;
    }
    group->layers.push_back(static_cast<std::int32_t>(i));
  }
  return groups;
}

KvCache::KvCache(Backend& backend, std::vector<KvGroup> groups, KvType type,
                 std::span<const std::int32_t> blocks)
    : groups_(std::move(groups)) {
  std::size_t layers = 0;
  for (const KvGroup& group : groups_) layers += group.layers.size();
  layers_.resize(layers);
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const KvGroup& group = groups_[g];
    pools_.emplace_back(blocks[g]);
    pages_.push_back(backend.allocate(blocks[g] * group.bytes_per_block()));
    std::byte* pages = pages_.back().data();
    for (const std::int32_t i : group.layers) {
      layers_[static_cast<std::size_t>(i)] = {.pages = pages,
                                              .type = type,
                                              .blocks = blocks[g],
                                              .block_bytes = group.block_bytes,
                                              .group = static_cast<std::int32_t>(g)};
      pages += blocks[g] * group.block_bytes;
    }
  }
}

SequenceBlocks::SequenceBlocks(KvCache& cache)
    : cache_(&cache), tables_(static_cast<std::size_t>(cache.groups())) {}

SequenceBlocks::SequenceBlocks(SequenceBlocks&& other) noexcept
    : cache_(other.cache_), tables_(std::move(other.tables_)) {
  other.tables_.clear();
}

SequenceBlocks& SequenceBlocks::operator=(SequenceBlocks&& other) noexcept {
  if (this == &other) return *this;
  truncate(0);
  cache_ = other.cache_;
  tables_ = std::move(other.tables_);
  other.tables_.clear();
  return *this;
}

SequenceBlocks::~SequenceBlocks() { truncate(0); }

bool SequenceBlocks::reserve(std::int64_t tokens) {
  const std::int64_t wanted = blocks_of(tokens);
  for (std::int32_t g = 0; g < cache_->groups(); ++g) {
    if (wanted - std::ssize(table(g)) > cache_->pool(g).free()) return false;
  }
  for (std::int32_t g = 0; g < cache_->groups(); ++g) {
    auto& table = tables_[static_cast<std::size_t>(g)];
    while (std::ssize(table) < wanted) {
      table.push_back(-1);  // its place first: growing may throw, and the block would be lost
      table.back() = *cache_->pool(g).allocate();
    }
  }
  return true;
}

void SequenceBlocks::share(const SequenceBlocks& other, std::int64_t tokens) {
  INGOT_CHECK(cache_ == other.cache_ && tokens % kBlockTokens == 0, tokens, " tokens to share");
  for (std::int32_t g = 0; g < cache_->groups(); ++g) {
    auto& table = tables_[static_cast<std::size_t>(g)];
    INGOT_CHECK(table.empty() && std::ssize(other.table(g)) >= blocks_of(tokens), tokens,
                " tokens of ", other.table(g).size(), " blocks into ", table.size());
    for (const std::int32_t block :
         other.table(g).first(static_cast<std::size_t>(blocks_of(tokens)))) {
      table.push_back(block);
      if (block >= 0) cache_->pool(g).retain(block);
    }
  }
}

std::int64_t SequenceBlocks::reservable() const {
  std::int64_t blocks = std::numeric_limits<std::int32_t>::max();
  for (std::int32_t g = 0; g < cache_->groups(); ++g) {
    blocks = std::min(blocks, std::ssize(table(g)) + cache_->pool(g).free());
  }
  return blocks * kBlockTokens;
}

std::int64_t SequenceBlocks::releasable(std::int32_t g) const {
  const BlockPool& pool = cache_->pool(g);
  const auto blocks = table(g);
  return std::count_if(blocks.begin(), blocks.end(),
                       [&](std::int32_t b) { return b >= 0 && pool.references(b) == 1; });
}

void SequenceBlocks::forget_before(std::int64_t next) {
  for (std::int32_t g = 0; g < cache_->groups(); ++g) {
    const std::int64_t window = cache_->group(g).window;
    if (window == 0) continue;
    auto& table = tables_[static_cast<std::size_t>(g)];
    const std::int64_t first_seen = next - window + 1;
    for (std::int64_t b = 0; b < std::ssize(table) && (b + 1) * kBlockTokens <= first_seen; ++b) {
      std::int32_t& block = table[static_cast<std::size_t>(b)];
      if (block >= 0) cache_->pool(g).release(block);
      block = -1;
    }
  }
}

void SequenceBlocks::truncate(std::int64_t tokens) {
  INGOT_CHECK(can_truncate(tokens), "truncated to ", tokens,
              " tokens, but a block of their window was given back");
  for (std::int32_t g = 0; g < groups(); ++g) {
    auto& table = tables_[static_cast<std::size_t>(g)];
    while (std::ssize(table) > blocks_of(tokens)) {
      if (table.back() >= 0) cache_->pool(g).release(table.back());
      table.pop_back();
    }
  }
}

bool SequenceBlocks::can_truncate(std::int64_t tokens) const {
  for (std::int32_t g = 0; g < groups(); ++g) {
    const std::int64_t window = cache_->group(g).window;
    if (window == 0 || tokens == 0) continue;
    const std::int64_t first_seen = std::max<std::int64_t>(0, tokens - window + 1);
    const std::int64_t last = std::min(std::ssize(table(g)), blocks_of(tokens));
    for (std::int64_t b = first_seen / kBlockTokens; b < last; ++b) {
      if (table(g)[static_cast<std::size_t>(b)] < 0) return false;
    }
  }
  return true;
}

std::int64_t SequenceBlocks::held(std::int32_t g) const {
  return std::ssize(table(g)) - std::count(table(g).begin(), table(g).end(), -1);
}

std::int32_t SequenceBlocks::slot(std::int32_t g, std::int64_t key) const {
  const auto block = static_cast<std::size_t>(key / kBlockTokens);
  INGOT_CHECK(block < table(g).size() && table(g)[block] >= 0, "key ", key, " has no block");
  INGOT_CHECK(cache_->pool(g).references(table(g)[block]) == 1, "key ", key,
              " would be written to a block that is shared");
  return table(g)[block] * kBlockTokens + static_cast<std::int32_t>(key % kBlockTokens);
}

}  // namespace ingot
