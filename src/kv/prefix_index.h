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

/// The properties that blocks depend on besides tokens. Sequences share blocks only if their
/// PrefixKeys are equal.
struct PrefixKey {
  std::array<std::uint64_t, 2> domain{};  ///< hash of API key and salt; domains share no blocks
  std::uint64_t adapter = 0;              ///< number of the list of adapters; 0: no adapters
  /// First row with adapters; 0 without adapters. Earlier blocks are those of sequences without.
  std::int64_t adapter_from = 0;
  /// The owner of cached blocks: an API key with any salt. Comparisons of PrefixKeys ignore
  /// `tenant`. If several tenants share a domain, the first tenant owns all blocks of the domain.
  std::uint64_t tenant = 0;

  bool operator==(const PrefixKey& other) const {
    return std::tie(domain, adapter, adapter_from) ==
           std::tie(other.domain, other.adapter, other.adapter_from);
  }
  bool operator<(const PrefixKey& other) const {
    return std::tie(domain, adapter, adapter_from) <
           std::tie(other.domain, other.adapter, other.adapter_from);
  }
};

/// Why the cached prefix of a request ends. Show it only to operators, because it reveals what
/// other domains have cached.
enum class MissReason {
  kNone,      ///< the whole prefix was cached
  kNew,       ///< the next block was never cached, as far as the index remembers
  kDiverged,  ///< the newest block that was cached after this prefix has other tokens
  kTemplate,  ///< like kDiverged, and the chat template also differs
  kEvicted,   ///< the next block was cached, but has been evicted
  kDomain,    ///< the next block is cached for another domain
  kAdapter,   ///< the next block is cached with another adapter
};

/// Returns the reason in words: "none", "new", "diverged", "template changed", "evicted", ...
std::string_view to_string(MissReason reason);

/// Where the cached prefix of a request ended, and why.
struct PrefixMiss {
  MissReason reason = MissReason::kNone;
  std::int64_t token = 0;  ///< index of the first token that was not found
};

/// Values that enter the hashes of a PrefixIndex, in addition to PrefixKeys and tokens.
struct PrefixIndexOptions {
  std::array<std::uint64_t, 2>
      secret{};  ///< random for each process, so that clients cannot construct collisions
  std::uint64_t model = 0;  ///< identifies the model's weights and numerics
  int hash_bits = 128;      ///< number of hash bits in use; tests use fewer to cause collisions
};

/// A tree of full blocks. The index finds a block by a 128-bit keyed hash of its PrefixKey and all
/// tokens up to the block's end. It also compares tokens and parent, so a collision costs one hit.
///
/// The index holds no references. A cached block that no sequence holds is evictable, and the pool
/// reports its eviction. A sequence that holds a block holds all blocks before it, and releases the
/// last block first. So a pool evicts an owner's leaves before their parents.
///
/// An operation's time is proportional to its number of blocks. After construction, only the first
/// request of a PrefixKey allocates memory. If no memory is free, the sequence is not registered.
class PrefixIndex {
 public:
  /// A sequence's position in the tree: its last registered block.
  struct Place {
    std::int32_t node = -1;  ///< node of this block, kept until the place moves; -1: not registered
    std::int64_t blocks = 0;  ///< number of registered blocks of the sequence
  };
  /// The cached prefix that a sequence can begin with.
  struct Match {
    std::int64_t rows = 0;    ///< number of rows that need not be computed
    std::int64_t blocks = 0;  ///< number of cached blocks that the sequence takes over
    PrefixMiss miss{};
  };

  /// Sets the eviction listeners of the pools of `cache`. `cache` must outlive the index.
  /// `sequences`: limit on the sequences that have a Place at a time.
  PrefixIndex(KvCache& cache, std::int32_t sequences, const PrefixIndexOptions& options);
  ~PrefixIndex();
  PrefixIndex(const PrefixIndex&) = delete;
  PrefixIndex& operator=(const PrefixIndex&) = delete;

  /// Finds the longest prefix of `tokens` that all KV groups have cached, up to `rows_max` rows.
  /// `chat_template` identifies the prompt's template; 0: unknown. Takes no blocks.
  Match find(const PrefixKey& key, std::span<const std::int32_t> tokens, std::int64_t rows_max,
             std::uint64_t chat_template = 0);
  /// Returns the block of group g that the last `find` found for tokens [16 i, 16 (i + 1)); -1 if
  /// there is none. `i` may exceed the number of blocks of the Match.
  std::int32_t found(std::int64_t i, std::int32_t g) const {
    return i < std::ssize(path_) ? block(at(path_, i), g) : -1;
  }
  /// Counts `match`'s evictable blocks of group g. `match`: the result of the last `find`.
  std::int64_t unheld(const Match& match, std::int32_t g) const;
  /// Fills the tables of `blocks`, which must be empty, with the blocks of `match`. `match` must be
  /// the result of the last `find`. Returns the sequence's place.
  Place adopt(const PrefixKey& key, const Match& match, SequenceBlocks& blocks,
              std::uint64_t chat_template = 0);

  /// Copies a place for a second sequence. Each sequence must later call `leave` with its place.
  Place same_place(const Place& place);
  /// Registers the full blocks of keys [0, computed) of a sequence with `key`. If a block with
  /// equal tokens is cached already, the sequence releases its own block and holds the cached block
  /// instead.
  void extend(const PrefixKey& key, Place& place, std::span<const std::int32_t> tokens,
              std::int64_t computed, SequenceBlocks& blocks);
  /// Moves the place back to the last full block of the first `tokens` tokens.
  void truncate(Place& place, std::int64_t tokens);
  /// Ends a sequence's place. The sequence's blocks stay cached until they are evicted.
  void leave(Place& place);

  /// Forgets all cached blocks, so that later requests do not find them.
  void flush();

  /// Returns the key under which a block of group g is cached; null if it is not cached.
  const PrefixKey* key_of(std::int32_t g, std::int32_t block_number) const;
  /// Returns the number of nodes in use, for blocks and for roots.
  std::int64_t nodes() const { return used_; }
  /// Ends the process if the nodes and the pools disagree. Slow, because it walks all nodes.
  void check() const;

 private:
  using Tokens = std::span<const std::int32_t>;
  struct Hash {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    bool operator==(const Hash&) const = default;
  };
  /// Which rows of a block have adapters.
  struct BlockAdapter {
    std::uint64_t number = 0;  ///< PrefixKey::adapter; 0: no row has adapters
    std::int64_t from = 0;     ///< the block's first row with adapters
    bool operator==(const BlockAdapter&) const = default;
  };
  struct Node {
    Hash hash;
    BlockAdapter adapter;
    std::uint64_t content = 0;       ///< hash of the tokens alone, without secret and key
    std::int32_t parent = -1;        ///< parent node; -1 for a root or a free node
    std::int32_t root = -1;          ///< root of the node's tree; for a root, its own number
    std::int32_t tenant_index = -1;  ///< the pools' owner number for the root's tenant
    std::int32_t children = 0;
    std::int32_t places = 0;
    std::int32_t blocks = 0;       ///< number of groups in which the node has a block
    std::int32_t last_child = -1;  ///< the newest child, perhaps freed already; -1: none
    std::array<std::int32_t, kBlockTokens> tokens{};
  };
  struct Root {
    PrefixKey key;
    std::uint64_t chat_template = 0;
  };
  /// A tenant with roots: its owner index in the block pools, and the number of its roots.
  struct Tenant {
    std::int32_t index = -1;
    std::int32_t roots = 0;
  };
  /// Remembers a block that was registered once, to explain a later miss of this block.
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
  static BlockAdapter adapter_of(const PrefixKey& key, std::int64_t block);
  Hash child_hash(const Hash& parent, Tokens tokens, const BlockAdapter& adapter) const;
  std::int32_t child(std::int32_t node, Tokens tokens, const BlockAdapter& adapter) const;
  std::size_t bucket_of(const Hash& hash) const;
  std::size_t home(const Hash& hash) const { return hash.low & (buckets_.size() - 1); }
  bool is_root(std::int32_t node) const { return node_at(node).root == node; }
  std::int32_t find_root(const PrefixKey& key) const;
  Hash root_hash(const PrefixKey& key) const;
  std::int32_t require_root(const PrefixKey& key, std::uint64_t chat_template);
  std::int32_t make_root(const PrefixKey& key);
  void drop_root(std::int32_t root);
  std::int32_t add_child(std::int32_t parent, Tokens tokens, const BlockAdapter& adapter);
  std::int32_t take_node();
  void free_node(std::int32_t node);
  void erase_bucket(std::size_t bucket);
  void forget_block(std::int32_t g, std::int32_t block_number);
  void prune(std::int32_t node);
  void move(Place& place, std::int32_t node);
  PrefixMiss explain(const PrefixKey& key, std::int32_t node, Tokens rest, std::int64_t first,
                     std::uint64_t chat_template) const;
  /// Returns the parent of node `path_[index]`: the node before it; for index 0, the root of `key`.
  std::int32_t parent_of(std::int64_t index, const PrefixKey& key) const;
  std::int64_t known_of_path(const PrefixKey& key, Tokens tokens) const;
  void walk(const PrefixKey& key, Tokens tokens);
  std::int64_t deepest(std::int64_t rows_max) const;

  KvCache& cache_;
  PrefixIndexOptions options_;
  std::int32_t groups_ = 0;
  std::vector<Node> nodes_;
  std::vector<std::int32_t> blocks_;   ///< [nodes, groups]: each node's block; -1: none
  std::vector<std::int32_t> unused_;   ///< numbers of free nodes
  std::vector<std::int32_t> buckets_;  ///< hash table of nodes with linear probing; -1: empty
  std::vector<std::vector<std::int32_t>> node_of_;  ///< [groups][blocks]: node, or -1: not cached
  std::vector<Ghost> ghosts_;                       ///< indexed by low bits of `Ghost::content`
  std::map<PrefixKey, std::int32_t> roots_;
  std::map<std::int32_t, Root> root_of_node_;
  std::map<std::uint64_t, Tenant> tenants_;
  std::vector<std::int32_t> unused_tenants_;  ///< unused values of Tenant::index
  std::vector<std::int32_t> path_;            ///< nodes of the last `find`, without the root
  std::vector<std::int32_t> adopted_;         ///< scratch of `adopt`: one group's block table
  std::int64_t used_ = 0;                     ///< number of nodes in use
};

}  // namespace ingot
