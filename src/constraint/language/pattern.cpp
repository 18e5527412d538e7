// Patterns: compiles regular expressions of ECMA-262, lookarounds by their own languages.
#include "constraint/language/pattern.h"

#include <algorithm>
#include <utility>

#include "base/index.h"
#include "base/text.h"
#include "constraint/language/pattern_nfa.h"
#include "constraint/language/pattern_subsets.h"
#include "constraint/language/pattern_tree.h"

namespace ingot {
namespace {

using Kind = PatternNode::Kind;

/// Lookarounds may be nested this deep: each level needs some kilobytes of stack.
constexpr int kLookaroundsMax = 16;

/// Where and how a part of a pattern matches.
struct Scope {
  std::int32_t node = 0;
  bool searches = false;
  bool ends_anywhere = false;
  LeftContext left = LeftContext::kTextStart;
  int depth = 0;           ///< number of lookarounds around it
  bool is_ahead = false;   ///< whether one of these is a lookahead
  bool is_behind = false;  ///< whether one of these is a lookbehind
};

[[noreturn]] void unsupported(const PatternNode& node, std::string_view what) {
  throw Error(ErrorCode::kInvalid, cat("is not supported at byte ", node.byte, ": ", what));
}

class PatternCompiler {
 public:
  PatternCompiler(PatternTree tree, CompileBudget& budget)
      : tree_(std::move(tree)), budget_(budget) {
    find_contexts();
  }

  TextDfa compile(const Scope& scope) {
    const PatternNfa nfa = make_pattern_nfa(tree_, scope.node, scope.searches, budget_);
    PatternPart part{.tree = tree_,
                     .nfa = nfa,
                     .ends_anywhere = scope.ends_anywhere,
                     .needs_words = at(has_boundary_, scope.node) != 0,
                     .left = scope.left};
    for (const std::int32_t lookaround : nfa.lookarounds) {
      compile_lookaround(lookaround, scope, part.languages);
    }
    return make_deterministic(part, budget_);
  }

  std::int32_t root() const { return tree_.root; }

 private:
  void find_contexts();
  /// Appends three languages.
  void compile_lookaround(std::int32_t index, const Scope& outer, std::vector<TextDfa>& languages);
  void compile_lookbehind(std::int32_t index, const Scope& outer, std::vector<TextDfa>& languages);
  TextDfa compile_lookahead(std::int32_t index, const Scope& outer, LeftContext left);

  PatternTree tree_;
  CompileBudget& budget_;
  // [node] whether the part below it holds \b; ^; $, \b or a lookahead.
  std::vector<char> has_boundary_, has_start_, has_right_context_;
};

void PatternCompiler::find_contexts() {
  for (const PatternNode& node : tree_.nodes) {
    bool boundary = node.kind == Kind::kBoundary;
    bool start = node.kind == Kind::kStart;
    bool right = boundary || node.kind == Kind::kEnd || node.kind == Kind::kLookahead;
    for (const std::int32_t child : node.children) {
      boundary = boundary || at(has_boundary_, child);
      start = start || at(has_start_, child);
      right = right || at(has_right_context_, child);
    }
    has_boundary_.push_back(boundary);
    has_start_.push_back(start);
    has_right_context_.push_back(right);
  }
}

void PatternCompiler::compile_lookaround(std::int32_t index, const Scope& outer,
                                         std::vector<TextDfa>& languages) {
  const PatternNode& node = at(tree_.nodes, index);
  if (outer.depth == kLookaroundsMax) {
    unsupported(node, cat("more than ", kLookaroundsMax, " nested lookarounds"));
  }
  if (node.kind == Kind::kLookbehind) return compile_lookbehind(index, outer, languages);
  const bool needs_left = at(has_boundary_, index) || at(has_start_, index);
  for (const LeftContext left :
       {LeftContext::kTextStart, LeftContext::kWord, LeftContext::kOther}) {
    const bool is_known = left != LeftContext::kTextStart && !needs_left;
    languages.push_back(is_known ? languages.back() : compile_lookahead(index, outer, left));
  }
}

void PatternCompiler::compile_lookbehind(std::int32_t index, const Scope& outer,
                                         std::vector<TextDfa>& languages) {
  const PatternNode& node = at(tree_.nodes, index);
  if (outer.is_ahead) unsupported(node, "a lookbehind in a lookahead");
  if (at(has_right_context_, node.children[0])) {
    unsupported(node, "$, \\b or a lookahead in a lookbehind");
  }
  languages.push_back(compile(
      {.node = node.children[0], .searches = true, .depth = outer.depth + 1, .is_behind = true}));
  languages.resize(languages.size() + 2);
}

TextDfa PatternCompiler::compile_lookahead(std::int32_t index, const Scope& outer,
                                           LeftContext left) {
  const PatternNode& node = at(tree_.nodes, index);
  const TextDfa rests = compile({.node = node.children[0],
                                 .ends_anywhere = true,
                                 .left = left,
                                 .depth = outer.depth + 1,
                                 .is_ahead = true});
  return node.is_negated ? rests.complement(budget_) : rests;
}

}  // namespace

TextDfa compile_pattern(std::string_view pattern, Anchoring anchoring, CompileBudget& budget) {
  PatternCompiler compiler(parse_pattern(pattern, budget), budget);
  const bool searches = anchoring == Anchoring::kSearch;
  return compiler.compile(
      {.node = compiler.root(), .searches = searches, .ends_anywhere = searches});
}

}  // namespace ingot
