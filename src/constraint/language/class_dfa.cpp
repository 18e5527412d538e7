// ClassDfa: minimises automata over classes of code points.
#include "constraint/language/class_dfa.h"

#include <algorithm>
#include <numeric>

#include "base/index.h"

namespace ingot {
namespace {

/// A division of the numbers 0 to n - 1 into sets that only become finer.
class Partition {
 public:
  /// Begins with one set for each distinct key.
  explicit Partition(const std::vector<std::int32_t>& keys);

  std::int32_t sets() const { return static_cast<std::int32_t>(first_.size()); }
  std::int32_t set_of(std::int32_t element) const { return at(set_of_, element); }
  std::span<const std::int32_t> members(std::int32_t set) const {
    return std::span(elements_).subspan(to_size(at(first_, set)),
                                        to_size(at(past_, set) - at(first_, set)));
  }
  /// Marks an element for the next split. Marking it twice is the same as once.
  void mark(std::int32_t element);
  /// Divides each set in its marked and its other elements; the smaller part becomes a new set.
  void split();

 private:
  void swap_to(std::int32_t element, std::int32_t place);

  std::vector<std::int32_t> elements_;  ///< grouped by set, marked elements first
  std::vector<std::int32_t> place_;     ///< [element] index in elements_
  std::vector<std::int32_t> set_of_;
  std::vector<std::int32_t> first_, past_, marked_;  ///< [set]
  std::vector<std::int32_t> touched_;                ///< sets with marked elements
};

Partition::Partition(const std::vector<std::int32_t>& keys)
    : elements_(keys.size()), place_(keys.size()), set_of_(keys.size()) {
  std::iota(elements_.begin(), elements_.end(), 0);
  std::stable_sort(elements_.begin(), elements_.end(),
                   [&](std::int32_t a, std::int32_t b) { return at(keys, a) < at(keys, b); });
  for (std::int32_t i = 0; i < std::ssize(elements_); ++i) {
    const std::int32_t element = at(elements_, i);
    if (i == 0 || at(keys, element) != at(keys, at(elements_, i - 1))) {
      first_.push_back(i);
      past_.push_back(i);
      marked_.push_back(0);
    }
    past_.back() = i + 1;
    at(place_, element) = i;
    at(set_of_, element) = sets() - 1;
  }
}

void Partition::swap_to(std::int32_t element, std::int32_t place) {
  const std::int32_t other = at(elements_, place);
  std::swap(at(elements_, place), at(elements_, at(place_, element)));
  at(place_, other) = at(place_, element);
  at(place_, element) = place;
}

void Partition::mark(std::int32_t element) {
  const std::int32_t set = set_of(element);
  const std::int32_t end = at(first_, set) + at(marked_, set);
  if (at(place_, element) < end) return;
  if (at(marked_, set)++ == 0) touched_.push_back(set);
  swap_to(element, end);
}

void Partition::split() {
  for (const std::int32_t set : touched_) {
    const std::int32_t middle = at(first_, set) + std::exchange(at(marked_, set), 0);
    if (middle == at(past_, set)) continue;
    const bool marked_are_fewer = 2 * middle <= at(first_, set) + at(past_, set);
    first_.push_back(marked_are_fewer ? at(first_, set) : middle);
    past_.push_back(marked_are_fewer ? middle : at(past_, set));
    marked_.push_back(0);
    (marked_are_fewer ? at(first_, set) : at(past_, set)) = middle;
    for (std::int32_t i = first_.back(); i < past_.back(); ++i) {
      at(set_of_, at(elements_, i)) = sets() - 1;
    }
  }
  touched_.clear();
}

/// The edges of an automaton by target.
struct Incoming {
  std::vector<std::int32_t> first;    ///< [states + 1] index in `edges`
  std::vector<std::int32_t> edges;    ///< indices in ClassDfa::edges
  std::vector<std::int32_t> sources;  ///< [edges] the state that has the edge
};

Incoming incoming_edges(const ClassDfa& dfa) {
  Incoming incoming;
  incoming.first.resize(to_size(dfa.size()) + 1);
  incoming.edges.resize(dfa.edges.size());
  incoming.sources.resize(dfa.edges.size());
  for (const ClassDfa::Edge& edge : dfa.edges) ++at(incoming.first, edge.to);
  std::partial_sum(incoming.first.begin(), incoming.first.end(), incoming.first.begin());
  std::int32_t edge = 0;
  for (std::int32_t state = 0; state < dfa.size(); ++state) {
    for (const ClassDfa::Edge& e : dfa.edges_of(state)) {
      at(incoming.sources, edge) = state;
      at(incoming.edges, --at(incoming.first, e.to)) = edge++;
    }
  }
  return incoming;
}

/// Returns for each state whether the start reaches it.
std::vector<char> reachable(const ClassDfa& dfa) {
  std::vector<char> seen(to_size(dfa.size()));
  std::vector<std::int32_t> open{0};
  seen[0] = 1;
  while (!open.empty()) {
    const std::int32_t state = open.back();
    open.pop_back();
    for (const ClassDfa::Edge& edge : dfa.edges_of(state)) {
      if (!std::exchange(at(seen, edge.to), char{1})) open.push_back(edge.to);
    }
  }
  return seen;
}

/// Returns for each state whether it reaches an accepting state.
std::vector<char> coreachable(const ClassDfa& dfa) {
  const Incoming incoming = incoming_edges(dfa);
  std::vector<char> seen(to_size(dfa.size()));
  std::vector<std::int32_t> open;
  for (std::int32_t state = 0; state < dfa.size(); ++state) {
    if (at(dfa.outputs, state) == ClassDfa::kRejects) continue;
    at(seen, state) = 1;
    open.push_back(state);
  }
  while (!open.empty()) {
    const std::int32_t state = open.back();
    open.pop_back();
    for (std::int32_t i = at(incoming.first, state); i < at(incoming.first, state + 1); ++i) {
      const std::int32_t source = at(incoming.sources, at(incoming.edges, i));
      if (!std::exchange(at(seen, source), char{1})) open.push_back(source);
    }
  }
  return seen;
}

/// Returns the automaton without the states that no accepted text visits.
ClassDfa trimmed(const ClassDfa& dfa) {
  ClassDfa out;
  out.alphabet = dfa.alphabet;
  if (dfa.size() == 0) return out;
  const std::vector<char> forward = reachable(dfa);
  const std::vector<char> backward = coreachable(dfa);
  std::vector<std::int32_t> number(to_size(dfa.size()), -1);
  std::int32_t next = 0;
  for (std::int32_t state = 0; state < dfa.size(); ++state) {
    if (at(forward, state) && at(backward, state)) at(number, state) = next++;
  }
  if (number[0] < 0) return out;
  for (std::int32_t state = 0; state < dfa.size(); ++state) {
    if (at(number, state) < 0) continue;
    for (const ClassDfa::Edge& edge : dfa.edges_of(state)) {
      if (at(number, edge.to) >= 0) out.edges.push_back({edge.on, at(number, edge.to)});
    }
    out.finish_state(at(dfa.outputs, state));
  }
  return out;
}

/// Returns the equivalence classes of the states of a trimmed automaton.
Partition equivalent_states(const ClassDfa& dfa) {
  std::vector<std::int32_t> labels(dfa.edges.size());
  std::transform(dfa.edges.begin(), dfa.edges.end(), labels.begin(),
                 [](const ClassDfa::Edge& edge) { return edge.on; });
  const Incoming incoming = incoming_edges(dfa);
  Partition blocks(dfa.outputs);
  Partition cords(labels);  // sets of edges with one label that lead to one block
  std::int32_t block = 1;   // one block needs no turn: the others tell its edges apart
  const auto split_cords = [&] {
    for (; block < blocks.sets(); ++block) {
      for (const std::int32_t state : blocks.members(block)) {
        for (std::int32_t i = at(incoming.first, state); i < at(incoming.first, state + 1); ++i) {
          cords.mark(at(incoming.edges, i));
        }
      }
      cords.split();
    }
  };
  split_cords();
  for (std::int32_t cord = 0; cord < cords.sets(); ++cord) {
    for (const std::int32_t edge : cords.members(cord)) blocks.mark(at(incoming.sources, edge));
    blocks.split();
    split_cords();
  }
  return blocks;
}

/// Returns the automaton whose states are the blocks of `dfa`, in the order of a breadth-first
/// search.
ClassDfa quotient(const ClassDfa& dfa, const Partition& blocks) {
  ClassDfa out;
  out.alphabet = dfa.alphabet;
  std::vector<std::int32_t> number(to_size(blocks.sets()), -1);
  std::vector<std::int32_t> order{blocks.set_of(0)};
  at(number, order[0]) = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::int32_t state = blocks.members(order[i]).front();
    for (const ClassDfa::Edge& edge : dfa.edges_of(state)) {
      const std::int32_t block = blocks.set_of(edge.to);
      if (at(number, block) < 0) {
        at(number, block) = static_cast<std::int32_t>(order.size());
        order.push_back(block);
      }
      out.edges.push_back({edge.on, at(number, block)});
    }
    out.finish_state(at(dfa.outputs, state));
  }
  return out;
}

}  // namespace

std::span<const ClassDfa::Edge> ClassDfa::edges_of(std::int32_t state) const {
  const std::uint32_t first = at(first_edge, state);
  return std::span(edges).subspan(first, at(first_edge, state + 1) - first);
}

void ClassDfa::finish_state(std::int32_t output) {
  first_edge.push_back(static_cast<std::uint32_t>(edges.size()));
  outputs.push_back(output);
}

ClassDfa minimal(const ClassDfa& dfa, CompileBudget& budget) {
  budget.spend(dfa.outputs.size() + dfa.edges.size());
  const ClassDfa live = trimmed(dfa);
  if (live.size() == 0) return live;
  return quotient(live, equivalent_states(live));
}

}  // namespace ingot
