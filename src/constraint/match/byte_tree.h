// ByteTree: texts of tokens as a tree of bytes, stored depth first so that a subtree is one range.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace ingot {

/// A tree of bytes. A walk visits node 0 (the root), then node + 1 to enter a subtree, or
/// nodes[node].end to skip it.
struct ByteTree {
  struct Node {
    std::uint32_t end = 0;  ///< the first node behind the subtree
    std::uint32_t first_token =
        0;                    ///< in `tokens`; the subtree's tokens end where node `end`'s begin
    std::uint16_t depth = 0;  ///< bytes from the root
    std::uint8_t byte = 0;    ///< the last byte of the path; 0 at the root
  };
  /// The nodes, and one more that ends the last one's tokens.
  std::vector<Node> nodes;
  std::vector<std::int32_t> tokens;

  std::uint32_t size() const { return static_cast<std::uint32_t>(nodes.size()) - 1; }
  /// The tokens whose text ends at `node`.
  std::span<const std::int32_t> tokens_at(std::uint32_t node) const {
    return tokens_between(node, node + 1);
  }
  /// The tokens whose text ends at `node` or below it.
  std::span<const std::int32_t> tokens_below(std::uint32_t node) const {
    return tokens_between(node, nodes[node].end);
  }
  std::size_t bytes() const {
    return nodes.capacity() * sizeof(Node) + tokens.capacity() * sizeof(std::int32_t);
  }

 private:
  std::span<const std::int32_t> tokens_between(std::uint32_t from, std::uint32_t to) const {
    const std::uint32_t first = nodes[from].first_token;
    return {tokens.data() + first, nodes[to].first_token - first};
  }
};

/// Makes the tree of tokens with their texts, which must be sorted by text.
ByteTree make_byte_tree(std::span<const std::pair<std::string_view, std::int32_t>> sorted);

}  // namespace ingot
