// Alphabet: classes of code points that an automaton treats alike.
#include <algorithm>
#include <array>
#include <unordered_map>

#include "base/index.h"
#include "constraint/language/class_dfa.h"

namespace ingot {
namespace {

/// A sum of hashed labels. Equal sums mean equal labels: a collision of 128 bits does not happen by
/// chance, and an author who constructs one only spoils the own language.
struct LabelSum {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  friend bool operator==(const LabelSum&, const LabelSum&) = default;
};

struct LabelSumHash {
  std::size_t operator()(const LabelSum& sum) const { return sum.low ^ (sum.high >> 7); }
};

/// A place where a label begins or ends to apply.
struct Boundary {
  char32_t at = 0;
  bool begins = false;
  std::uint64_t label = 0;
};

/// Mixes the bits of a number (the finaliser of splitmix64).
std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}

void apply(LabelSum& sum, const Boundary& boundary) {
  const std::uint64_t low = mixed(boundary.label + 0x9E3779B97F4A7C15U);
  const std::uint64_t high = mixed(boundary.label ^ 0xD1B54A32D192ED03U);
  sum.low += boundary.begins ? low : 0 - low;
  sum.high += boundary.begins ? high : 0 - high;
}

std::vector<Boundary> sorted_boundaries(std::span<const Alphabet::Labelled> ranges) {
  std::vector<Boundary> boundaries;
  boundaries.reserve(2 * ranges.size());
  for (const Alphabet::Labelled& labelled : ranges) {
    if (labelled.range.first > labelled.range.last) continue;
    boundaries.push_back({labelled.range.first, true, labelled.label});
    boundaries.push_back({labelled.range.last + 1, false, labelled.label});
  }
  std::sort(boundaries.begin(), boundaries.end(),
            [](const Boundary& a, const Boundary& b) { return a.at < b.at; });
  return boundaries;
}

/// Appends the scalar values of `range` to `out`; joins them to the last interval of their class.
void append_interval(std::vector<Alphabet::Interval>& out, CodePointRange range, std::int32_t on) {
  const CodePoints scalars({range});  // without surrogates
  for (const CodePointRange& part : scalars.ranges()) {
    if (!out.empty() && out.back().on == on && out.back().range.last + 1 == part.first) {
      out.back().range.last = part.last;
    } else {
      out.push_back({part, on});
    }
  }
}

}  // namespace

Alphabet::Alphabet(std::span<const Labelled> ranges, CompileBudget& budget) {
  budget.spend(ranges.size());
  const std::vector<Boundary> boundaries = sorted_boundaries(ranges);
  std::unordered_map<LabelSum, std::int32_t, LabelSumHash> class_of;
  LabelSum sum;
  for (std::size_t i = 0; i < boundaries.size();) {
    const char32_t first = boundaries[i].at;
    for (; i < boundaries.size() && boundaries[i].at == first; ++i) apply(sum, boundaries[i]);
    if (sum == LabelSum{} || i == boundaries.size()) continue;
    const std::size_t before = intervals_.size();
    const auto known = class_of.find(sum);
    const std::int32_t on = known == class_of.end() ? size_ : known->second;
    append_interval(intervals_, {first, boundaries[i].at - 1}, on);
    if (on != size_ || intervals_.size() == before) continue;  // not new, or surrogates only
    class_of.emplace(sum, size_++);
  }
}

std::vector<char32_t> Alphabet::representatives() const {
  std::vector<char32_t> first(to_size(size_));
  std::int32_t next = 0;
  for (const Interval& interval : intervals_) {
    if (interval.on == next) at(first, next++) = interval.range.first;
  }
  return first;
}

std::vector<std::int32_t> Alphabet::classes_in(const CodePoints& set) const {
  std::vector<std::int32_t> classes;
  auto range = set.ranges().begin();
  for (const Interval& interval : intervals_) {
    while (range != set.ranges().end() && range->last < interval.range.first) ++range;
    if (range == set.ranges().end()) break;
    if (range->first <= interval.range.first) classes.push_back(interval.on);
  }
  std::sort(classes.begin(), classes.end());
  classes.erase(std::unique(classes.begin(), classes.end()), classes.end());
  return classes;
}

}  // namespace ingot
