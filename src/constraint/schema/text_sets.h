// TextSets: sets of strings by index, for property names and string values of a schema.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "constraint/language/text_dfa.h"

namespace ingot::schema {

/// Index of a set in TextSets.
using TextSetId = std::int32_t;

/// Sets of texts. A set is a finite list of texts, all texts but those of a list, or a regular
/// language. Lists stay lists as long as possible, because schemas have long enumerations.
class TextSets {
 public:
  static constexpr TextSetId kAll = 0;
  static constexpr TextSetId kNone = 1;

  explicit TextSets(CompileBudget& budget);

  /// The set of `texts`. The texts must be valid UTF-8.
  TextSetId of_texts(std::vector<std::string> texts);
  /// The set of a pattern (JSON Schema's `pattern`) or of a known format.
  ///
  /// Errors: those of compile_pattern and format_language.
  TextSetId of_pattern(const std::string& pattern);
  /// Returns kAll for a format that is not known.
  TextSetId of_format(const std::string& format);

  TextSetId intersected(TextSetId a, TextSetId b);
  TextSetId united(TextSetId a, TextSetId b);
  TextSetId complement(TextSetId a);
  TextSetId without(TextSetId a, TextSetId b) { return intersected(a, complement(b)); }
  /// The texts of `a` with `low` to `high` code points.
  TextSetId with_length(TextSetId a, std::uint64_t low, std::uint64_t high);

  bool is_empty(TextSetId a);
  bool contains(TextSetId a, std::string_view text) const;
  /// The texts of a finite list; null for all other sets.
  const std::vector<std::string>* texts(TextSetId a) const;
  /// The set as an automaton.
  const TextDfa& language(TextSetId a);

 private:
  enum class Kind { kTexts, kAllBut, kLanguage };
  struct Set {
    Kind kind = Kind::kTexts;
    std::vector<std::string> texts;  ///< ascending
    std::shared_ptr<const TextDfa> language;
  };

  TextSetId add_list(Kind kind, std::vector<std::string> texts);
  TextSetId add_language(TextDfa language);
  TextDfa compiled(const std::string& pattern);
  TextSetId combine(char operation, TextSetId a, TextSetId b);
  TextSetId intersected_lists(const Set& a, const Set& b);

  CompileBudget& budget_;
  std::vector<Set> sets_;
  std::map<std::pair<bool, std::vector<std::string>>, TextSetId> by_list_;
  std::map<std::string, TextSetId, std::less<>> by_source_;
  std::map<std::tuple<char, TextSetId, TextSetId>, TextSetId> by_operation_;
};

}  // namespace ingot::schema
