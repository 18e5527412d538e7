// UniqueItems: counts the distinct values that the items of an array without repetition can have.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "constraint/compile_budget.h"
#include "constraint/grammar.h"

namespace ingot::match {

/// The distinct values of an item.
class ItemValues {
 public:
  /// The values of the item `node`; none for kNoNode.
  ///
  /// Errors: Error{kInvalid} if the item is not a Terminal, a String without bounds or a Choice of
  ///         these; those of TextDfa.
  ItemValues(const Grammar& grammar, NodeId node, CompileBudget& budget);

  /// How many there are; TextDfa::kInfinite if there is no limit.
  std::uint64_t count() const { return count_; }
  /// Whether a value is one of these: raw text, or for a String its decoded text in quotes.
  bool contains(std::u32string_view value) const;
  bool meets(const ItemValues& other, CompileBudget& budget) const;

 private:
  std::optional<TextDfa> raw_, decoded_;
  bool has_any_ = false;  ///< every string
  std::uint64_t count_ = 0;
};

/// The items of an array without repetition.
struct UniqueItems {
  /// `node.first` is empty: these are the values of `node.rest`.
  bool is_pool = false;
  std::optional<ItemValues> plain, counted;
  /// Without a pool: the largest length at which every item surely has a value left.
  std::uint64_t count_max = kUnlimited;
  /// Whether longer arrays may exist, because items share their values. A matcher cannot follow
  /// these.
  bool is_narrower = false;
};

/// Why such arrays are refused, for messages.
inline constexpr std::string_view kSharedItems =
    "unique items whose values are few and are shared by several positions cannot be enforced";

/// Finds the distinct values of an array's items, of an array without repetition.
///
/// Errors: those of `ItemValues`.
UniqueItems find_unique_items(const Grammar& grammar, const grammar::Array& node,
                              CompileBudget& budget);

}  // namespace ingot::match
