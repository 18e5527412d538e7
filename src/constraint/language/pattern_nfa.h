// PatternNfa: a pattern as a nondeterministic automaton with assertions.
#pragma once

#include <cstdint>
#include <vector>

#include "constraint/language/pattern_tree.h"

namespace ingot {

/// A nondeterministic automaton of a part of a pattern.
struct PatternNfa {
  struct Node {
    enum class Kind : std::uint8_t {
      kSet,       ///< reads a code point of set `index`, then goes to `next`
      kAny,       ///< reads any code point, then goes to `next`
      kSplit,     ///< goes to `next` and to `other`
      kStart,     ///< goes to `next` at the start of the text
      kEnd,       ///< goes to `next` at the end of the text
      kBoundary,  ///< goes to `next` at a word's start or end; negated: elsewhere
      kLook,      ///< goes to `next` where lookaround `index` holds
      kDone,      ///< the part has matched
    };
    Kind kind = Kind::kDone;
    bool is_negated = false;
    std::int32_t index = 0;
    std::int32_t next = 0;
    std::int32_t other = 0;
  };

  std::vector<Node> nodes;
  std::vector<std::int32_t> lookarounds;  ///< index of each in PatternTree::nodes
  std::int32_t start = 0;
  static constexpr std::int32_t kDone = 0;  ///< index of the node kDone
};

/// Makes the automaton of the tree's node `root`. If `searches`, the match may begin anywhere.
///
/// Errors: Error{kInvalid} if the budget is exceeded.
PatternNfa make_pattern_nfa(const PatternTree& tree, std::int32_t root, bool searches,
                            CompileBudget& budget);

}  // namespace ingot
