// ArrayRules: which kinds of items an array may have next, so that it can always be finished.
#include "constraint/match/array_rules.h"

#include <algorithm>

#include "constraint/language/saturating.h"

namespace ingot::match {
ArrayRules::ArrayRules(const grammar::Array& node, std::uint64_t count_max, bool is_pool)
    : rest_{node.rest.value != kNoNode, node.rest.counted != kNoNode},
      count_min_(node.count_min),
      count_max_(std::min(node.count_max, count_max)),
      contained_min_(node.contained_min),
      contained_max_(node.contained_max),
      is_pool_(is_pool) {
  counted_least_.push_back(0);
  counted_most_.push_back(0);
  for (const grammar::Array::Item& item : node.first) {
    const Kinds kinds{item.value != kNoNode, item.counted != kNoNode};
    if (!kinds.plain && !kinds.counted) {
      rest_ = {};
      break;
    }
    first_.push_back(kinds);
    counted_least_.push_back(counted_least_.back() + (kinds.plain ? 0 : 1));
    counted_most_.push_back(counted_most_.back() + (kinds.counted ? 1 : 0));
  }
  if (!rest_.plain && !rest_.counted) {
    count_max_ = std::min<std::uint64_t>(count_max_, first_.size());
  }
  count_cap_ =
      count_max_ == kUnlimited ? std::max<std::uint64_t>(count_min_, first_.size()) : count_max_;
  contained_cap_ = contained_max_ == kUnlimited ? contained_min_ : contained_max_;
}

bool ArrayRules::has(std::uint64_t position, bool is_counted) const {
  const Kinds kinds = position < first_.size() ? first_[position] : rest_;
  return is_counted ? kinds.counted : kinds.plain;
}

/// Returns the least length, from `count` on, whose items behind `count` can have `counted`
/// contained ones; kUnlimited if there is none.
std::uint64_t ArrayRules::first_length_with(std::uint64_t count, std::uint64_t counted) const {
  if (counted == 0) return count;
  const std::uint64_t size = first_.size();
  const std::uint64_t begin = std::min(count, size);
  const std::uint64_t wanted = add_saturating(counted_most_[begin], counted);
  if (counted_most_[size] >= wanted) {
    const auto found = std::lower_bound(counted_most_.begin(), counted_most_.end(), wanted);
    return static_cast<std::uint64_t>(found - counted_most_.begin());
  }
  if (!rest_.counted) return kUnlimited;
  return add_saturating(std::max(size, count), wanted - counted_most_[size]);
}

/// Returns the largest length whose items behind `count` need not have more than `counted`
/// contained ones.
std::uint64_t ArrayRules::last_length_with(std::uint64_t count, std::uint64_t counted) const {
  const std::uint64_t size = first_.size();
  const std::uint64_t begin = std::min(count, size);
  const std::uint64_t allowed = add_saturating(counted_least_[begin], counted);
  if (counted_least_[size] > allowed) {
    const auto found = std::upper_bound(counted_least_.begin(), counted_least_.end(), allowed);
    return static_cast<std::uint64_t>(found - counted_least_.begin()) - 1;
  }
  if (rest_.plain || !rest_.counted) return kUnlimited;
  return add_saturating(std::max(size, count), allowed - counted_least_[size]);
}

bool ArrayRules::is_feasible_pool(const ArrayState& state) const {
  const std::uint64_t counted_low = contained_min_ - std::min(contained_min_, state.contained);
  const std::uint64_t counted_high =
      std::min(rest_.counted ? state.counted_left : 0,
               contained_max_ == kUnlimited ? kUnlimited : contained_max_ - state.contained);
  const std::uint64_t values = rest_.plain ? state.values_left : 0;
  return counted_low <= counted_high && add_saturating(state.count, counted_low) <= count_max_ &&
         add_saturating(state.count, add_saturating(counted_high, values)) >= count_min_;
}

bool ArrayRules::is_feasible(const ArrayState& state) const {
  if (state.contained > contained_max_ || state.count > count_max_) return false;
  if (contained_min_ > contained_max_ || count_min_ > count_max_) return false;
  if (is_pool_) return is_feasible_pool(state);
  const std::uint64_t missing = contained_min_ - std::min(contained_min_, state.contained);
  const std::uint64_t low =
      std::max({first_length_with(state.count, missing), state.count, count_min_});
  std::uint64_t high = count_max_;
  if (contained_max_ != kUnlimited) {
    high = std::min(high, last_length_with(state.count, contained_max_ - state.contained));
  }
  return low <= high && (low != kUnlimited || missing == 0);
}

bool ArrayRules::can_close(const ArrayState& state) const {
  return state.count >= count_min_ && state.count <= count_max_ &&
         state.contained >= contained_min_ && state.contained <= contained_max_;
}

bool ArrayRules::can_add(ArrayState state, bool is_counted) const {
  if (!has(state.count, is_counted)) return false;
  if (is_pool_) {
    std::uint64_t& left = is_counted ? state.counted_left : state.values_left;
    if (left == 0) return false;
    if (left != TextDfa::kInfinite) --left;
  }
  // A count at its cap already means "this many or more".
  state.count = count_max_ == kUnlimited ? std::min(state.count + 1, count_cap_) : state.count + 1;
  if (is_counted) {
    state.contained = contained_max_ == kUnlimited ? std::min(state.contained + 1, contained_cap_)
                                                   : state.contained + 1;
  }
  return is_feasible(state);
}

}  // namespace ingot::match
