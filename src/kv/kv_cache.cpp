// KvCache and SequenceBlocks: allocates keys and values by KV group, and reserves blocks.
#include "kv/kv_cache.h"

#include <algorithm>
#include <limits>
#include <new>
#include <utility>

#include "backend/kv_rows.h"
#include "base/index.h"
#include "kv/mutant.h"

namespace ingot {

namespace {

std::int64_t blocks_of(std::int64_t tokens) { return (tokens + kBlockTokens - 1) / kBlockTokens; }

/// The fields of an attention that decide the layout of keys and values.
Attention kv_shape(const Attention& a) {
  return {.kv_heads = a.kv_heads,
          .head_dim = a.head_dim,
          .value_dim = a.v_dim(),
          .values_in_keys = a.values_in_keys};
}

bool same_kv_shape(const Attention& a, const Attention& b) {
  return a.kv_heads == b.kv_heads && a.head_dim == b.head_dim && a.v_dim() == b.v_dim() &&
         a.values_in_keys == b.values_in_keys;
}

}  // namespace

std::int64_t KvGroup::blocks_for(std::int64_t tokens, std::int64_t rows_max) const {
  const std::int64_t all = blocks_of(tokens);
  if (window == 0) return all;
  // Blocks of the window and of the step's rows, plus one, because both ends may be partly used.
  return std::min(all, blocks_of(window + rows_max) + 1);
}

std::vector<KvGroup> kv_groups(const Backend& backend, std::span<const KvUse> uses, KvType type) {
  std::vector<KvGroup> groups;
  const auto group_with = [&](std::int32_t layer) {
    const auto group = std::find_if(groups.begin(), groups.end(), [&](const KvGroup& g) {
      return std::find(g.layers.begin(), g.layers.end(), layer) != g.layers.end();
    });
    INGOT_CHECK(group != groups.end(), "layer ", layer, " has no keys and values of its own");
    return group;
  };
  for (std::int32_t i = 0; i < std::ssize(uses); ++i) {
    const KvUse& use = at(uses, i);
    if (use.source >= 0) {
      group_with(use.source)->readers.push_back({.layer = i, .source = use.source});
      continue;
    }
    const Attention shape = kv_shape(use.attention);
    const std::int64_t bytes = backend.kv_block_bytes(use.attention, type);
    auto group = std::find_if(groups.begin(), groups.end(), [&](const KvGroup& g) {
      return g.window == use.attention.window && g.block_bytes == bytes &&
             same_kv_shape(g.shape, shape);
    });
    if (group == groups.end()) {
      groups.push_back(
          {.layers = {}, .window = use.attention.window, .block_bytes = bytes, .shape = shape});
      group = groups.end() - 1;
    }
    group->layers.push_back(i);
  }
  return groups;
}

KvCache::KvCache(Backend& backend, std::vector<KvGroup> groups, KvType type,
                 std::span<const std::int32_t> blocks)
    : backend_(&backend), type_(type), groups_(std::move(groups)) {
  for (std::int32_t g = 0; g < this->groups(); ++g) {
    const KvGroup& group = this->group(g);
    pools_.emplace_back(at(blocks, g));
    pages_.push_back(backend.allocate(at(blocks, g) * group.bytes_per_block()));
    std::byte* pages = pages_.back().data();
    auto& layers = layers_.emplace_back();
    for (const std::int32_t i : group.layers) {
      places_.resize(std::max(places_.size(), to_size(i) + 1));
      at(places_, i) = {.group = g, .index = static_cast<std::int32_t>(layers.size())};
      layers.push_back({.pages = pages,
                        .type = type,
                        .blocks = at(blocks, g),
                        .block_bytes = group.block_bytes,
                        .group = g});
      pages += at(blocks, g) * group.block_bytes;
    }
    for (const KvReader& reader : group.readers) {
      places_.resize(std::max(places_.size(), to_size(reader.layer) + 1));
      at(places_, reader.layer) = at(places_, reader.source);
      at(places_, reader.layer).reads_only = true;
    }
  }
}

void KvCache::touch(std::int64_t i, std::int64_t bytes) {
  if (!backend_->host_memory() || at(places_, i).reads_only) return;
  // The smallest size of a memory page. Larger memory pages are written several times.
  constexpr std::int64_t kPageBytes = 4096;
  const KvLayer& kv = layer(i);
  const std::int64_t blocks =
      std::min<std::int64_t>(kv.blocks, bytes / group(kv.group).bytes_per_block());
  for (std::int64_t offset = 0; offset < blocks * kv.block_bytes; offset += kPageBytes) {
    auto* const byte = static_cast<volatile std::byte*>(kv.pages + offset);
    *byte = *byte;
  }
}

void KvCache::copy(std::span<const BlockCopy> copies) {
  for (const BlockCopy& c : copies) {
    backend_->kv_copy(at(layers_, c.group), c.from, c.to);
  }
}

std::int64_t KvCache::row_bytes(std::int32_t g) const {
  const KvGroup& of = group(g);
  return KvRows(of.shape, type_).block_bytes * std::ssize(of.layers);
}

void KvCache::read(std::int32_t g, std::int32_t block, std::span<std::byte> out) const {
  const KvGroup& of = group(g);
  INGOT_CHECK(std::ssize(out) == row_bytes(g), out.size(), " bytes for ", row_bytes(g));
  backend_->kv_read(of.shape, at(layers_, g), block, out);
}

void KvCache::load(std::int32_t g, std::int32_t block, std::span<const std::byte> in) {
  const KvGroup& of = group(g);
  INGOT_CHECK(std::ssize(in) == row_bytes(g), in.size(), " bytes for ", row_bytes(g));
  backend_->kv_load(of.shape, at(layers_, g), block, in);
}

void KvCache::release(std::int32_t g, std::int32_t block) {
  if (begun_ == done_ || INGOT_MUTANT(26)) return pool(g).release(block);
  releases_.push_back({.step = begun_, .group = g, .block = block});
}

void KvCache::release_after_next(std::int32_t g, std::int32_t block) {
  releases_.push_back({.step = begun_ + 1, .group = g, .block = block});
}

void KvCache::release_until(std::int64_t step) {
  std::erase_if(releases_, [&](const Release& r) {
    if (r.step > step) return false;
    pool(r.group).release(r.block);
    return true;
  });
}

void KvCache::begin_plan() {
  if (begun_ == done_) release_until(begun_ + 1);
}

void KvCache::end_step() {
  INGOT_CHECK(done_ < begun_, "no step is under way");
  release_until(++done_);
}

std::int64_t KvCache::releasing(std::int32_t g) const {
  return std::count_if(releases_.begin(), releases_.end(),
                       [g](const Release& r) { return r.group == g; });
}

SequenceBlocks::SequenceBlocks(KvCache& cache) : cache_(&cache), tables_(to_size(cache.groups())) {}

SequenceBlocks::SequenceBlocks(SequenceBlocks&& other) noexcept
    : cache_(other.cache_),
      tables_(std::move(other.tables_)),
      filled_(std::exchange(other.filled_, 0)),
      is_idle_(std::exchange(other.is_idle_, false)) {
  other.tables_.clear();
}

SequenceBlocks& SequenceBlocks::operator=(SequenceBlocks&& other) noexcept {
  if (this == &other) return *this;
  truncate(0);
  cache_ = other.cache_;
  tables_ = std::move(other.tables_);
  filled_ = std::exchange(other.filled_, 0);
  is_idle_ = std::exchange(other.is_idle_, false);
  other.tables_.clear();
  return *this;
}

SequenceBlocks::~SequenceBlocks() { truncate(0); }

/// Whether the block of key `filled_` exists, will be written to, and is shared or cached.
bool SequenceBlocks::copies_before_write(std::int32_t g, std::int64_t tokens) const {
  const auto index = to_size(filled_ / kBlockTokens);
  if (tokens <= filled_ || index >= table(g).size() || table(g)[index] < 0) return false;
  return !cache_->pool(g).is_writable(table(g)[index]) && !INGOT_MUTANT(5);
}

std::int64_t SequenceBlocks::wanted(std::int32_t g, std::int64_t tokens) const {
  const std::int64_t more = std::max<std::int64_t>(0, blocks_of(tokens) - std::ssize(table(g)));
  return more + (copies_before_write(g, tokens) ? 1 : 0);
}

bool SequenceBlocks::reserve(std::int64_t tokens, std::vector<BlockCopy>& copies) {
  INGOT_CHECK(!is_idle_, "an idle sequence reserves blocks for ", tokens, " tokens");
  if (cache_->refuses()) return false;
  const auto blocks = to_size(blocks_of(tokens));
  for (std::int32_t g = 0; g < groups(); ++g) {
    if (wanted(g, tokens) > cache_->pool(g).available()) return false;
  }
  try {
    for (Table& table : tables_) table.blocks.reserve(std::max(blocks, table.blocks.size()));
    copies.reserve(copies.size() + tables_.size());
  } catch (const std::bad_alloc&) {
    return false;
  }
  for (std::int32_t g = 0; g < groups(); ++g) {
    Table& table = at(tables_, g);
    if (copies_before_write(g, tokens)) {
      std::int32_t& block = at(table.blocks, filled_ / kBlockTokens);
      const std::int32_t own = *cache_->pool(g).allocate();
      copies.push_back({.group = g, .from = block, .to = own});
      cache_->release_after_next(g, block);
      block = own;
    }
    while (table.blocks.size() < blocks) table.add(*cache_->pool(g).allocate());
  }
  return true;
}

bool SequenceBlocks::reserve(std::int64_t tokens) {
  std::vector<BlockCopy> copies;
  const bool reserved = reserve(tokens, copies);
  INGOT_CHECK(copies.empty(), "a shared block would have to be copied");
  return reserved;
}

std::int64_t SequenceBlocks::reservable(std::span<const std::int64_t> withheld) const {
  std::int64_t tokens = std::int64_t{std::numeric_limits<std::int32_t>::max()} * kBlockTokens;
  for (std::int32_t g = 0; g < groups(); ++g) {
    const std::int64_t copy = copies_before_write(g, filled_ + 1) ? 1 : 0;
    const std::int64_t kept = withheld.empty() ? 0 : at(withheld, g);
    const std::int64_t more = cache_->pool(g).available() - kept - copy;
    const std::int64_t room =
        (std::ssize(table(g)) + std::max<std::int64_t>(0, more)) * kBlockTokens;
    tokens = std::min(tokens, more < 0 && copy > 0 ? filled_ : room);
  }
  return tokens;
}

void SequenceBlocks::share(const SequenceBlocks& other, std::int64_t tokens) {
  INGOT_CHECK(cache_ == other.cache_ && tokens <= other.filled_, tokens, " tokens to share of ",
              other.filled_);
  const auto blocks = to_size(blocks_of(tokens));
  for (std::int32_t g = 0; g < groups(); ++g) adopt(g, other.table(g).first(blocks));
  filled_ = tokens;
}

bool SequenceBlocks::fork(const SequenceBlocks& other, std::int64_t tokens,
                          std::vector<BlockCopy>& copies) {
  const std::int64_t full = INGOT_MUTANT(5) ? tokens : tokens / kBlockTokens * kBlockTokens;
  const auto tail = to_size(full / kBlockTokens);
  for (std::int32_t g = 0; g < groups() && full < tokens; ++g) {
    if (cache_->pool(g).available() == 0) return false;
  }
  share(other, full);
  for (std::int32_t g = 0; g < groups() && full < tokens; ++g) {
    const std::int32_t own = *cache_->pool(g).allocate();
    at(tables_, g).add(own);
    copies.push_back({.group = g, .from = other.table(g)[tail], .to = own});
  }
  filled_ = tokens;
  return true;
}

void SequenceBlocks::adopt(std::int32_t g, std::span<const std::int32_t> blocks) {
  Table& table = at(tables_, g);
  INGOT_CHECK(table.blocks.empty() && !is_idle_, blocks.size(), " blocks into a table of ",
              table.blocks.size(), is_idle_ ? ", which is idle" : "");
  table.blocks.assign(blocks.begin(), blocks.end());
  for (const std::int32_t block : blocks) {
    if (block < 0) continue;
    cache_->pool(g).retain(block);
    ++table.held;
  }
}

void SequenceBlocks::replace(std::int32_t g, std::int64_t index, std::int32_t block) {
  Table& table = at(tables_, g);
  std::int32_t& own = at(table.blocks, index);
  cache_->pool(g).retain(block);
  if (is_idle_) cache_->pool(g).mark_idle(block);
  if (own >= 0) {
    drop(g, own);
  } else {
    ++table.held;
    table.forgotten = std::min(table.forgotten, index);
  }
  own = block;
}

void SequenceBlocks::set_idle(bool idle) {
  if (is_idle_ == idle) return;
  is_idle_ = idle;
  for (std::int32_t g = 0; g < groups(); ++g) {
    BlockPool& pool = cache_->pool(g);
    for (const std::int32_t block : table(g)) {
      if (block < 0) continue;
      if (idle) {
        pool.mark_idle(block);
      } else {
        pool.unmark_idle(block);
      }
    }
  }
}

/// Drops the sequence's reference to a block.
void SequenceBlocks::drop(std::int32_t g, std::int32_t block) {
  if (is_idle_) cache_->pool(g).unmark_idle(block);
  cache_->release(g, block);
}

void SequenceBlocks::forget_before(std::int64_t next) {
  for (std::int32_t g = 0; g < groups(); ++g) {
    const std::int64_t window = cache_->group(g).window;
    if (window == 0) continue;
    Table& table = at(tables_, g);
    const std::int64_t last =
        std::min((next - window + 1) / kBlockTokens, std::ssize(table.blocks));
    for (; table.forgotten < last; ++table.forgotten) {
      std::int32_t& block = at(table.blocks, table.forgotten);
      if (block < 0) continue;
      drop(g, block);
      block = -1;
      --table.held;
    }
  }
}

void SequenceBlocks::truncate(std::int64_t tokens) {
  INGOT_CHECK(can_truncate(tokens), "truncated to ", tokens,
              " tokens, but a block of their window was given back");
  for (std::int32_t g = 0; g < groups(); ++g) {
    Table& table = at(tables_, g);
    while (std::ssize(table.blocks) > blocks_of(tokens)) {
      if (table.blocks.back() >= 0) {
        drop(g, table.blocks.back());
        --table.held;
      }
      table.blocks.pop_back();
    }
    table.forgotten = std::min(table.forgotten, std::ssize(table.blocks));
  }
  filled_ = std::min(filled_, tokens);
}

bool SequenceBlocks::can_share(std::int64_t next, std::int64_t tokens) const {
  for (std::int32_t g = 0; g < groups(); ++g) {
    const std::int64_t window = cache_->group(g).window;
    if (window == 0 || tokens == 0) continue;
    const std::int64_t first_seen = std::max<std::int64_t>(0, next - window + 1);
    const std::int64_t last = std::min(std::ssize(table(g)), blocks_of(tokens));
    for (std::int64_t b = first_seen / kBlockTokens; b < last; ++b) {
      if (at(table(g), b) < 0) return false;
    }
  }
  return true;
}

std::int32_t SequenceBlocks::slot(std::int32_t g, std::int64_t key) const {
  const auto block = to_size(key / kBlockTokens);
  INGOT_CHECK(block < table(g).size() && table(g)[block] >= 0, "key ", key, " has no block");
  if (key < filled_) return -1;
  INGOT_CHECK(cache_->pool(g).is_writable(table(g)[block]) || INGOT_MUTANT(5), "block ",
              table(g)[block], " is shared, and would be written to");
  return table(g)[block] * kBlockTokens + static_cast<std::int32_t>(key % kBlockTokens);
}

}  // namespace ingot
