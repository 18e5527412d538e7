// PrefixIndex: which blocks hold the keys and values of which tokens, so that they are computed
// once.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

#include "kv/kv_cache.h"

namespace ingot {

/// What keys and values depend on besides tokens, and who may share them. Sequences of different
/// keys share no block.
struct PrefixKey {
  std::array<std::uint64_t, 2> domain{};  ///< of an API key and its salt: who may see whose hits
  std::uint64_t adapter = 0;              ///< 0 = none; another one for each time it was loaded
  /// Whose share of the pools the blocks count against: an API key, whatever its salts. Tells no
  /// keys apart: where owners share a domain, it is who began there while nothing of it was known.
  std::uint64_t tenant = 0;

  bool operator==(const PrefixKey& other) const {
    return std::tie(domain, adapter) == std::tie(other.domain, other.adapter);
  }
  bool operator<(const PrefixKey& other) const {
    return std::tie(domain, adapter) < std::tie(other.domain, other.adapter);
  }
};

/// Why a prefix ends where it does. For operators: of another domain's contents a client may learn
/// nothing.
enum class MissReason {
  kNone,      ///< all that could be taken was there
  kNew,       ///< nothing like it was seen, or too long ago to know
  kDiverged,  ///< the tokens differ from those that were seen last
  kTemplate,  ///< likewise, and the chat template is another one
  kEvicted,   ///< it was there, and its blocks were needed
  kDomain,    ///< another domain has it
  kAdapter,   ///< it was computed with another adapter
};

/// "none", "new", "diverged", "template changed", "evicted", "other domain" or "other adapter".
std::string_view to_string(MissReason reason);

/// Where a prefix ended.
struct PrefixMiss {
  MissReason reason = MissReason::kNone;
  std::int64_t token = 0;  ///< the first one that was not found
};

/// What hashes depend on.
struct PrefixIndexOptions {
  std::array<std::uint64_t, 2> secret{};  ///< of this process: nobody can aim at a hash
  std::uint64_t model = 0;                ///< of weights and numerics
  int hash_bits = 128;                    ///< fewer make collisions, for tests
};

/// A tree of full blocks by their tokens, found through a 128-bit keyed hash of key and all tokens
/// up to the block's end; tokens and parents are compared on a hit, so that a collision costs a hit
/// and nothing else.
///
/// It holds no reference: blocks that nobody else holds are evictable, and the pool says when it
/// takes one, from the owner that has most. Sequences release their blocks last first, and whoever
/// holds a block holds all before it; so a pool takes an owner's leaves before what they hang on.
/// Every operation costs the blocks that it is about; nothing allocates after construction but the
/// first request of a key, which goes on unregistered where there is no memory.
class PrefixIndex {
 public:
  /// Where a sequence stands: the block that ends its registered tokens.
  struct Place {
    std::int32_t node = -1;  ///< held, so that it stays; -1 = the sequence is not registered
    std::int64_t blocks = 0;
  };
  /// What a sequence can begin with.
  struct Match {
    std::int64_t rows = 0;    ///< that need not be computed
    std::int64_t blocks = 0;  ///< to take over
    PrefixMiss miss{};
  };

  /// For so many sequences at once. Listens to the pools of `cache`, and outlived by it.
  PrefixIndex(KvCache& cache, std::int32_t sequences, const PrefixIndexOptions& options);
  ~PrefixIndex();
  PrefixIndex(const PrefixIndex&) = delete;
  PrefixIndex& operator=(const PrefixIndex&) = delete;

  /// The longest prefix of `tokens` that is there in all groups, of at most `rows_max` rows: the
  /// others have to be computed whether their keys are there or not. `chat_template` tells
  /// templates apart; 0 = unknown. Changes nothing.
  Match find(const PrefixKey& key, std::span<const std::int32_t> tokens, std::int64_t rows_max,
             std::uint64_t chat_template = 0);
  /// The block of group g with tokens [16 i, 16 (i + 1)) of the last `find`, whether a sequence can
  /// begin with it or not; -1 where it is not there.
  std::int32_t found(std::int64_t i, std::int32_t g) const {
    return i < std::ssize(path_) ? block(path_[static_cast<std::size_t>(i)], g) : -1;
  }
  /// Of the blocks of the last `find`, those of group g that nobody holds now.
  std::int64_t unheld(const Match& match, std::int32_t g) const;
  /// Of the blocks of the last `find`, those of group g that `holder` holds and nobody else.
  std::int64_t held_alone(const Match& match, std::int32_t g, const SequenceBlocks& holder) const;
  /// Begins `blocks` with those of the last `find`, and a place for the sequence.
  Place adopt(const PrefixKey& key, const Match& match, SequenceBlocks& blocks,
              std::uint64_t chat_template = 0);

  /// Another place where `place` is.
  Place same_place(const Place& place);
  /// Registers the full blocks of keys [0, computed). Where a block with the same tokens is known
  /// already, the sequence goes on with that one.
  void extend(Place& place, std::span<const std::int32_t> tokens, std::int64_t computed,
              SequenceBlocks& blocks);
  /// Goes back to the full blocks of the first `tokens` tokens.
  void truncate(Place& place, std::int64_t tokens);
  /// Gives the place up; what it registered stays as long as its blocks.
  void leave(Place& place);

  /// Forgets everything: nothing that is there now is found again.
  void flush();

  /// What a block of group g is known under; null where it is not known.
  const PrefixKey* key_of(std::int32_t g, std::int32_t block_number) const;
  /// Blocks and roots that are known.
  std::int64_t nodes() const { return used_; }
  /// Walks all nodes and ends the process when they and the pools disagree: for idle moments and
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
    std::int32_t parent = -1;        ///< -1 = a root, or free
    std::int32_t root = -1;          ///< itself for a root
    std::int32_t tenant_index = -1;  ///< of the root's tenant
    std::int32_t children = 0;
    std::int32_t places = 0;
    std::int32_t blocks = 0;       ///< groups that it has a block in
    std::int32_t last_child = -1;  ///< registered last; may be gone
    std::array<std::int32_t, kBlockTokens> tokens{};
  };
  struct Root {
    PrefixKey key;
    std::uint64_t chat_template = 0;
  };
  /// A tenant's number in the pools, while it has roots.
  struct Tenant {
    std::int32_t index = -1;
    std::int32_t roots = 0;
  };
  /// What was registered once, by the hash of its tokens.
  struct Ghost {
    std::uint64_t content = 0;
    PrefixKey key;
  };

  Node& at(std::int32_t node) { return nodes_[static_cast<std::size_t>(node)]; }
  const Node& at(std::int32_t node) const { return nodes_[static_cast<std::size_t>(node)]; }
  std::size_t cell(std::int32_t node, std::int32_t g) const {
    return static_cast<std::size_t>(node) * static_cast<std::size_t>(groups_) +
           static_cast<std::size_t>(g);
  }
  std::int32_t& block(std::int32_t node, std::int32_t g) { return blocks_[cell(node, g)]; }
  std::int32_t block(std::int32_t node, std::int32_t g) const { return blocks_[cell(node, g)]; }
  Hash child_hash(const Hash& parent, Tokens tokens) const;
  std::int32_t child(std::int32_t node, Tokens tokens) const;
  std::size_t slot_of(const Hash& hash) const;
  std::size_t home(const Hash& hash) const { return hash.low & (slots_.size() - 1); }
  bool is_root(std::int32_t node) const { return at(node).root == node; }
  std::int32_t find_root(const PrefixKey& key) const;
  Hash root_hash(const PrefixKey& key) const;
  std::int32_t require_root(const PrefixKey& key, std::uint64_t chat_template);
  std::int32_t make_root(const PrefixKey& key);
  void drop_root(std::int32_t root);
  std::int32_t add_child(std::int32_t parent, Tokens tokens);
  std::int32_t take_node();
  void free_node(std::int32_t node);
  void erase_slot(std::size_t slot);
  void forget_block(std::int32_t g, std::int32_t block_number);
  void prune(std::int32_t node);
  void move(Place& place, std::int32_t node);
  PrefixMiss explain(const PrefixKey& key, std::int32_t node, Tokens rest, std::int64_t first,
                     std::uint64_t chat_template) const;
  /// The node that block `index` hangs on, of a sequence whose blocks before it are `path_`'s.
  std::int32_t parent_of(std::int64_t index, const PrefixKey& key) const;
  std::int64_t known_of_path(const PrefixKey& key, Tokens tokens) const;
  void walk(const PrefixKey& key, Tokens tokens);
  std::int64_t deepest(std::int64_t rows_max) const;

  KvCache& cache_;
  PrefixIndexOptions options_;
  std::int32_t groups_ = 0;
  std::vector<Node> nodes_;
  std::vector<std::int32_t> blocks_;  ///< [nodes, groups]; -1 = none
  std::vector<std::int32_t> unused_;  ///< nodes
  std::vector<std::int32_t> slots_;   ///< hash table with linear probing: nodes, -1 = empty
  std::vector<std::vector<std::int32_t>> node_of_;  ///< by group and block: its node
  std::vector<Ghost> ghosts_;                       ///< by the low bits of their hash
  std::map<PrefixKey, std::int32_t> roots_;
  std::map<std::int32_t, Root> root_of_node_;
  std::map<std::uint64_t, Tenant> tenants_;
  std::vector<std::int32_t> unused_tenants_;  ///< indices; as many as nodes, and so as roots
  std::vector<std::int32_t> path_;            ///< of the last `find`, from the root's child on
  std::vector<std::int32_t> adopted_;         ///< a group's table
  std::int64_t used_ = 0;
};

}  // namespace ingot
