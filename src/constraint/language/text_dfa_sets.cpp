// TextDfa: set operations, by products of automata.
#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>
#include <utility>

#include "base/index.h"
#include "constraint/language/state_tuple.h"
#include "constraint/language/text_dfa.h"

namespace ingot {
namespace {

using Arc = TextDfa::Arc;
using State = TextDfa::State;
using Tuple = StateTuple;
using Pair = std::array<std::int32_t, 2>;

constexpr std::int32_t kDead = TextDfa::kDead;
/// Numbers the states of a product in the order in which they are met. A state is a tuple of
/// states.
template <class Tuple>
class ProductStates {
 public:
  explicit ProductStates(CompileBudget& budget) : budget_(budget) {}

  std::int32_t number(const Tuple& tuple) {
    const auto [found, is_new] = numbers_.try_emplace(tuple, static_cast<std::int32_t>(size()));
    if (is_new) {
      budget_.spend(4 * tuple.size());  // takes the time of several arcs
      if (size() == kRawStatesMax)
        throw Error(ErrorCode::kInvalid, "is too complex: use a simpler one");
      tuples_.push_back(&found->first);
      states.emplace_back();
    }
    return found->second;
  }
  const Tuple& tuple(std::size_t state) const { return *tuples_[state]; }
  std::size_t size() const { return tuples_.size(); }
  /// Appends an arc to a state; joins it to the last one if it can.
  void add_arc(std::size_t from, CodePointRange on, const Tuple& to) {
    const std::int32_t target = number(to);
    std::vector<Arc>& arcs = states[from].arcs;
    if (!arcs.empty() && arcs.back().to == target && arcs.back().on.last + 1 == on.first) {
      arcs.back().on.last = on.last;
    } else {
      arcs.push_back({on, target});
    }
    budget_.spend(1);
  }

  std::vector<State> states;

 private:
  CompileBudget& budget_;
  std::unordered_map<Tuple, std::int32_t, StateTupleHash> numbers_;
  std::vector<const Tuple*> tuples_;  // keys of `numbers_`, which do not move
};

/// The arcs of one factor, which a sweep over all code points reads in order.
class ArcReader {
 public:
  explicit ArcReader(std::span<const Arc> arcs) : arcs_(arcs) {}

  /// Returns the target at `c`, which never decreases. Lowers `last` to where the target ends.
  std::int32_t target_at(char32_t c, char32_t& last) {
    while (next_ < arcs_.size() && arcs_[next_].on.last < c) ++next_;
    if (next_ == arcs_.size()) return kDead;
    const Arc& arc = arcs_[next_];
    const bool is_inside = arc.on.first <= c;
    last = std::min<char32_t>(last, is_inside ? arc.on.last : arc.on.first - 1);
    return is_inside ? arc.to : kDead;
  }

 private:
  std::span<const Arc> arcs_;
  std::size_t next_ = 0;
};

/// Calls visit(range, targets) for ranges that cover all code points, where targets[i] is the
/// target of readers[i].
template <class Tuple, class Readers, class Visit>
void sweep(Readers readers, Tuple targets, CompileBudget& budget, Visit visit) {
  for (char32_t first = 0; first <= CodePoints::kLast;) {
    char32_t last = CodePoints::kLast;
    for (std::size_t i = 0; i < readers.size(); ++i) {
      targets[i] = readers[i].target_at(first, last);
    }
    budget.spend(1 + readers.size() / 4);
    visit(CodePointRange{first, last}, targets);
    first = last + 1;
  }
}

/// Returns the arcs of a state; none of the dead state.
std::span<const Arc> arcs_of(const TextDfa& dfa, std::int32_t state) {
  return state == kDead ? std::span<const Arc>() : dfa.arcs(state);
}

bool accepts(const TextDfa& dfa, std::int32_t state) {
  return state != kDead && dfa.accepts(state);
}

std::int32_t start_of(const TextDfa& dfa) { return dfa.is_empty() ? kDead : TextDfa::start(); }

enum class SetOperation { kIntersection, kUnion, kDifference };

/// Returns whether texts that lead to the states `a` and `b` can still be in the result.
bool is_hopeful(SetOperation operation, std::int32_t a, std::int32_t b) {
  if (operation == SetOperation::kUnion) return a != kDead || b != kDead;
  return a != kDead && (operation == SetOperation::kDifference || b != kDead);
}

TextDfa product(SetOperation operation, const TextDfa& a, const TextDfa& b, CompileBudget& budget) {
  ProductStates<Pair> found(budget);
  const Pair start{start_of(a), start_of(b)};
  if (!is_hopeful(operation, start[0], start[1])) return {};
  found.number(start);
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::int32_t at_a = found.tuple(i)[0];
    const std::int32_t at_b = found.tuple(i)[1];
    const bool in_a = accepts(a, at_a);
    const bool in_b = accepts(b, at_b);
    found.states[i].accepts = operation == SetOperation::kUnion          ? in_a || in_b
                              : operation == SetOperation::kIntersection ? in_a && in_b
                                                                         : in_a && !in_b;
    found.states[i].tag = in_a ? a.tag(at_a) : in_b ? b.tag(at_b) : 0;
    const std::array readers{ArcReader(arcs_of(a, at_a)), ArcReader(arcs_of(b, at_b))};
    sweep(readers, Pair{}, budget, [&](CodePointRange on, const Pair& to) {
      if (is_hopeful(operation, to[0], to[1])) found.add_arc(i, on, to);
    });
  }
  return TextDfa(std::move(found.states), budget);
}

/// Numbers the lists of languages that accept.
class MembershipSets {
 public:
  std::int32_t index_of(const Tuple& members) {
    const auto [found, is_new] =
        index_.try_emplace(members, static_cast<std::int32_t>(lists_.size()));
    if (is_new) lists_.push_back(members);
    return found->second;
  }
  std::vector<Tuple> take() { return std::move(lists_); }

 private:
  std::map<Tuple, std::int32_t> index_;
  std::vector<Tuple> lists_;
};

/// The states of "texts of `a`, then texts of `b`": the state of `a`, then a sorted set of states
/// of `b`.
class Concatenation {
 public:
  Concatenation(const TextDfa& a, const TextDfa& b) : a_(a), b_(b) {}

  /// Makes a set of states of a tuple of targets, and begins `b` wherever `a` may end.
  Tuple normalised(Tuple tuple) const {
    if (accepts(a_, tuple[0])) tuple.push_back(TextDfa::start());
    std::sort(tuple.begin() + 1, tuple.end());
    tuple.erase(std::unique(tuple.begin() + 1, tuple.end()), tuple.end());
    if (tuple.size() > 1 && tuple[1] == kDead) tuple.erase(tuple.begin() + 1);
    return tuple;
  }
  bool is_accepting(const Tuple& tuple) const {
    return std::any_of(tuple.begin() + 1, tuple.end(),
                       [&](std::int32_t state) { return b_.accepts(state); });
  }
  std::vector<ArcReader> readers(const Tuple& tuple) const {
    std::vector<ArcReader> readers{ArcReader(arcs_of(a_, tuple[0]))};
    for (std::size_t i = 1; i < tuple.size(); ++i) readers.emplace_back(b_.arcs(tuple[i]));
    return readers;
  }

 private:
  const TextDfa& a_;
  const TextDfa& b_;
};

/// Counts code points beside the states of a language.
struct LengthCounter {
  const TextDfa& language;
  std::uint64_t low = 0;
  std::uint64_t high = 0;

  /// Returns whether a text of `length` code points that leads to `state` can get a length within
  /// the bounds.
  bool is_hopeful(std::int32_t state, std::uint64_t length) const {
    if (high != TextDfa::kInfinite && (length > high || language.shortest(state) > high - length)) {
      return false;
    }
    return length >= low || language.longest(state) >= low - length;
  }
  /// Returns the length that matters: without upper limit, lengths from `low` on are alike.
  std::uint64_t counted(std::uint64_t length) const {
    return high == TextDfa::kInfinite ? std::min(length, low) : length;
  }
};

/// Finds sets of states with a common representative (union-find).
class Merged {
 public:
  explicit Merged(std::size_t size) : parent_(size) {
    for (std::size_t i = 0; i < size; ++i) parent_[i] = i;
  }
  std::size_t find(std::size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  /// Returns whether `a` and `b` were apart.
  bool merge(std::size_t a, std::size_t b) {
    a = find(a);
    b = find(b);
    parent_[b] = a;
    return a != b;
  }

 private:
  std::vector<std::size_t> parent_;
};

}  // namespace

TextDfa TextDfa::intersected(const TextDfa& other, CompileBudget& budget) const {
  return product(SetOperation::kIntersection, *this, other, budget);
}

TextDfa TextDfa::united(const TextDfa& other, CompileBudget& budget) const {
  return product(SetOperation::kUnion, *this, other, budget);
}

TextDfa TextDfa::without_texts_of(const TextDfa& other, CompileBudget& budget) const {
  return product(SetOperation::kDifference, *this, other, budget);
}

TextDfa TextDfa::complement(CompileBudget& budget) const {
  return all(budget).without_texts_of(*this, budget);
}

TextDfa TextDfa::with_length(std::uint64_t low, std::uint64_t high, CompileBudget& budget) const {
  if (is_empty()) return {};
  if (longest(start()) != kInfinite && longest(start()) <= high) high = kInfinite;
  const LengthCounter counter{*this, low, high};
  if (low > high || !counter.is_hopeful(start(), 0)) return {};
  if (low <= shortest(start()) && high == kInfinite) return *this;
  const std::uint64_t counted = high == kInfinite ? low : high;
  if (counted >= kRawStatesMax) {
    throw Error(ErrorCode::kInvalid, "is too complex: use smaller bounds of the length");
  }
  ProductStates<Pair> found(budget);
  found.number({start(), 0});
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::int32_t state = found.tuple(i)[0];
    const auto length = static_cast<std::uint64_t>(found.tuple(i)[1]);
    found.states[i].accepts = accepts(state) && length >= low;
    found.states[i].tag = tag(state);
    const auto next = counter.counted(length + 1);
    for (const Arc& arc : arcs(state)) {
      if (!counter.is_hopeful(arc.to, next)) continue;
      found.add_arc(i, arc.on, {arc.to, static_cast<std::int32_t>(next)});
    }
  }
  return TextDfa(std::move(found.states), budget);
}

TextDfa TextDfa::followed_by(const TextDfa& other, CompileBudget& budget) const {
  if (is_empty() || other.is_empty()) return {};
  const Concatenation both(*this, other);
  ProductStates<Tuple> found(budget);
  found.number(both.normalised({start()}));
  for (std::size_t i = 0; i < found.size(); ++i) {
    found.states[i].accepts = both.is_accepting(found.tuple(i));
    const std::vector<ArcReader> readers = both.readers(found.tuple(i));
    sweep(readers, Tuple(readers.size()), budget, [&](CodePointRange on, const Tuple& to) {
      const Tuple next = both.normalised(to);
      if (next.size() > 1 || next[0] != kDead) found.add_arc(i, on, next);
    });
  }
  return TextDfa(std::move(found.states), budget);
}

TextDfa TextDfa::tagged_by_membership(std::span<const TextDfa> languages, bool keep_rest,
                                      std::vector<std::vector<std::int32_t>>& sets,
                                      CompileBudget& budget) {
  MembershipSets memberships;
  ProductStates<Tuple> found(budget);
  Tuple start_states;
  for (const TextDfa& language : languages) start_states.push_back(start_of(language));
  found.number(start_states);
  for (std::size_t i = 0; i < found.size(); ++i) {
    Tuple members;
    std::vector<ArcReader> readers;
    for (std::size_t k = 0; k < languages.size(); ++k) {
      const std::int32_t state = found.tuple(i)[k];
      if (ingot::accepts(languages[k], state)) members.push_back(static_cast<std::int32_t>(k));
      readers.emplace_back(arcs_of(languages[k], state));
    }
    found.states[i].accepts = keep_rest || !members.empty();
    if (found.states[i].accepts) found.states[i].tag = memberships.index_of(members);
    sweep(readers, Tuple(readers.size()), budget, [&](CodePointRange on, const Tuple& to) {
      const bool is_dead =
          std::all_of(to.begin(), to.end(), [](std::int32_t state) { return state == kDead; });
      if (keep_rest || !is_dead) found.add_arc(i, on, to);
    });
  }
  sets = memberships.take();
  return TextDfa(std::move(found.states), budget);
}

}  // namespace ingot
