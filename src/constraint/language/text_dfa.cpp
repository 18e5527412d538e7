// TextDfa: a regular set of texts, as a deterministic automaton over code points.
#include "constraint/language/text_dfa.h"

#include <algorithm>
#include <utility>

#include "base/index.h"
#include "base/text.h"
#include "base/utf8.h"
#include "constraint/language/class_dfa.h"
#include "constraint/language/saturating.h"

namespace ingot {
namespace {

constexpr std::uint64_t kInfinite = TextDfa::kInfinite;

std::uint64_t multiply_saturating(std::uint64_t a, std::uint64_t b, std::uint64_t limit) {
  return b != 0 && a > limit / b ? limit : a * b;
}

/// Returns the automaton of `states` over the classes of code points that they treat alike.
ClassDfa to_class_dfa(const std::vector<TextDfa::State>& states, CompileBudget& budget) {
  std::vector<Alphabet::Labelled> ranges;
  for (std::size_t state = 0; state < states.size(); ++state) {
    for (const TextDfa::Arc& arc : states[state].arcs) {
      ranges.push_back({arc.on, std::uint64_t{state} << 32 | static_cast<std::uint32_t>(arc.to)});
    }
  }
  ClassDfa dfa;
  dfa.alphabet = Alphabet(ranges, budget);
  const std::vector<char32_t> first = dfa.alphabet.representatives();
  for (const TextDfa::State& state : states) {
    const std::size_t before = dfa.edges.size();
    for (const TextDfa::Arc& arc : state.arcs) {
      const auto low = std::lower_bound(first.begin(), first.end(), arc.on.first);
      for (auto it = low; it != first.end() && *it <= arc.on.last; ++it) {
        dfa.edges.push_back({static_cast<std::int32_t>(it - first.begin()), arc.to});
      }
    }
    std::sort(dfa.edges.begin() + static_cast<std::ptrdiff_t>(before), dfa.edges.end(),
              [](const ClassDfa::Edge& a, const ClassDfa::Edge& b) { return a.on < b.on; });
    budget.spend(1 + dfa.edges.size() - before);
    dfa.finish_state(state.accepts ? state.tag : ClassDfa::kRejects);
  }
  return dfa;
}

/// Returns the intervals of an alphabet by class: those of class c are at [first[c], first[c + 1]).
std::vector<Alphabet::Interval> intervals_by_class(const Alphabet& alphabet,
                                                   std::vector<std::size_t>& first) {
  std::vector<Alphabet::Interval> sorted = alphabet.intervals();
  std::stable_sort(
      sorted.begin(), sorted.end(),
      [](const Alphabet::Interval& a, const Alphabet::Interval& b) { return a.on < b.on; });
  first.assign(to_size(alphabet.size()) + 1, 0);
  for (const Alphabet::Interval& interval : sorted) ++at(first, interval.on + 1);
  for (std::size_t i = 1; i < first.size(); ++i) first[i] += first[i - 1];
  return sorted;
}

}  // namespace

TextDfa::TextDfa(std::vector<State> states, CompileBudget& budget)
    : TextDfa(to_class_dfa(states, budget), budget) {}

TextDfa::TextDfa(const ClassDfa& dfa, CompileBudget& budget) {
  const ClassDfa small = minimal(dfa, budget);
  if (small.size() > kStatesMax) {
    throw Error(ErrorCode::kInvalid, cat("is too complex: it needs ", small.size(),
                                         " states, and the limit is ", kStatesMax));
  }
  for (const std::int32_t output : small.outputs) {
    accepts_.push_back(output != ClassDfa::kRejects);
    tags_.push_back(std::max(output, 0));
  }
  append_arcs(small, budget);
  make_ascii_table(small);
  analyse();
}

void TextDfa::append_arcs(const ClassDfa& dfa, CompileBudget& budget) {
  std::vector<std::size_t> first;
  const std::vector<Alphabet::Interval> intervals = intervals_by_class(dfa.alphabet, first);
  first_arc_.push_back(0);
  std::vector<Arc> arcs;
  for (std::int32_t state = 0; state < dfa.size(); ++state) {
    arcs.clear();
    for (const ClassDfa::Edge& edge : dfa.edges_of(state)) {
      for (std::size_t i = at(first, edge.on); i < at(first, edge.on + 1); ++i) {
        arcs.push_back({intervals[i].range, edge.to});
      }
    }
    budget.spend(arcs.size() / 8);
    std::sort(arcs.begin(), arcs.end(),
              [](const Arc& a, const Arc& b) { return a.on.first < b.on.first; });
    for (const Arc& arc : arcs) {
      const bool is_new = arcs_.size() == first_arc_.back() || arcs_.back().to != arc.to ||
                          arcs_.back().on.last + 1 != arc.on.first;
      if (is_new) {
        arcs_.push_back(arc);
      } else {
        arcs_.back().on.last = arc.on.last;
      }
    }
    first_arc_.push_back(static_cast<std::uint32_t>(arcs_.size()));
  }
  arcs_.shrink_to_fit();
}

void TextDfa::make_ascii_table(const ClassDfa& dfa) {
  constexpr std::int32_t kUnused = -1;
  std::vector<std::int32_t> column_of(to_size(dfa.alphabet.size()), kUnused);
  ascii_column_.fill(kNoColumn);
  for (const Alphabet::Interval& interval : dfa.alphabet.intervals()) {
    if (interval.range.first >= ascii_column_.size()) break;
    std::int32_t& column = at(column_of, interval.on);
    if (column == kUnused) column = static_cast<std::int32_t>(ascii_columns_++);
    for (char32_t c = interval.range.first; c <= interval.range.last && c < ascii_column_.size();
         ++c) {
      ascii_column_[c] = static_cast<std::uint8_t>(column);
    }
  }
  if (to_size(dfa.size()) * ascii_columns_ > kAsciiEntriesMax) return;
  ascii_.assign(to_size(dfa.size()) * ascii_columns_, kDead);
  for (std::int32_t state = 0; state < dfa.size(); ++state) {
    for (const ClassDfa::Edge& edge : dfa.edges_of(state)) {
      const std::int32_t column = at(column_of, edge.on);
      if (column == kUnused) continue;
      ascii_[to_size(state) * ascii_columns_ + to_size(column)] = edge.to;
    }
  }
}

void TextDfa::analyse() {
  if (is_empty()) return;
  const Sources sources = sources_of_states();
  measure_shortest(sources);
  measure_rests(acyclic_order(sources));
  find_unrestricted(sources);
  is_gapless_ = true;
  for (std::int32_t state = 0; state < size() && is_gapless_; ++state) {
    is_gapless_ = is_gapless_at(state);
  }
}

/// Returns the states that have an arc to each state.
TextDfa::Sources TextDfa::sources_of_states() const {
  Sources sources(accepts_.size());
  for (std::int32_t state = 0; state < size(); ++state) {
    for (const Arc& arc : arcs(state)) {
      std::vector<std::int32_t>& to = at(sources, arc.to);
      if (to.empty() || to.back() != state) to.push_back(state);
    }
  }
  return sources;
}

/// Returns the states that reach no cycle, each behind the states that it leads to.
std::vector<std::int32_t> TextDfa::acyclic_order(const Sources& sources) const {
  std::vector<std::int32_t> targets(accepts_.size());
  for (const std::vector<std::int32_t>& list : sources) {
    for (const std::int32_t source : list) ++at(targets, source);
  }
  std::vector<std::int32_t> order;
  for (std::int32_t state = 0; state < size(); ++state) {
    if (at(targets, state) == 0) order.push_back(state);
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (const std::int32_t source : at(sources, order[i])) {
      if (--at(targets, source) == 0) order.push_back(source);
    }
  }
  return order;
}

void TextDfa::measure_shortest(const Sources& sources) {
  shortest_.assign(accepts_.size(), kInfinite);
  std::vector<std::int32_t> order;
  for (std::int32_t state = 0; state < size(); ++state) {
    if (!accepts(state)) continue;
    at(shortest_, state) = 0;
    order.push_back(state);
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (const std::int32_t source : at(sources, order[i])) {
      if (at(shortest_, source) != kInfinite) continue;
      at(shortest_, source) = at(shortest_, order[i]) + 1;
      order.push_back(source);
    }
  }
}

void TextDfa::find_unrestricted(const Sources& sources) {
  is_unrestricted_.assign(accepts_.size(), 1);
  std::vector<std::int32_t> open;
  const auto restrict = [&](std::int32_t state) {
    if (at(is_unrestricted_, state) == 0) return;
    at(is_unrestricted_, state) = 0;
    open.push_back(state);
  };
  for (std::int32_t state = 0; state < size(); ++state) {
    char32_t chars = 0;
    for (const Arc& arc : arcs(state)) chars += arc.on.last - arc.on.first + 1;
    if (chars < CodePoints::kScalars) restrict(state);
  }
  while (!open.empty()) {
    const std::int32_t state = open.back();
    open.pop_back();
    for (const std::int32_t source : at(sources, state)) restrict(source);
  }
}

/// Sets `longest_` and `counts_`. States that are not in `order` reach a cycle.
void TextDfa::measure_rests(const std::vector<std::int32_t>& order) {
  longest_.assign(accepts_.size(), kInfinite);
  counts_.assign(accepts_.size(), kInfinite);
  for (const std::int32_t state : order) {
    std::uint64_t longest = 0;
    std::uint64_t count = accepts(state) ? 1 : 0;
    for (const Arc& arc : arcs(state)) {
      const std::uint64_t width = arc.on.last - arc.on.first + 1;
      longest = std::max(longest, at(longest_, arc.to) + 1);
      const std::uint64_t rests = multiply_saturating(at(counts_, arc.to), width, kInfinite - 1);
      count = add_saturating(count, rests, kInfinite - 1);
    }
    at(longest_, state) = longest;
    at(counts_, state) = count;
  }
}

/// Returns whether the lengths of the rests through each arc join to one interval. If that holds at
/// every state, then by induction over the length no state has a gap.
bool TextDfa::is_gapless_at(std::int32_t state) const {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> lengths;
  if (accepts(state)) lengths.emplace_back(0, 0);
  for (const Arc& arc : arcs(state)) {
    const std::uint64_t most = longest(arc.to);
    lengths.emplace_back(shortest(arc.to) + 1, most == kInfinite ? kInfinite : most + 1);
  }
  std::sort(lengths.begin(), lengths.end());
  std::uint64_t covered = shortest(state);
  for (const auto& [low, high] : lengths) {
    if (low > covered && low - covered > 1) return false;
    covered = std::max(covered, high);
  }
  return true;
}

std::int32_t TextDfa::step(std::int32_t state, char32_t c) const {
  if (c < ascii_column_.size() && !ascii_.empty()) {
    const std::uint8_t column = ascii_column_[c];
    if (column == kNoColumn) return kDead;
    return ascii_[to_size(state) * ascii_columns_ + column];
  }
  const std::span<const Arc> all = arcs(state);
  const auto after =
      std::upper_bound(all.begin(), all.end(), c,
                       [](char32_t value, const Arc& arc) { return value < arc.on.first; });
  if (after == all.begin() || c > std::prev(after)->on.last) return kDead;
  return std::prev(after)->to;
}

bool TextDfa::has_step(std::int32_t state, char32_t first, char32_t last) const {
  const std::span<const Arc> all = arcs(state);
  const auto found =
      std::lower_bound(all.begin(), all.end(), first,
                       [](const Arc& arc, char32_t value) { return arc.on.last < value; });
  return found != all.end() && found->on.first <= last;
}

std::span<const TextDfa::Arc> TextDfa::arcs(std::int32_t state) const {
  const std::uint32_t first = at(first_arc_, state);
  return std::span(arcs_).subspan(first, at(first_arc_, state + 1) - first);
}

bool TextDfa::contains(std::string_view text) const {
  if (is_empty()) return false;
  std::int32_t state = start();
  while (!text.empty()) {
    const Utf8Char c = decode_utf8(text);
    if (!c.valid) return false;
    state = step(state, c.code);
    if (state == kDead) return false;
    text.remove_prefix(c.size);
  }
  return accepts(state);
}

std::size_t TextDfa::bytes() const {
  const auto of = [](const auto& list) { return list.capacity() * sizeof(list[0]); };
  return sizeof(TextDfa) + of(first_arc_) + of(arcs_) + of(ascii_) + of(accepts_) + of(tags_) +
         of(shortest_) + of(longest_) + of(counts_) + of(is_unrestricted_);
}

}  // namespace ingot
