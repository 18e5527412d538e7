// PrefixIndex: the tree of cached blocks, and the hash table that finds its nodes.
#include "kv/prefix_index.h"

#include <algorithm>
#include <bit>
#include <new>
#include <string_view>

#include "base/check.h"
#include "base/index.h"
#include "kv/mutant.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace ingot {

namespace {

std::uint64_t content_hash(std::uint64_t parent, std::span<const std::int32_t> tokens) {
  return XXH3_64bits_withSeed(tokens.data(), tokens.size_bytes(), parent);
}

std::span<const std::int32_t> block_of(std::span<const std::int32_t> tokens, std::int64_t index) {
  return tokens.subspan(to_size(index * kBlockTokens), kBlockTokens);
}

/// Enough nodes for all blocks, and a root for each. In a group with a window, the node of a
/// released block stays while it has children: up to five nodes for each block.
std::size_t node_count(const KvCache& cache, std::int32_t sequences) {
  std::int64_t nodes = 2 * std::int64_t{sequences} + 1;
  for (std::int32_t g = 0; g < cache.groups(); ++g) {
    nodes += (cache.group(g).window > 0 ? 5 : 2) * std::int64_t{cache.pool(g).total()};
  }
  return to_size(nodes);
}

/// The key of a sequence's root. Blocks before the first row with adapters have none.
PrefixKey root_key(PrefixKey key) {
  if (INGOT_MUTANT(8)) key.domain = {};
  if (INGOT_MUTANT(9) || key.adapter_from > 0) key.adapter = 0;
  key.adapter_from = 0;
  return key;
}

}  // namespace

std::string_view to_string(MissReason reason) {
  switch (reason) {
    case MissReason::kNone:
      return "none";
    case MissReason::kNew:
      return "new";
    case MissReason::kDiverged:
      return "diverged";
    case MissReason::kTemplate:
      return "template changed";
    case MissReason::kEvicted:
      return "evicted";
    case MissReason::kDomain:
      return "other domain";
    case MissReason::kAdapter:
      return "other adapter";
  }
  return "?";
}

PrefixIndex::PrefixIndex(KvCache& cache, std::int32_t sequences, const PrefixIndexOptions& options)
    : cache_(cache), options_(options), groups_(cache.groups()) {
  const std::size_t nodes = node_count(cache, sequences);
  nodes_.resize(nodes);
  blocks_.assign(nodes * to_size(groups_), -1);
  for (std::size_t i = nodes; i > 0; --i) unused_.push_back(static_cast<std::int32_t>(i - 1));
  unused_tenants_ = unused_;
  buckets_.assign(std::bit_ceil(2 * nodes), -1);
  ghosts_.resize(std::bit_ceil(nodes));
  path_.reserve(nodes);
  adopted_.reserve(nodes);
  node_of_.resize(to_size(groups_));
  for (std::int32_t g = 0; g < groups_; ++g) {
    at(node_of_, g).assign(to_size(cache.pool(g).total()), -1);
    cache.pool(g).set_owners(static_cast<std::int32_t>(nodes));
    cache.pool(g).on_evict([this, g](std::int32_t b) { forget_block(g, b); });
  }
}

PrefixIndex::~PrefixIndex() {
  flush();
  for (std::int32_t g = 0; g < groups_; ++g) cache_.pool(g).on_evict({});
}

PrefixIndex::BlockAdapter PrefixIndex::adapter_of(const PrefixKey& key, std::int64_t block) {
  const std::int64_t first = block * kBlockTokens;
  if (INGOT_MUTANT(9) || key.adapter == 0 || key.adapter_from >= first + kBlockTokens) return {};
  return {.number = key.adapter, .from = std::max<std::int64_t>(0, key.adapter_from - first)};
}

PrefixIndex::Hash PrefixIndex::child_hash(const Hash& parent, Tokens tokens,
                                          const BlockAdapter& adapter) const {
  constexpr std::size_t kWords = 6;  // before the tokens
  std::array<std::uint64_t, kWords + kBlockTokens / 2> text{
      options_.secret[0], options_.secret[1], parent.low,
      parent.high,        adapter.number,     static_cast<std::uint64_t>(adapter.from)};
  auto* ids = reinterpret_cast<std::byte*>(text.data() + kWords);
  const auto bytes = std::as_bytes(tokens);
  std::copy(bytes.begin(), bytes.end(), ids);
  const XXH128_hash_t h =
      XXH3_128bits_withSeed(text.data(), kWords * 8 + bytes.size(), options_.secret[0]);
  if (options_.hash_bits >= 128) return {h.low64, h.high64};
  return {h.low64 & ((std::uint64_t{1} << options_.hash_bits) - 1), 0};
}

/// The bucket of the node with this hash, or the empty bucket where it belongs.
std::size_t PrefixIndex::bucket_of(const Hash& hash) const {
  std::size_t bucket = home(hash);
  while (buckets_[bucket] >= 0 && node_at(buckets_[bucket]).hash != hash)
    bucket = (bucket + 1) % buckets_.size();
  return bucket;
}

/// The child of `node` with these tokens and adapters, or -1.
std::int32_t PrefixIndex::child(std::int32_t node, Tokens tokens,
                                const BlockAdapter& adapter) const {
  const std::int32_t found = buckets_[bucket_of(child_hash(node_at(node).hash, tokens, adapter))];
  if (found < 0 || INGOT_MUTANT(7)) return found;
  const Node& n = node_at(found);
  const bool is_equal = n.parent == node && n.adapter == adapter &&
                        std::equal(tokens.begin(), tokens.end(), n.tokens.begin());
  return is_equal ? found : -1;
}

std::int32_t PrefixIndex::find_root(const PrefixKey& key) const {
  const auto found = roots_.find(root_key(key));
  return found == roots_.end() ? -1 : found->second;
}

std::int32_t PrefixIndex::take_node() {
  if (unused_.empty()) return -1;
  const std::int32_t node = unused_.back();
  unused_.pop_back();
  ++used_;
  node_at(node) = Node{};
  return node;
}

void PrefixIndex::free_node(std::int32_t node) {
  node_at(node) = Node{};
  unused_.push_back(node);
  --used_;
}

PrefixIndex::Hash PrefixIndex::root_hash(const PrefixKey& key) const {
  std::array<std::int32_t, kBlockTokens> words{};
  const std::array<std::uint64_t, 6> text{key.domain[0],
                                          key.domain[1],
                                          key.adapter,
                                          options_.model,
                                          cache_.groups() ? 1u : 0u,
                                          static_cast<std::uint64_t>(cache_.type())};
  static_assert(sizeof text <= sizeof words);
  const auto bytes = std::as_bytes(std::span(text));
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<std::byte*>(words.data()));
  return child_hash(Hash{}, words, {});
}

std::int32_t PrefixIndex::require_root(const PrefixKey& given, std::uint64_t chat_template) {
  const PrefixKey key = root_key(given);
  std::int32_t root = find_root(key);
  if (root < 0) root = make_root(key);
  if (root >= 0) root_of_node_.at(root).chat_template = chat_template;
  return root;
}

/// Makes a root. Returns -1 if there is no free node or no memory.
std::int32_t PrefixIndex::make_root(const PrefixKey& key) {
  const std::int32_t root = take_node();
  if (root < 0) return -1;
  try {
    root_of_node_.emplace(root, Root{.key = key});
    roots_.emplace(key, root);
    Tenant& tenant = tenants_[key.tenant];
    if (tenant.roots++ == 0) {
      tenant.index = unused_tenants_.back();
      unused_tenants_.pop_back();
    }
    node_at(root).tenant_index = tenant.index;
  } catch (const std::bad_alloc&) {
    root_of_node_.erase(root);
    roots_.erase(key);
    free_node(root);
    return -1;
  }
  node_at(root).hash = root_hash(key);
  node_at(root).root = root;
  return root;
}

void PrefixIndex::drop_root(std::int32_t root) {
  const PrefixKey key = root_of_node_.at(root).key;
  root_of_node_.erase(root);
  roots_.erase(key);
  const auto tenant = tenants_.find(key.tenant);
  if (--tenant->second.roots > 0) return;
  unused_tenants_.push_back(tenant->second.index);
  tenants_.erase(tenant);
}

/// Makes a child. Returns -1 if another node has its hash, or if there is no free node.
std::int32_t PrefixIndex::add_child(std::int32_t parent, Tokens tokens,
                                    const BlockAdapter& adapter) {
  const Hash hash = child_hash(node_at(parent).hash, tokens, adapter);
  const std::size_t bucket = bucket_of(hash);
  if (buckets_[bucket] >= 0) return -1;
  const std::int32_t node = take_node();
  if (node < 0) return -1;
  buckets_[bucket] = node;
  Node& n = node_at(node);
  n.hash = hash;
  n.adapter = adapter;
  n.content = content_hash(node_at(parent).content, tokens);
  n.parent = parent;
  n.root = node_at(parent).root;
  n.tenant_index = node_at(parent).tenant_index;
  std::copy(tokens.begin(), tokens.end(), n.tokens.begin());
  ++node_at(parent).children;
  node_at(parent).last_child = node;
  Ghost& ghost = ghosts_[n.content & (ghosts_.size() - 1)];
  ghost = {n.content, root_of_node_.at(n.root).key};
  ghost.key.adapter = adapter.number;
  return node;
}

/// Empties a bucket, and moves later nodes up so that linear probing still finds them.
void PrefixIndex::erase_bucket(std::size_t bucket) {
  const std::size_t mask = buckets_.size() - 1;
  for (std::size_t next = (bucket + 1) & mask; buckets_[next] >= 0; next = (next + 1) & mask) {
    const std::size_t wanted = home(node_at(buckets_[next]).hash);
    if (((next - wanted) & mask) < ((next - bucket) & mask)) continue;
    buckets_[bucket] = buckets_[next];
    bucket = next;
  }
  buckets_[bucket] = -1;
}

/// Frees a node if it has no blocks, children and places, and then its parents in the same way.
void PrefixIndex::prune(std::int32_t node) {
  while (node >= 0) {
    const Node& n = node_at(node);
    if (n.blocks > 0 || n.children > 0 || n.places > 0) return;
    const std::int32_t parent = n.parent;
    if (is_root(node)) {
      drop_root(node);
    } else {
      erase_bucket(bucket_of(n.hash));
    }
    if (parent >= 0) --node_at(parent).children;
    free_node(node);
    node = parent;
  }
}

void PrefixIndex::forget_block(std::int32_t g, std::int32_t number) {
  std::int32_t& known_as = at(at(node_of_, g), number);
  const std::int32_t node = known_as;
  INGOT_CHECK(node >= 0 && block(node, g) == number, "block ", number, " of group ", g,
              " is not where the index has it");
  known_as = -1;
  block(node, g) = -1;
  --node_at(node).blocks;
  prune(node);
}

std::int32_t PrefixIndex::parent_of(std::int64_t index, const PrefixKey& key) const {
  return index == 0 ? find_root(key) : at(path_, index - 1);
}

/// How many full blocks of `tokens` equal the nodes of `path_`. Nodes may have been freed or reused
/// since the path was made.
std::int64_t PrefixIndex::known_of_path(const PrefixKey& key, Tokens tokens) const {
  const std::int64_t most = std::min(std::ssize(path_), std::ssize(tokens) / kBlockTokens);
  std::int64_t known = 0;
  for (; known < most; ++known) {
    const Node& n = node_at(at(path_, known));
    const std::int32_t parent = parent_of(known, key);
    const Tokens next = block_of(tokens, known);
    if (parent < 0 || n.parent != parent || n.adapter != adapter_of(key, known) ||
        !std::equal(next.begin(), next.end(), n.tokens.begin())) {
      break;
    }
  }
  return known;
}

/// Fills `path_` with the nodes of the full blocks of `tokens`, up to the first unknown block.
/// Keeps the part of `path_` that fits without hashing, because each step looks up the first
/// waiting sequence again.
void PrefixIndex::walk(const PrefixKey& key, Tokens tokens) {
  path_.resize(to_size(known_of_path(key, tokens)));
  for (std::int64_t next = std::ssize(path_); (next + 1) * kBlockTokens <= std::ssize(tokens);
       ++next) {
    const std::int32_t parent = parent_of(next, key);
    if (parent < 0) return;
    const std::int32_t node = child(parent, block_of(tokens, next), adapter_of(key, next));
    if (node < 0) return;
    path_.push_back(node);
  }
}

/// The most blocks of `path_` that a sequence can begin with. Groups without a window need all of
/// these blocks, window groups only the blocks that the first row sees.
std::int64_t PrefixIndex::deepest(std::int64_t rows_max) const {
  std::int64_t best = 0;
  std::array<std::int64_t, 64> run{};  // last blocks without a gap, by group
  INGOT_CHECK(groups_ <= std::ssize(run), groups_, " groups");
  for (std::int64_t d = 0; d < std::ssize(path_) && d * kBlockTokens < rows_max; ++d) {
    const std::int64_t rows = std::min((d + 1) * kBlockTokens, rows_max);
    bool all = true;
    for (std::int32_t g = 0; g < groups_; ++g) {
      std::int64_t& blocks = at(run, g);
      blocks = block(at(path_, d), g) >= 0 ? blocks + 1 : 0;
      const std::int32_t window = cache_.group(g).window;
      const std::int64_t first =
          window == 0 ? 0 : std::max<std::int64_t>(0, rows - window + 1) / kBlockTokens;
      all = all && blocks >= d + 1 - first;
    }
    if (all) best = d + 1;
  }
  return best;
}

PrefixMiss PrefixIndex::explain(const PrefixKey& key, std::int32_t node, Tokens rest,
                                std::int64_t first, std::uint64_t chat_template) const {
  const std::uint64_t parent = node < 0 ? 0 : node_at(node).content;
  const std::uint64_t content = content_hash(parent, block_of(rest, 0));
  const Ghost& ghost = ghosts_[content & (ghosts_.size() - 1)];
  if (ghost.content == content) {
    if (ghost.key.domain != key.domain) return {MissReason::kDomain, first};
    const bool is_own = ghost.key.adapter == adapter_of(key, first / kBlockTokens).number;
    return {is_own ? MissReason::kEvicted : MissReason::kAdapter, first};
  }
  const std::int32_t other = node < 0 ? -1 : node_at(node).last_child;
  if (other < 0 || node_at(other).parent != node || is_root(other))
    return {MissReason::kNew, first};
  const auto& tokens = node_at(other).tokens;
  const auto differs = std::mismatch(tokens.begin(), tokens.end(), rest.begin()).first;
  const bool same = root_of_node_.at(node_at(node).root).chat_template == chat_template;
  return {same ? MissReason::kDiverged : MissReason::kTemplate, first + (differs - tokens.begin())};
}

PrefixIndex::Match PrefixIndex::find(const PrefixKey& key, Tokens tokens, std::int64_t rows_max,
                                     std::uint64_t chat_template) {
  Match match;
  walk(key, tokens);
  match.blocks = deepest(rows_max);
  match.rows = std::min(match.blocks * kBlockTokens, rows_max);
  const std::int64_t first = match.blocks * kBlockTokens;
  if (match.blocks < std::ssize(path_) && first < rows_max) {
    match.miss = {MissReason::kEvicted, first};
  } else if (first + kBlockTokens <= std::min(std::ssize(tokens), rows_max)) {
    std::int32_t node = parent_of(match.blocks, key);
    if (node < 0 && !path_.empty()) node = path_.back();
    match.miss = explain(key, node, tokens.subspan(to_size(first)), first, chat_template);
  }
  return match;
}

std::int64_t PrefixIndex::unheld(const Match& match, std::int32_t g) const {
  return std::count_if(path_.begin(), path_.begin() + match.blocks, [&](std::int32_t node) {
    return block(node, g) >= 0 && cache_.pool(g).references(block(node, g)) == 0;
  });
}

PrefixIndex::Place PrefixIndex::adopt(const PrefixKey& key, const Match& match,
                                      SequenceBlocks& blocks, std::uint64_t chat_template) {
  for (std::int32_t g = 0; g < groups_ && match.blocks > 0; ++g) {
    const std::int32_t window = cache_.group(g).window;
    const std::int64_t first =
        window == 0 ? 0 : std::max<std::int64_t>(0, match.rows - window + 1) / kBlockTokens;
    adopted_.clear();
    for (std::int64_t i = 0; i < match.blocks; ++i) {
      adopted_.push_back(i < first ? -1 : block(at(path_, i), g));
    }
    blocks.adopt(g, adopted_);
  }
  blocks.set_filled(match.blocks * kBlockTokens);
  Place place{.blocks = match.blocks};
  const std::int32_t root = require_root(key, chat_template);
  if (root < 0) return place;
  move(place, match.blocks == 0 ? root : at(path_, match.blocks - 1));
  root_of_node_.at(node_at(place.node).root).chat_template = chat_template;
  return place;
}

/// Counts the place at the new node first, because freeing the old node could free the new one.
void PrefixIndex::move(Place& place, std::int32_t node) {
  const std::int32_t before = place.node;
  place.node = node;
  if (node >= 0) ++node_at(node).places;
  if (before < 0) return;
  --node_at(before).places;
  prune(before);
}

PrefixIndex::Place PrefixIndex::same_place(const Place& place) {
  if (place.node >= 0) ++node_at(place.node).places;
  return place;
}

void PrefixIndex::extend(const PrefixKey& key, Place& place, Tokens tokens, std::int64_t computed,
                         SequenceBlocks& blocks) {
  if (INGOT_MUTANT(4)) computed = std::min(computed + 1, std::ssize(tokens));
  while (place.node >= 0 && (place.blocks + 1) * kBlockTokens <= computed) {
    const std::int64_t index = place.blocks;
    const Tokens next = block_of(tokens, index);
    const BlockAdapter adapter = adapter_of(key, index);
    std::int32_t node = child(place.node, next, adapter);
    if (node < 0) node = add_child(place.node, next, adapter);
    move(place, node);
    if (node < 0) return;
    ++place.blocks;
    for (std::int32_t g = 0; g < groups_; ++g) {
      const std::int32_t own = at(blocks.table(g), index);
      if (own < 0 || own == block(node, g)) continue;
      if (block(node, g) >= 0) {
        blocks.replace(g, index, block(node, g));
        continue;
      }
      block(node, g) = own;
      ++node_at(node).blocks;
      at(at(node_of_, g), own) = node;
      cache_.pool(g).set_owner(own, node_at(node).tenant_index);
    }
  }
}

void PrefixIndex::truncate(Place& place, std::int64_t tokens) {
  std::int32_t node = place.node;
  for (; node >= 0 && place.blocks * kBlockTokens > tokens; --place.blocks) {
    node = node_at(node).parent;
  }
  if (node != place.node) move(place, node);
}

void PrefixIndex::leave(Place& place) { move(place, -1); }

void PrefixIndex::flush() {
  for (std::int32_t g = 0; g < groups_; ++g) {
    for (std::int32_t b = 0; b < cache_.pool(g).total(); ++b) {
      if (at(at(node_of_, g), b) < 0) continue;
      cache_.pool(g).set_owner(b, BlockPool::kNoOwner);
      forget_block(g, b);
    }
  }
}

const PrefixKey* PrefixIndex::key_of(std::int32_t g, std::int32_t block_number) const {
  const std::int32_t node = at(at(node_of_, g), block_number);
  return node < 0 ? nullptr : &root_of_node_.at(node_at(node).root).key;
}

void PrefixIndex::check() const {
  std::int64_t owned = 0;
  for (std::int32_t g = 0; g < groups_; ++g) {
    const auto& nodes = at(node_of_, g);
    for (std::int32_t b = 0; b < std::ssize(nodes); ++b) {
      const std::int32_t node = at(nodes, b);
      INGOT_CHECK((node >= 0) == cache_.pool(g).is_indexed(b), "block ", b, " of group ", g,
                  " has node ", node);
      if (node < 0) continue;
      INGOT_CHECK(block(node, g) == b, "node ", node, " has block ", block(node, g), ", not ", b);
      const std::int32_t tenant_index = tenants_.at(key_of(g, b)->tenant).index;
      INGOT_CHECK(cache_.pool(g).owner(b) == tenant_index, "block ", b, " of tenant ", tenant_index,
                  " counts as one of ", cache_.pool(g).owner(b));
      ++owned;
    }
  }
  std::int64_t blocks = 0, used = std::ssize(root_of_node_);
  for (const std::int32_t node : buckets_) {
    if (node < 0) continue;
    const Node& n = node_at(node);
    INGOT_CHECK(buckets_[bucket_of(n.hash)] == node, "node ", node, " is not found by its hash");
    INGOT_CHECK(n.parent >= 0 && node_at(n.parent).children > 0, "node ", node,
                " hangs on nothing");
    INGOT_CHECK(
        n.hash == child_hash(node_at(n.parent).hash, n.tokens, n.adapter) || INGOT_MUTANT(7),
        "node ", node, " has another hash than its tokens");
    blocks += n.blocks;
    ++used;
  }
  for (const auto& [key, root] : roots_) {
    INGOT_CHECK(node_at(root).parent == -1, "root ", root, " hangs on ", node_at(root).parent);
  }
  INGOT_CHECK(blocks == owned && used == used_, blocks, " blocks of nodes, ", owned, " owned, ",
              used, " nodes, counted ", used_);
}

}  // namespace ingot
