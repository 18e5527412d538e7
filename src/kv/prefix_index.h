// PrefixIndex: finds cached blocks by their tokens, so that equal prefixes are computed once.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/index.h"
#include "kv/kv_cache.h"

namespace ingot {

/// The properties that sequences must share to share blocks. Sequences with different keys share no
/// block.
struct PrefixKey {
  std::array<std::uint64_t, 2> domain{};  ///< API key and salt; a hit never crosses domains
  std::uint64_t adapter = 0;              ///< 0: none; a new number each time it is loaded
  /// The owner of the blocks: an API key with all its salts. No part of comparisons: where tenants
  /// share a domain, the first tenant to begin there owns its blocks.
  std::uint64_t tenant = 0;

  bool operator==(const PrefixKey& other) const {
    return std::tie(domain, adapter) == std::tie(other.domain, other.adapter);
  }
  bool operator<(const PrefixKey& other) const {
    return std::tie(domain, adapter) < std::tie(other.domain, other.adapter);
  }
};

/// Why a prefix ends where it does. For operators alone: it tells of other domains' contents.
enum class MissReason {
  kNone,      ///< the whole prefix was cached
  kNew,       ///< the next block's tokens are new, or were seen too long ago
  kDiverged,  ///< the tokens differ from the last ones seen after this prefix
  kTemplate,  ///< the tokens differ, and the chat template too
  kEvicted,   ///< the next block was cached, and evicted
  kDomain,    ///< the next block is cached for another domain
  kAdapter,   ///< the next block is cached with another adapter
};

/// "none", "new", "diverged", "template changed", "evicted", "other domain" or "other adapter".
std::string_view to_string(MissReason reason);

/// Where a prefix ended.
struct PrefixMiss {
  MissReason reason = MissReason::kNone;
  std::int64_t token = 0;  ///< index of the first token that was not found
};

/// The secrets and identities that hashes depend on.
struct PrefixIndexOptions {
  std::array<std::uint64_t, 2>
      secret{};             ///< this process's own: clients cannot construct collisions
  std::uint64_t model = 0;  ///< identifies weights and numerics
  int hash_bits = 128;      ///< fewer bits cause collisions, for tests
};

/// A tree of full blocks, found by a 128-bit keyed hash of PrefixKey and all tokens up to the
/// block's end. Tokens and parents are compared on a hit, so a collision costs one hit and has no
/// other effect.
///
/// The index holds no references: a cached block that no sequence holds is evictable, and the pool
/// reports its eviction. A sequence that holds a block holds all blocks before it, and releases the
/// last ones first, so a pool evicts an owner's leaves before their parents.
///
/// The cost of an operation is proportional to its blocks. After construction only the first
/// request of a PrefixKey allocates; without memory that sequence stays unregistered.
class PrefixIndex {
 public:
  /// A sequence's position in the tree: its last registered block.
  struct Place {
    std::int32_t node = -1;  ///< a node that stays while it is held; -1: not registered
    std::int64_t blocks = 0;
  };
  /// The prefix that a sequence can begin with.
  struct Match {
    std::int64_t rows = 0;    ///< rows that need not be computed
    std::int64_t blocks = 0;  ///< blocks to hold
    PrefixMiss miss{};
  };

  /// For up to `sequences` sequences at once. Listens to the pools of `cache`, which must outlive
  /// it.
  PrefixIndex(KvCache& cache, std::int32_t sequences, const PrefixIndexOptions& options);
  ~PrefixIndex();
  PrefixIndex(const PrefixIndex&) = delete;
  PrefixIndex& operator=(const PrefixIndex&) = delete;

  /// The longest prefix of `tokens` that is cached in all KV groups, at most `rows_max` rows: later
  /// rows are computed in any case. `chat_template` identifies the template; 0: unknown. Changes
  /// nothing.
  Match find(const PrefixKey& key, std::span<const std::int32_t> tokens, std::int64_t rows_max,
             std::uint64_t chat_template = 0);
  /// The cached block of group g with tokens [16 i, 16 (i + 1)) of the last `find`, usable or not;
  /// -1 without one.
  std::int32_t found(std::int64_t i, std::int32_t g) const {
    return i < std::ssize(path_) ? block(at(path_, i), g) : -1;
  }
  /// The number of blocks of group g in the last `find` that are evictable now.
  std::int64_t unheld(const Match& match, std::int32_t g) const;
  /// The number of blocks of group g in the last `find` that only `holder` holds.
  std::int64_t held_alone(const Match& match, std::int32_t g, const SequenceBlocks& holder) const;
  /// Begins `blocks` with the blocks of the last `find`; returns the sequence's place.
  Place adopt(const PrefixKey& key, const Match& match, SequenceBlocks& blocks,
              std::uint64_t chat_template = 0);

  /// A copy of `place` for another sequence.
  Place same_place(const Place& place);
  /// Registers the full blocks of keys [0, computed). Where a block with equal tokens is cached
  /// already, the sequence holds that one instead of its own.
  void extend(Place& place, std::span<const std::int32_t> tokens, std::int64_t computed,
              SequenceBlocks& blocks);
  /// Moves the place back to the full blocks of the first `tokens` tokens.
  void truncate(Place& place, std::int64_t tokens);
  /// Ends the place. Its blocks stay cached until they are evicted.
  void leave(Place& place);

  /// Makes all cached blocks unknown: later requests find none of them.
  void flush();

  /// The key under which a block of group g is cached; null if it is not cached.
  const PrefixKey* key_of(std::int32_t g, std::int32_t block_number) const;
  /// Nodes in use: blocks and roots.
  std::int64_t nodes() const { return used_; }
  /// Ends the process if the nodes and the pools disagree. Walks all nodes: for idle moments and
  /// tests.
  void check() const;

 private:
  using Tokens = std::span<const std::int32_t>;
  struct Hash {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    bool operator==(const Hash&) const = default;
  };
  struct Node {
    Hash hash;
    std::uint64_t content = 0;       ///< hash of the tokens alone, without secret and key
    std::int32_t parent = -1;        ///< -1: a root, or a free node
    std::int32_t root = -1;          ///< the node itself for a root
    std::int32_t tenant_index = -1;  ///< the root's tenant in the pools
    std::int32_t children = 0;
    std::int32_t places = 0;
    std::int32_t blocks = 0;       ///< groups in which it has a block
    std::int32_t last_child = -1;  ///< the child registered last; may be gone
    std::array<std::int32_t, kBlockTokens> tokens{};
  };
  struct Root {
    PrefixKey key;
    std::uint64_t chat_template = 0;
  };
  /// A tenant's index in the pools, while it has roots.
  struct Tenant {
    std::int32_t index = -1;
    std::int32_t roots = 0;
  };
  /// A block that was registered once, by the hash of its tokens.
  struct Ghost {
    std::uint64_t content = 0;
    PrefixKey key;
  };

  Node& node_at(std::int32_t node) { return at(nodes_, node); }
  const Node& node_at(std::int32_t node) const { return at(nodes_, node); }
  std::size_t cell(std::int32_t node, std::int32_t g) const {
    return to_size(node) * to_size(groups_) + to_size(g);
  }
  std::int32_t& block(std::int32_t node, std::int32_t g) { return blocks_[cell(node, g)]; }
  std::int32_t block(std::int32_t node, std::int32_t g) const { return blocks_[cell(node, g)]; }
  Hash child_hash(const Hash& parent, Tokens tokens) const;
  std::int32_t child(std::int32_t node, Tokens tokens) const;
  std::size_t bucket_of(const Hash& hash) const;
  std::size_t home(const Hash& hash) const { return hash.low & (buckets_.size() - 1); }
  bool is_root(std::int32_t node) const { return node_at(node).root == node; }
  std::int32_t find_root(const PrefixKey& key) const;
  Hash root_hash(const PrefixKey& key) const;
  std::int32_t require_root(const PrefixKey& key, std::uint64_t chat_template);
  std::int32_t make_root(const PrefixKey& key);
  void drop_root(std::int32_t root);
  std::int32_t add_child(std::int32_t parent, Tokens tokens);
  std::int32_t take_node();
  void free_node(std::int32_t node);
  void erase_bucket(std::size_t bucket);
  void forget_block(std::int32_t g, std::int32_t block_number);
  void prune(std::int32_t node);
  void move(Place& place, std::int32_t node);
  PrefixMiss explain(const PrefixKey& key, std::int32_t node, Tokens rest, std::int64_t first,
                     std::uint64_t chat_template) const;
  /// The parent of block `index` of a sequence whose earlier blocks are in `path_`.
  std::int32_t parent_of(std::int64_t index, const PrefixKey& key) const;
  std::int64_t known_of_path(const PrefixKey& key, Tokens tokens) const;
  void walk(const PrefixKey& key, Tokens tokens);
  std::int64_t deepest(std::int64_t rows_max) const;

  KvCache& cache_;
  PrefixIndexOptions options_;
  std::int32_t groups_ = 0;
  std::vector<Node> nodes_;
  std::vector<std::int32_t> blocks_;   ///< [nodes, groups]; -1 = none
  std::vector<std::int32_t> unused_;   ///< free nodes
  std::vector<std::int32_t> buckets_;  ///< hash table with linear probing: nodes, -1: empty
  std::vector<std::vector<std::int32_t>> node_of_;  ///< nodes by group and block
  std::vector<Ghost> ghosts_;                       ///< by the low bits of their hash
  std::map<PrefixKey, std::int32_t> roots_;
  std::map<std::int32_t, Root> root_of_node_;
  std::map<std::uint64_t, Tenant> tenants_;
  std::vector<std::int32_t> unused_tenants_;  ///< free tenant indices; as many in all as nodes
  std::vector<std::int32_t> path_;            ///< nodes of the last `find`, without the root
  std::vector<std::int32_t> adopted_;         ///< a group's table
  std::int64_t used_ = 0;
};

}  // namespace ingot
