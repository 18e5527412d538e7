// TextDfa: languages that listed texts define.
#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "base/index.h"
#include "base/utf8.h"
#include "constraint/language/text_dfa.h"

namespace ingot {
namespace {

using Arc = TextDfa::Arc;
using State = TextDfa::State;

std::u32string decoded(std::string_view text, CompileBudget& budget) {
  std::u32string out;
  budget.spend(text.size());
  while (!text.empty()) {
    const Utf8Char c = decode_utf8(text);
    out += c.code;
    text.remove_prefix(c.size);
  }
  return out;
}

/// The markers' automaton: after a text it is in the state of the longest beginning of a marker
/// with which the text ends.
class MarkerAutomaton {
 public:
  /// Source:  Aho, Corasick, "Efficient string matching", 1975.
  MarkerAutomaton(std::span<const std::string> markers, CompileBudget& budget) : budget_(budget) {
    nodes_.emplace_back();
    for (const std::string& marker : markers) insert(decoded(marker, budget));
    link();
  }

  /// Returns the states with their arcs on all code points. States at a marker's end have no arcs.
  std::vector<State> states(bool accepts_at_end) const {
    std::vector<State> states(nodes_.size());
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      states[i].accepts = nodes_[i].is_end == accepts_at_end;
      if (!nodes_[i].is_end) states[i].arcs = complete_arcs(nodes_[i]);
    }
    return states;
  }

 private:
  struct Node {
    std::map<char32_t, std::int32_t> next;  ///< absent: the root
    std::int32_t fallback = 0;
    bool is_end = false;
  };

  void insert(const std::u32string& marker) {
    std::int32_t node = 0;
    for (const char32_t c : marker) {
      const auto [child, is_new] =
          at(nodes_, node).next.try_emplace(c, static_cast<std::int32_t>(nodes_.size()));
      node = child->second;
      if (is_new) nodes_.emplace_back();
    }
    at(nodes_, node).is_end = true;
  }

  /// Completes each node's steps by those of its fallback, in the order of depth.
  void link() {
    std::vector<std::int32_t> order{0};
    for (std::size_t i = 0; i < order.size(); ++i) {
      const std::int32_t parent = order[i];
      const std::int32_t fallback = at(nodes_, parent).fallback;
      for (const auto& [c, child] : at(nodes_, parent).next) {
        const auto& steps = at(nodes_, fallback).next;
        const auto step = steps.find(c);
        const bool is_root_child = parent == 0 || step == steps.end();
        at(nodes_, child).fallback = is_root_child ? 0 : step->second;
        order.push_back(child);
      }
      if (parent == 0) continue;
      budget_.spend(1 + at(nodes_, fallback).next.size());
      at(nodes_, parent).is_end = at(nodes_, parent).is_end || at(nodes_, fallback).is_end;
      const auto& inherited = at(nodes_, fallback).next;
      at(nodes_, parent).next.insert(inherited.begin(), inherited.end());
    }
  }

  static std::vector<Arc> complete_arcs(const Node& node) {
    std::vector<Arc> arcs;
    char32_t first = 0;
    for (const auto& [c, to] : node.next) {
      if (first < c) arcs.push_back({{first, c - 1}, 0});
      arcs.push_back({{c, c}, to});
      first = c + 1;
    }
    if (first <= CodePoints::kLast) arcs.push_back({{first, CodePoints::kLast}, 0});
    return arcs;
  }

  CompileBudget& budget_;
  std::vector<Node> nodes_;
};

/// Returns the number of code points with which both texts begin.
std::size_t common_start(const std::u32string& a, const std::u32string& b) {
  const auto ends = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  return static_cast<std::size_t>(ends.first - a.begin());
}

}  // namespace

TextDfa TextDfa::all(CompileBudget& budget) {
  State state;
  state.accepts = true;
  state.arcs = {{{0, CodePoints::kLast}, 0}};
  return TextDfa(std::vector<State>{state}, budget);
}

TextDfa TextDfa::literal(std::string_view text, CompileBudget& budget) {
  const std::string only(text);
  return any_of(std::span(&only, 1), budget);
}

TextDfa TextDfa::any_of(std::span<const std::string> texts, CompileBudget& budget) {
  if (texts.empty()) return {};
  std::vector<std::pair<std::u32string, std::int32_t>> sorted;
  for (const std::string& text : texts) {
    sorted.emplace_back(decoded(text, budget), static_cast<std::int32_t>(sorted.size()));
  }
  std::sort(sorted.begin(), sorted.end());
  std::vector<State> states(1);
  std::vector<std::int32_t> path{0};  // the states of the last text's beginnings
  const std::u32string* last = nullptr;
  for (const auto& [text, tag] : sorted) {
    if (last != nullptr && *last == text) continue;  // the smaller tag came first
    path.resize(1 + (last == nullptr ? 0 : common_start(*last, text)));
    for (std::size_t i = path.size() - 1; i < text.size(); ++i) {
      const auto next = static_cast<std::int32_t>(states.size());
      at(states, path.back()).arcs.push_back({{text[i], text[i]}, next});
      path.push_back(next);
      states.emplace_back();
    }
    at(states, path.back()).accepts = true;
    at(states, path.back()).tag = tag;
    last = &text;
  }
  return TextDfa(std::move(states), budget);
}

TextDfa TextDfa::until(std::string_view marker, CompileBudget& budget) {
  const std::string only(marker);
  return TextDfa(MarkerAutomaton(std::span(&only, 1), budget).states(true), budget);
}

TextDfa TextDfa::without(std::span<const std::string> markers, CompileBudget& budget) {
  return TextDfa(MarkerAutomaton(markers, budget).states(false), budget);
}

}  // namespace ingot
