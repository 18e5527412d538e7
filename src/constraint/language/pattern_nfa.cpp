// PatternNfa: makes a nondeterministic automaton of a pattern, from its end to its start.
#include "constraint/language/pattern_nfa.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/index.h"

namespace ingot {
namespace {

using Node = PatternNfa::Node;
using TreeKind = PatternNode::Kind;

/// The value bounds memory to about 20 MB.
constexpr std::size_t kNodesMax = 1'000'000;

/// Returns whether each match of a part begins at the start of the text. May err towards false.
bool begins_at_start(const PatternTree& tree, std::int32_t index) {
  const PatternNode& node = at(tree.nodes, index);
  const auto begins = [&](std::int32_t child) { return begins_at_start(tree, child); };
  switch (node.kind) {
    case TreeKind::kStart:
      return true;
    case TreeKind::kChoice:
      return std::all_of(node.children.begin(), node.children.end(), begins);
    case TreeKind::kRepeat:
      return node.count_min > 0 && begins(node.children[0]);
    case TreeKind::kSequence:
      return !node.children.empty() && begins(node.children[0]);
    default:
      return false;
  }
}

class Builder {
 public:
  Builder(const PatternTree& tree, CompileBudget& budget) : tree_(tree), budget_(budget) {
    add({.kind = Node::Kind::kDone});
  }

  PatternNfa build(std::int32_t root, bool searches) {
    nfa_.start = build_before(root, PatternNfa::kDone);
    if (searches && !begins_at_start(tree_, root)) {
      const std::int32_t loop = add({.kind = Node::Kind::kSplit, .other = nfa_.start});
      const std::int32_t skip = add({.kind = Node::Kind::kAny, .next = loop});
      at(nfa_.nodes, loop).next = skip;
      nfa_.start = loop;
    }
    return std::move(nfa_);
  }

 private:
  std::int32_t add(Node node) {
    budget_.spend();
    if (nfa_.nodes.size() == kNodesMax) {
      throw Error(ErrorCode::kInvalid, "is too complex: use smaller counts of repetition");
    }
    nfa_.nodes.push_back(node);
    return static_cast<std::int32_t>(nfa_.nodes.size() - 1);
  }

  /// Returns the start of an automaton that reads a part of the pattern and goes to `next`.
  /// Recurses as deep as groups are nested: PatternTree::kDepthMax.
  std::int32_t build_before(std::int32_t index, std::int32_t next);
  std::int32_t build_choice(const PatternNode& node, std::int32_t next);
  std::int32_t build_repeat(const PatternNode& node, std::int32_t next);
  std::int32_t build_loop(const PatternNode& node, std::int32_t next);
  std::int32_t add_lookaround(std::int32_t index, std::int32_t next);

  const PatternTree& tree_;
  CompileBudget& budget_;
  PatternNfa nfa_;
  std::unordered_map<std::int32_t, std::int32_t> lookarounds_;  ///< numbers by the tree's node
};

std::int32_t Builder::build_before(std::int32_t index, std::int32_t next) {
  const PatternNode& node = at(tree_.nodes, index);
  switch (node.kind) {
    case TreeKind::kSet:
      return add({.kind = Node::Kind::kSet, .index = node.set, .next = next});
    case TreeKind::kStart:
      return add({.kind = Node::Kind::kStart, .next = next});
    case TreeKind::kEnd:
      return add({.kind = Node::Kind::kEnd, .next = next});
    case TreeKind::kBoundary:
      return add({.kind = Node::Kind::kBoundary, .is_negated = node.is_negated, .next = next});
    case TreeKind::kLookahead:
    case TreeKind::kLookbehind:
      return add_lookaround(index, next);
    case TreeKind::kChoice:
      return build_choice(node, next);
    case TreeKind::kRepeat:
      return build_repeat(node, next);
    case TreeKind::kSequence:
      break;
  }
  for (std::size_t i = node.children.size(); i-- > 0;) next = build_before(node.children[i], next);
  return next;
}

std::int32_t Builder::build_choice(const PatternNode& node, std::int32_t next) {
  std::int32_t start = build_before(node.children.back(), next);
  for (std::size_t i = node.children.size() - 1; i-- > 0;) {
    const std::int32_t alternative = build_before(node.children[i], next);
    start = add({.kind = Node::Kind::kSplit, .next = alternative, .other = start});
  }
  return start;
}

std::int32_t Builder::build_repeat(const PatternNode& node, std::int32_t next) {
  std::int32_t start = next;
  std::uint32_t copies = node.count_min;
  if (node.count_max == PatternNode::kNoLimit) {
    start = build_loop(node, next);
    copies = copies > 0 ? copies - 1 : 0;
  } else {
    for (std::uint32_t i = node.count_min; i < node.count_max; ++i) {
      const std::int32_t body = build_before(node.children[0], start);
      start = add({.kind = Node::Kind::kSplit, .next = body, .other = next});
    }
  }
  for (std::uint32_t i = 0; i < copies; ++i) {
    budget_.spend();
    start = build_before(node.children[0], start);
  }
  return start;
}

/// Makes x* or, if the minimum is not 0, x+.
std::int32_t Builder::build_loop(const PatternNode& node, std::int32_t next) {
  const std::int32_t split = add({.kind = Node::Kind::kSplit, .other = next});
  const std::int32_t body = build_before(node.children[0], split);
  at(nfa_.nodes, split).next = body;
  return node.count_min == 0 ? split : body;
}

std::int32_t Builder::add_lookaround(std::int32_t index, std::int32_t next) {
  const auto [known, is_new] =
      lookarounds_.emplace(index, static_cast<std::int32_t>(nfa_.lookarounds.size()));
  if (is_new) nfa_.lookarounds.push_back(index);
  return add({.kind = Node::Kind::kLook, .index = known->second, .next = next});
}

}  // namespace

PatternNfa make_pattern_nfa(const PatternTree& tree, std::int32_t root, bool searches,
                            CompileBudget& budget) {
  return Builder(tree, budget).build(root, searches);
}

}  // namespace ingot
