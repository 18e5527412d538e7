// Reads all texts of a grammar at once with an automaton of the marks: which states can each node
// end in, if it begins in a state?
#include "text/chat/tools/mark_search.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "base/index.h"

namespace ingot {

namespace {

/// Finds for each node and each state that can be before it the states that can be behind it.
/// Source: Reps, "Program analysis via graph reachability", 1998.
class MarkSearch {
 public:
  MarkSearch(const Grammar& grammar, std::span<const std::string> marks, CompileBudget& budget)
      : grammar_(grammar), unmarked_(TextDfa::without(marks, budget)), budget_(budget) {}

  bool find(NodeId root) {
    if (unmarked_.is_empty()) return true;
    walk_of(root, TextDfa::start());
    while (!open_.empty() && !is_found_) {
      const Place place = open_.back();
      open_.pop_back();
      budget_.spend();
      step(place);
    }
    return is_found_;
  }

 private:
  /// What waits for the end of a node: a place in its parent, without the state.
  struct Waiting {
    std::int32_t walk = 0;
    std::uint32_t part = 0;
  };
  /// A node that is read from a state of `unmarked_` on.
  struct Walk {
    NodeId node = kNoNode;
    std::int32_t state = 0;
    std::set<std::int32_t> ends{};  ///< states behind the node
    std::vector<Waiting> waiting{};
  };
  /// In front of a part of a walk's node.
  struct Place {
    std::int32_t walk = 0;
    std::uint32_t part = 0;
    std::int32_t state = 0;
  };

  std::int32_t walk_of(NodeId node, std::int32_t state) {
    const std::uint64_t states = to_size(unmarked_.size());
    const auto [found, is_new] = by_node_.try_emplace(node * states + to_size(state),
                                                      static_cast<std::int32_t>(walks_.size()));
    if (is_new) {
      walks_.push_back({.node = node, .state = state});
      open_place({.walk = found->second, .part = 0, .state = state});
    }
    return found->second;
  }

  void open_place(const Place& place) {
    budget_.spend();
    const std::uint64_t part = to_size(place.walk) * (Grammar::kNodesMax + 2) + place.part;
    if (seen_.insert(part * to_size(unmarked_.size()) + to_size(place.state)).second) {
      open_.push_back(place);
    }
  }

  /// Reads `node` at a place. Behind it, the walk is at `next`.
  void read(const Place& place, NodeId node, std::uint32_t next) {
    const std::int32_t walk = walk_of(node, place.state);
    const Waiting waiting{.walk = place.walk, .part = next};
    at(walks_, walk).waiting.push_back(waiting);
    const std::set<std::int32_t> ends = at(walks_, walk).ends;
    for (const std::int32_t end : ends) {
      open_place({.walk = waiting.walk, .part = waiting.part, .state = end});
    }
  }
  void end(std::int32_t walk, std::int32_t state) {
    if (!at(walks_, walk).ends.insert(state).second) return;
    for (const Waiting& waiting : at(walks_, walk).waiting) {
      open_place({.walk = waiting.walk, .part = waiting.part, .state = state});
    }
  }

  void step(const Place& place) {
    const GrammarNode& node = grammar_.node(at(walks_, place.walk).node);
    if (const auto* terminal = std::get_if<grammar::Terminal>(&node)) {
      step_terminal(place, grammar_.language(terminal->language));
    } else if (const auto* sequence = std::get_if<grammar::Sequence>(&node)) {
      if (place.part == sequence->parts.size()) return end(place.walk, place.state);
      read(place, sequence->parts[place.part], place.part + 1);
    } else if (const auto* choice = std::get_if<grammar::Choice>(&node)) {
      if (place.part > 0) return end(place.walk, place.state);
      for (const NodeId alternative : choice->alternatives) read(place, alternative, 1);
    } else {
      step_repeat(place, std::get<grammar::Repeat>(node));
    }
  }

  /// Part 0 is in front of the first repetition, 1 behind a repetition, 2 behind a separator.
  void step_repeat(const Place& place, const grammar::Repeat& repeat) {
    if (place.part == 1 || (place.part == 0 && repeat.count_min == 0)) {
      end(place.walk, place.state);
    }
    if (place.part == 1 && repeat.count_max == 1) return;
    if (place.part == 1 && repeat.separator != kNoNode) return read(place, repeat.separator, 2);
    read(place, repeat.part, 1);
  }

  /// Reads all texts of a language with `unmarked_`.
  void step_terminal(const Place& place, const TextDfa& language) {
    if (language.is_empty()) return;
    std::vector<std::pair<std::int32_t, std::int32_t>> open{{TextDfa::start(), place.state}};
    std::set<std::pair<std::int32_t, std::int32_t>> seen{open[0]};
    while (!open.empty()) {
      const auto [state, unmarked] = open.back();
      open.pop_back();
      if (language.accepts(state)) end(place.walk, unmarked);
      for (const TextDfa::Arc& arc : language.arcs(state)) {
        char32_t next = arc.on.first;  // the first character of the arc that is not read yet
        const std::span<const TextDfa::Arc> steps = unmarked_.arcs(unmarked);
        auto step =
            std::partition_point(steps.begin(), steps.end(),
                                 [&](const TextDfa::Arc& other) { return other.on.last < next; });
        budget_.spend();
        for (; step != steps.end() && step->on.first <= arc.on.last; ++step) {
          budget_.spend();
          if (step->on.first > next && !is_gap(next, step->on.first - 1)) break;
          next = step->on.last + 1;
          if (seen.emplace(arc.to, step->to).second) open.emplace_back(arc.to, step->to);
        }
        is_found_ = is_found_ || (next <= arc.on.last && !is_gap(next, arc.on.last));
      }
      if (is_found_) return;
    }
  }
  /// Whether the characters from `first` to `last` are surrogates, which no text has.
  static bool is_gap(char32_t first, char32_t last) { return first >= 0xD800 && last <= 0xDFFF; }

  const Grammar& grammar_;
  TextDfa unmarked_;
  CompileBudget& budget_;
  std::vector<Walk> walks_;
  std::unordered_map<std::uint64_t, std::int32_t> by_node_;  ///< walks by node and state
  std::unordered_set<std::uint64_t> seen_;                   ///< places
  std::vector<Place> open_;
  bool is_found_ = false;
};

}  // namespace

bool can_write_mark(const Grammar& grammar, NodeId root, std::span<const std::string> marks,
                    CompileBudget& budget) {
  return MarkSearch(grammar, marks, budget).find(root);
}

}  // namespace ingot
