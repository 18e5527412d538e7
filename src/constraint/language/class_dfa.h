// ClassDfa: an automaton under construction, over classes of code points that it treats alike.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "constraint/compile_budget.h"
#include "constraint/language/code_points.h"

namespace ingot {

/// Divides the code points that occur in several labelled ranges into classes. Two code points are
/// in one class if the same labels apply to both.
class Alphabet {
 public:
  /// A range to which a label applies. Ranges may overlap; surrogates in them are ignored.
  struct Labelled {
    CodePointRange range;
    std::uint64_t label = 0;
  };
  /// Code points of one class.
  struct Interval {
    CodePointRange range;
    std::int32_t on = 0;  ///< the class
  };

  Alphabet() = default;
  /// Errors: Error{kInvalid} if the budget is exceeded.
  Alphabet(std::span<const Labelled> ranges, CompileBudget& budget);

  /// Number of classes. They are numbered by their first code points.
  std::int32_t size() const { return size_; }
  /// The classes' ranges, ascending. Code points without any label are absent.
  const std::vector<Interval>& intervals() const { return intervals_; }
  /// Returns the first code point of each class.
  std::vector<char32_t> representatives() const;
  /// Returns the classes in `set`, ascending. Each class must be within the set or outside.
  std::vector<std::int32_t> classes_in(const CodePoints& set) const;

 private:
  std::vector<Interval> intervals_;
  std::int32_t size_ = 0;
};

/// A deterministic automaton over the classes of an alphabet. State 0 is the start.
struct ClassDfa {
  static constexpr std::int32_t kRejects = -1;

  struct Edge {
    std::int32_t on = 0;  ///< class
    std::int32_t to = 0;
  };

  Alphabet alphabet;
  std::vector<std::uint32_t> first_edge{0};  ///< [states + 1] index in edges
  std::vector<Edge> edges;                   ///< sorted by state, then by class
  std::vector<std::int32_t> outputs;  ///< [states] kRejects, or the tag of an accepting state

  std::int32_t size() const { return static_cast<std::int32_t>(outputs.size()); }
  std::span<const Edge> edges_of(std::int32_t state) const;
  /// Appends a state; the edges that were appended since the last call are its own.
  void finish_state(std::int32_t output);
};

/// Returns the minimal automaton of the same language, with live states only, numbered in the order
/// of a breadth-first search. States with different outputs stay apart. No states: empty language.
///
/// Errors: Error{kInvalid} if the budget is exceeded.
/// Source:  Valmari, "Fast brief practical DFA minimization", 2012.
ClassDfa minimal(const ClassDfa& dfa, CompileBudget& budget);

}  // namespace ingot
