// ModuleKeys: finds which key of PEFT's rank_pattern or alpha_pattern a module has.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "load/adapter/match_budget.h"
#include "load/adapter/module_regex.h"

namespace ingot {

/// Calls `visit` with a name and then with each end of the name that follows a dot, until a call
/// returns true. Returns whether one did.
template <class Visit>
bool any_ending(std::string_view name, Visit visit) {
  if (visit(name)) return true;
  for (std::size_t at = name.find('.'); at != std::string_view::npos; at = name.find('.', at + 1)) {
    if (visit(name.substr(at + 1))) return true;
  }
  return false;
}

/// Keys in order. A key is the end of a module's name, behind the name's start or a dot, as a
/// regular expression.
///
/// Keys of letters, digits, "_", "-" and dots are indexed: a module costs no comparison with each
/// of them. Such a key behind "^" is a whole name, and is indexed too. Others run in PCRE2.
///
/// Source: peft/utils/other.py, get_pattern_key.
class ModuleKeys {
 public:
  /// Messages name `file` and `where`.
  ModuleKeys(std::string file, std::string where)
      : file_(std::move(file)), where_(std::move(where)) {}
  ModuleKeys() = default;

  /// Adds a key behind the others.
  ///
  /// Errors: those of ModuleRegex.
  void add(const std::string& key);
  /// Returns the index of the first key that matches a module; nothing if none does.
  ///
  /// Errors: model_error if the budget is used up; those of ModuleRegex::matches_all.
  std::optional<std::size_t> first_match(std::string_view module, MatchBudget& budget) const;
  /// Returns how many keys run in PCRE2.
  std::size_t regexes() const { return regexes_.size(); }

 private:
  /// The index of a key by its text.
  using Indices = std::map<std::string, std::size_t, std::less<>>;
  /// Keys without PCRE2, by their length and by where they have dots, which match any character.
  /// The second map's key has an "x" for each other character.
  using PlainKeys = std::map<std::size_t, std::map<std::string, Indices>>;

  std::size_t first_plain(const PlainKeys& keys, std::string_view end, MatchBudget& budget) const;

  std::string file_;
  std::string where_;
  std::size_t keys_ = 0;
  PlainKeys ends_;
  PlainKeys whole_;                                           ///< keys behind "^", without it
  std::vector<std::pair<std::size_t, ModuleRegex>> regexes_;  ///< by ascending index
};

}  // namespace ingot
