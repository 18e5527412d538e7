// ByteTree: texts of tokens as a tree of bytes, stored depth first so that a subtree is one range.
#include "constraint/match/byte_tree.h"

#include <algorithm>

namespace ingot {
namespace {

std::size_t common_prefix(std::string_view a, std::string_view b) {
  const auto differs = std::mismatch(
      a.begin(), a.begin() + static_cast<std::ptrdiff_t>(std::min(a.size(), b.size())), b.begin());
  return static_cast<std::size_t>(differs.first - a.begin());
}

}  // namespace

ByteTree make_byte_tree(std::span<const std::pair<std::string_view, std::int32_t>> sorted) {
  ByteTree tree;
  std::vector<std::uint32_t> path{0};  // open nodes from the root
  tree.nodes.push_back({});
  const auto close = [&](std::size_t depth) {
    while (path.size() > depth + 1) {
      tree.nodes[path.back()].end = static_cast<std::uint32_t>(tree.nodes.size());
      path.pop_back();
    }
  };
  std::string_view before;
  for (const auto& [text, token] : sorted) {
    close(common_prefix(before, text));
    while (path.size() <= text.size()) {
      const std::size_t depth = path.size();
      path.push_back(static_cast<std::uint32_t>(tree.nodes.size()));
      tree.nodes.push_back({.first_token = static_cast<std::uint32_t>(tree.tokens.size()),
                            .depth = static_cast<std::uint16_t>(depth),
                            .byte = static_cast<std::uint8_t>(text[depth - 1])});
    }
    tree.tokens.push_back(token);
    before = text;
  }
  close(0);
  tree.nodes[0].end = static_cast<std::uint32_t>(tree.nodes.size());
  tree.nodes.push_back({.first_token = static_cast<std::uint32_t>(tree.tokens.size())});
  tree.nodes.shrink_to_fit();
  return tree;
}

}  // namespace ingot
