// ObjectRules: which properties an object may have next, so that it can always be finished.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "constraint/compile_budget.h"
#include "constraint/grammar.h"

namespace ingot::match {

/// The state of an unfinished object.
struct ObjectState {
  std::uint32_t next = 0;                  ///< in declared order: the first property not passed
  std::uint64_t count = 0;                 ///< properties so far
  std::uint64_t others = 0;                ///< other keys so far
  std::span<const std::uint64_t> taken{};  ///< bit set of the properties so far, if `keeps_set`
};

/// The ways to continue an unfinished object.
struct ObjectChoices {
  /// [names + 1] of how many names before a position of `ObjectRules::names` the key may be.
  std::vector<std::uint32_t> names_before;
  bool can_take_other = false;
  bool can_close = false;

  bool can_go_on() const {
    return can_take_other || (!names_before.empty() && names_before.back() > 0);
  }
  bool has_name(std::uint32_t low, std::uint32_t high) const {
    return names_before[low] < names_before[high];
  }
};

/// The rules of an Object node whose values' texts are known to exist or not.
class ObjectRules {
 public:
  /// Each unfinished object keeps a bit for each property in any order or with dependencies, so
  /// that a text of all properties needs 32 MiB.
  static constexpr std::uint32_t kSetPropertiesMax = 16'384;

  struct Name {
    std::string_view text;  ///< the node's property has the bytes
    std::uint32_t property = 0;
  };

  /// `is_possible` tells of each property whether its value has texts; `others` is the number of
  /// other keys, `TextDfa::kInfinite` if there is no limit. `node` must outlive the rules.
  ///
  /// Errors: Error{kInvalid} for cycles of dependencies with bounds that need a search, and for
  /// more
  ///         than kSetPropertiesMax properties in any order or with dependencies.
  ObjectRules(const grammar::Object& node, std::vector<bool> is_possible, std::uint64_t others,
              CompileBudget& budget);

  /// Whether some object exists.
  bool is_feasible() const;
  /// Whether a property can be in some object, if dependencies allow it.
  bool is_possible(std::uint32_t property) const { return possible_[property]; }
  /// Whether a property must be in every object, by itself or by dependencies.
  bool is_required(std::uint32_t property) const { return required_[property]; }

  /// The possible properties by name.
  const std::vector<Name>& names() const { return names_; }
  bool keeps_set() const { return keeps_set_; }
  std::size_t set_words() const { return (possible_.size() + 63) / 64; }
  bool keeps_order() const { return !any_order_; }
  /// Returns the largest count that matters; larger ones have no other meaning.
  std::uint64_t count_cap() const { return count_cap_; }
  ObjectChoices choices(const ObjectState& state) const;

 private:
  using Bits = std::vector<std::uint64_t>;

  void add_dependencies(const grammar::Object& node, CompileBudget& budget);
  void check_cycles(const grammar::Object& node) const;
  /// The numbers of properties that must follow and that can follow.
  struct Rest {
    std::uint64_t least = 0;
    std::uint64_t most = 0;
  };
  /// The properties that can follow those of an unfinished object.
  struct Outlook {
    std::uint64_t least = 0, most = 0;
    /// In declared order: [properties] see `outlook`, and [properties + 1] how many of them have
    /// their first due property at a place or behind it.
    std::vector<std::uint32_t> first_due, needy_from;
  };
  Outlook outlook(std::uint32_t next, const Bits& taken) const;
  Rest rest_behind(std::uint32_t property, const Bits& taken, const Bits& must,
                   const Outlook& now) const;
  Bits obligations(const Bits& taken) const;
  bool may_take(std::uint32_t property, const Bits& taken, const Outlook& now) const;
  bool fits(std::uint64_t count, Rest rest, std::uint64_t others) const;

  bool any_order_ = false;
  bool keeps_set_ = false;
  bool is_broken_ = false;  ///< a required property is impossible
  std::uint64_t count_min_ = 0, count_max_ = 0, count_cap_ = 0, others_ = 0;
  std::vector<bool> possible_, required_;
  std::vector<Name> names_;
  std::vector<std::uint32_t> position_;                       ///< [properties] index in names_
  std::vector<std::uint32_t> required_from_, possible_from_;  ///< [properties + 1]
  std::vector<std::uint32_t> free_from_;  ///< [properties + 1] possible ones without closure
  std::vector<Bits> closures_;  ///< [properties] what a property needs with it; empty: nothing
  std::vector<std::uint32_t> needy_;  ///< the properties with a closure
};

}  // namespace ingot::match
