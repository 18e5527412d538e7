// TextDfa: a regular set of texts, as a deterministic automaton over code points.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "constraint/compile_budget.h"
#include "constraint/language/code_points.h"

namespace ingot {

struct ClassDfa;

/// A regular language of texts. Immutable and minimal. From each of its states an accepted text can
/// be reached, so a caller that only takes steps to live states never meets a dead end.
///
/// A step reads one Unicode scalar value. All functions that build a language spend from a budget.
/// Errors of all such functions: Error{kInvalid} if the budget or kStatesMax is exceeded.
class TextDfa {
 public:
  static constexpr std::int32_t kDead = -1;
  static constexpr std::int32_t kStatesMax = 80'000;
  /// `count` and `longest` of a state from which infinitely many texts are accepted.
  static constexpr std::uint64_t kInfinite = std::numeric_limits<std::uint64_t>::max();

  /// A transition on the code points of a range.
  struct Arc {
    CodePointRange on;
    std::int32_t to = 0;
  };
  /// A state under construction. Its arcs may not overlap.
  struct State {
    std::vector<Arc> arcs;
    bool accepts = false;
    /// For an accepting state: a number that tells apart several languages in one automaton.
    std::int32_t tag = 0;
  };

  /// The empty language.
  TextDfa() = default;
  /// Makes the minimal automaton of `states`; state 0 is the start. Accepting states with different
  /// tags stay apart.
  TextDfa(std::vector<State> states, CompileBudget& budget);
  /// Makes the minimal automaton of an automaton over classes of code points.
  TextDfa(const ClassDfa& dfa, CompileBudget& budget);

  static TextDfa all(CompileBudget& budget);                             ///< every text
  static TextDfa literal(std::string_view text, CompileBudget& budget);  ///< one valid UTF-8 text
  /// The listed texts (valid UTF-8). The text with index i has the tag i; a text that occurs twice
  /// has the smaller tag.
  static TextDfa any_of(std::span<const std::string> texts, CompileBudget& budget);
  /// Every text in which `marker` occurs exactly once, at the end.
  static TextDfa until(std::string_view marker, CompileBudget& budget);
  /// Every text in which none of `markers` occurs.
  static TextDfa without(std::span<const std::string> markers, CompileBudget& budget);

  // Set operations. Tags: `intersected` and `without_texts_of` keep the tag of this language;
  // `united` keeps the tag of this language where both accept.
  TextDfa intersected(const TextDfa& other, CompileBudget& budget) const;
  TextDfa united(const TextDfa& other, CompileBudget& budget) const;
  TextDfa without_texts_of(const TextDfa& other, CompileBudget& budget) const;
  TextDfa complement(CompileBudget& budget) const;
  /// The texts with `low` to `high` code points; kInfinite is no upper limit.
  TextDfa with_length(std::uint64_t low, std::uint64_t high, CompileBudget& budget) const;
  /// Languages that read one after the other.
  TextDfa followed_by(const TextDfa& other, CompileBudget& budget) const;
  /// Combines several languages. The tag of an accepted text is the index in `sets` of the list of
  /// languages (by index, ascending) that accept it. Texts that none accepts are not in the result
  /// unless `keep_rest`; then their list is empty.
  static TextDfa tagged_by_membership(std::span<const TextDfa> languages, bool keep_rest,
                                      std::vector<std::vector<std::int32_t>>& sets,
                                      CompileBudget& budget);

  bool is_empty() const { return accepts_.empty(); }
  std::int32_t size() const { return static_cast<std::int32_t>(accepts_.size()); }
  static std::int32_t start() { return 0; }  ///< valid only if the language is not empty
  /// Returns the state after `c`, or kDead. `state` must be live.
  std::int32_t step(std::int32_t state, char32_t c) const;
  /// Returns whether a code point in [first, last] leads to a live state.
  bool has_step(std::int32_t state, char32_t first, char32_t last) const;
  /// The arcs of a state by ascending range; ranges that lead to kDead are absent.
  std::span<const Arc> arcs(std::int32_t state) const;
  bool accepts(std::int32_t state) const { return accepts_[static_cast<std::size_t>(state)] != 0; }
  std::int32_t tag(std::int32_t state) const { return tags_[static_cast<std::size_t>(state)]; }
  bool contains(std::string_view text) const;
  /// Code points of the shortest accepted rest of a text.
  std::uint64_t shortest(std::int32_t state) const {
    return shortest_[static_cast<std::size_t>(state)];
  }
  /// Code points of the longest accepted rest; kInfinite if there is no limit.
  std::uint64_t longest(std::int32_t state) const {
    return longest_[static_cast<std::size_t>(state)];
  }
  /// Number of accepted rests, below kInfinite also if the number is finite but larger.
  std::uint64_t count(std::int32_t state) const { return counts_[static_cast<std::size_t>(state)]; }
  /// Whether every text can follow and be continued to an accepted one.
  bool is_unrestricted(std::int32_t state) const {
    return is_unrestricted_[static_cast<std::size_t>(state)] != 0;
  }
  /// Whether from every state accepted rests of all lengths from `shortest` to `longest` exist.
  /// Then a caller can bound lengths with a counter instead of `with_length`.
  bool is_gapless() const { return is_gapless_; }
  /// Memory that the automaton uses, in bytes.
  std::size_t bytes() const;

 private:
  static constexpr std::uint8_t kNoColumn = 255;
  /// A larger table for ASCII would take more than 4 MB; then a step searches the arcs.
  static constexpr std::size_t kAsciiEntriesMax = 1'000'000;

  void append_arcs(const ClassDfa& dfa, CompileBudget& budget);
  void make_ascii_table(const ClassDfa& dfa);
  using Sources = std::vector<std::vector<std::int32_t>>;
  void analyse();
  Sources sources_of_states() const;
  std::vector<std::int32_t> acyclic_order(const Sources& sources) const;
  void measure_shortest(const Sources& sources);
  void find_unrestricted(const Sources& sources);
  void measure_rests(const std::vector<std::int32_t>& order);
  bool is_gapless_at(std::int32_t state) const;

  std::vector<std::uint32_t> first_arc_;  ///< [states + 1] index in arcs_
  std::vector<Arc> arcs_;
  /// [128] column of an ASCII character in ascii_; kNoColumn: no state has a step.
  std::array<std::uint8_t, 128> ascii_column_{};
  std::size_t ascii_columns_ = 0;
  std::vector<std::int32_t> ascii_;  ///< [states][ascii_columns_] next state; empty if too large
  std::vector<std::uint8_t> accepts_;
  std::vector<std::int32_t> tags_;
  std::vector<std::uint64_t> shortest_, longest_, counts_;
  std::vector<std::uint8_t> is_unrestricted_;
  bool is_gapless_ = true;
};

}  // namespace ingot
