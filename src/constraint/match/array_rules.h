// ArrayRules: which kinds of items an array may have next, so that it can always be finished.
#pragma once

#include <cstdint>
#include <vector>

#include "constraint/grammar.h"

namespace ingot::match {

/// The state of an unfinished array.
struct ArrayState {
  std::uint64_t count = 0;      ///< items so far
  std::uint64_t contained = 0;  ///< items that count as contained
  /// For `ArrayRules::is_pool`: how many values are left. Elsewhere unused.
  std::uint64_t values_left = TextDfa::kInfinite;
  std::uint64_t counted_left = TextDfa::kInfinite;
};

/// The rules of an Array node whose items all have texts.
class ArrayRules {
 public:
  /// The bounds of `node`, with at most `count_max` items. `is_pool`: all items come from the same
  /// finite sets without repetition, and `first` is empty.
  ArrayRules(const grammar::Array& node, std::uint64_t count_max, bool is_pool);

  /// Whether the array can be finished.
  bool is_feasible(const ArrayState& state) const;
  bool can_close(const ArrayState& state) const;
  /// Whether an item may follow that counts as contained, or that does not.
  bool can_add(ArrayState state, bool is_counted) const;
  bool is_pool() const { return is_pool_; }
  /// Returns the largest counts that matter; larger ones have no other meaning.
  std::uint64_t count_cap() const { return count_cap_; }
  std::uint64_t contained_cap() const { return contained_cap_; }

 private:
  bool is_feasible_pool(const ArrayState& state) const;
  std::uint64_t first_length_with(std::uint64_t count, std::uint64_t counted) const;
  std::uint64_t last_length_with(std::uint64_t count, std::uint64_t counted) const;
  bool has(std::uint64_t position, bool is_counted) const;

  struct Kinds {
    bool plain = false;
    bool counted = false;
  };
  std::vector<Kinds> first_;
  Kinds rest_;
  /// [first + 1] items before a position that must count, and that can.
  std::vector<std::uint64_t> counted_least_, counted_most_;
  std::uint64_t count_min_ = 0, count_max_ = 0, contained_min_ = 0, contained_max_ = 0;
  std::uint64_t count_cap_ = 0, contained_cap_ = 0;
  bool is_pool_ = false;
};

}  // namespace ingot::match
