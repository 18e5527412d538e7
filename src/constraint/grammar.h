// Grammar: what texts a constraint allows, as a graph of nodes that a Matcher walks.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "constraint/language/text_dfa.h"

namespace ingot {

/// Index of a node in a Grammar.
using NodeId = std::uint32_t;
inline constexpr NodeId kNoNode = std::numeric_limits<NodeId>::max();
/// No upper limit on a count.
inline constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

namespace grammar {

/// Raw text of a regular language.
struct Terminal {
  std::uint32_t language = 0;  ///< index in Grammar::languages
};

/// A JSON string with quotes. `language` describes the decoded text: \u0061 is a. JSON's escapes
/// are allowed where the decoded character is and needs one, or where every text may follow; a
/// surrogate escape only as part of a pair.
struct String {
  static constexpr std::uint32_t kAny = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t language = kAny;  ///< index in Grammar::languages; kAny: every text
  /// Bounds on the number of decoded code points. A language with bounds must be gapless
  /// (TextDfa::is_gapless) and must have a text within the bounds.
  std::uint64_t length_min = 0;
  std::uint64_t length_max = kUnlimited;
};

/// The parts one after the other.
struct Sequence {
  std::vector<NodeId> parts;
};

/// Any of the alternatives. Several may match the same text.
struct Choice {
  std::vector<NodeId> alternatives;
};

/// `part` several times, with `separator` between (kNoNode: nothing).
struct Repeat {
  NodeId part = kNoNode;
  std::uint64_t count_min = 0;
  std::uint64_t count_max = kUnlimited;
  NodeId separator = kNoNode;
};

/// A JSON array.
struct Array {
  struct Item {
    NodeId value = kNoNode;    ///< an item that does not count as contained; kNoNode: none
    NodeId counted = kNoNode;  ///< an item that counts as contained; kNoNode: none
  };
  std::vector<Item> first;  ///< the items at the first positions
  Item rest;                ///< each later item; both kNoNode: no later items
  std::uint64_t count_min = 0;
  std::uint64_t count_max = kUnlimited;
  std::uint64_t contained_min = 0;
  std::uint64_t contained_max = kUnlimited;
  /// No two items are equal. Then each item is a Terminal or a String without length bounds, or a
  /// Choice of these, in which every value has one spelling, decoded. Items at the first positions
  /// must have more values than the others can use up.
  bool is_unique = false;
};

/// A JSON object. Declared properties come first, in order; then other keys in any order. With
/// `any_order`, all keys come in any order. No key occurs twice.
struct Object {
  struct Property {
    std::string name;        ///< valid UTF-8, decoded
    NodeId value = kNoNode;  ///< kNoNode: the property may not occur
    bool is_required = false;
  };
  std::vector<Property> properties;
  bool any_order = false;  ///< true: declared properties and other keys in any order
  /// Language of the other keys, without the declared names; index in Grammar::languages; kNone: no
  /// other keys. The tag of an accepted key is an index in `other_values`.
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t other_keys = kNone;
  std::vector<NodeId> other_values;
  std::uint64_t count_min = 0;  ///< bounds on the number of all properties
  std::uint64_t count_max = kUnlimited;
  /// {a, b}: if property a occurs, then property b must occur (indices in `properties`).
  std::vector<std::pair<std::uint32_t, std::uint32_t>> dependencies;
};

}  // namespace grammar

/// A node of a grammar.
using GrammarNode = std::variant<grammar::Terminal, grammar::String, grammar::Sequence,
                                 grammar::Choice, grammar::Repeat, grammar::Array, grammar::Object>;

/// White space between JSON tokens, behind ',' and ':'.
enum class JsonSpace {
  kNone,      ///< {"a":1,"b":[1,2]}
  kOptional,  ///< none or one space, at each place
};

/// A set of texts. `check_grammar` must have accepted it before a Matcher uses it.
///
/// Nodes refer to each other by index, also in cycles. Errors of all functions: Error{kInvalid} if
/// there are more than kNodesMax nodes.
class Grammar {
 public:
  static constexpr std::size_t kNodesMax = 200'000;

  NodeId add(GrammarNode node);
  /// Makes a node whose contents `set` gives later, for cycles.
  NodeId reserve();
  void set(NodeId node, GrammarNode contents);
  std::uint32_t add_language(TextDfa language);

  // Shorthands.
  NodeId literal(std::string_view text, CompileBudget& budget);  ///< valid UTF-8
  NodeId terminal(TextDfa language) {
    return add(grammar::Terminal{add_language(std::move(language))});
  }
  NodeId sequence(std::vector<NodeId> parts) { return add(grammar::Sequence{std::move(parts)}); }
  NodeId choice(std::vector<NodeId> alternatives) {
    return add(grammar::Choice{std::move(alternatives)});
  }
  NodeId optional(NodeId part) { return add(grammar::Repeat{.part = part, .count_max = 1}); }

  const GrammarNode& node(NodeId id) const { return nodes_[id]; }
  std::size_t size() const { return nodes_.size(); }
  const TextDfa& language(std::uint32_t index) const { return languages_[index]; }
  std::size_t languages() const { return languages_.size(); }
  NodeId root() const { return root_; }
  void set_root(NodeId root) { root_ = root; }
  JsonSpace space = JsonSpace::kOptional;
  /// Memory that the grammar uses, in bytes.
  std::size_t bytes() const;

 private:
  std::vector<GrammarNode> nodes_;
  std::vector<TextDfa> languages_;
  NodeId root_ = kNoNode;
};

/// Checks that a Matcher can walk a grammar without dead ends, and removes what no text can use:
/// alternatives without any text, optional properties whose value has none. Checks each node: is
/// there a text; can a text be finished from each point that the matcher reaches. Also checks that
/// no cycle of nodes consumes nothing (left recursion). A Repeat whose part and separator may be
/// empty has no limit above 1,000.
///
/// Errors: Error{kInvalid}: "allows no text"; "is left recursive"; an array of unique items whose
///         positions share few values; those of CompileBudget.
void check_grammar(Grammar& grammar, CompileBudget& budget);

}  // namespace ingot
