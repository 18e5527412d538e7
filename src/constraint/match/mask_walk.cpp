// add_allowed: finds the tokens that threads can take.
#include "constraint/match/mask_walk.h"

#include <vector>

#include "base/index.h"

namespace ingot::match {
namespace {

void set_bit(std::span<std::uint32_t> bits, std::int32_t id) {
  at(bits, id / 32) |= std::uint32_t{1} << (id % 32);
}

/// Walks a tree of tokens with a set of threads.
void walk(Machine& machine, std::span<const Thread> threads, const ByteTree& tree, Takers takers,
          std::span<std::uint32_t> bits) {
  std::vector<Thread> stack(threads.begin(), threads.end());
  std::vector<std::size_t> first{0};  // [depth] of the threads at a depth in `stack`
  for (std::uint32_t node = 1; node < tree.size();) {
    const ByteTree::Node& at = tree.nodes[node];
    const std::size_t depth = at.depth;
    if (first.size() > depth) {
      stack.resize(first[depth]);
      first.resize(depth);
    }
    const std::size_t end = stack.size();
    first.push_back(end);
    for (std::size_t i = first[depth - 1]; i < end; ++i) {
      const Thread from = stack[i];
      machine.step(from, at.byte, takers, stack);
    }
    remove_repeated(stack, end);
    if (stack.size() == end) {
      node = at.end;
      continue;
    }
    for (const std::int32_t id : tree.tokens_at(node)) set_bit(bits, id);
    ++node;
  }
}

}  // namespace

void add_allowed(Machine& machine, std::span<const Thread> threads, std::span<std::uint32_t> bits) {
  const TokenTrie& trie = machine.grammar().trie();
  walk(machine, threads, trie.texts(), Takers::kAll, bits);
  walk(machine, threads, trie.markers(), Takers::kTerminals, bits);
}

}  // namespace ingot::match
