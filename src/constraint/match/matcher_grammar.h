// MatcherGrammar: a checked grammar with what its matchers look up.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "constraint/grammar.h"
#include "constraint/match/array_rules.h"
#include "constraint/match/object_rules.h"
#include "constraint/match/unique_items.h"
#include "constraint/token_trie.h"

namespace ingot {

/// See matcher.h. Immutable.
class MatcherGrammar {
 public:
  MatcherGrammar(Grammar grammar, std::shared_ptr<const TokenTrie> trie, CompileBudget& budget);

  const Grammar& grammar() const { return grammar_; }
  const TokenTrie& trie() const { return *trie_; }
  match::ObjectRules const& object(NodeId node) const { return *objects_[index_[node]]; }
  match::ArrayRules const& array(NodeId node) const { return arrays_[index_[node]].rules; }
  match::UniqueItems const& unique_items(NodeId node) const { return arrays_[index_[node]].unique; }
  /// Returns whether every text of a language can be continued to infinitely many.
  bool is_endless(std::uint32_t language) const { return is_endless_[language]; }
  bool has_space() const { return grammar_.space == JsonSpace::kOptional; }
  /// Whether strings may have characters beyond ASCII without escapes.
  bool has_wide_chars() const { return has_wide_chars_; }
  /// Whether strings may have escapes.
  bool has_escapes() const { return has_escapes_; }
  /// A number that no other grammar of this process has.
  std::uint64_t id() const { return id_; }

 private:
  void add_rules(NodeId node, CompileBudget& budget);

  struct ArrayParts {
    match::ArrayRules rules;
    match::UniqueItems unique;
  };
  Grammar grammar_;
  std::shared_ptr<const TokenTrie> trie_;
  std::vector<std::uint32_t> index_;  ///< [nodes] in objects_ or arrays_
  std::vector<std::unique_ptr<match::ObjectRules>> objects_;
  std::vector<ArrayParts> arrays_;
  std::vector<bool> is_endless_;
  bool has_wide_chars_ = true, has_escapes_ = true;
  std::uint64_t id_;
};

}  // namespace ingot
