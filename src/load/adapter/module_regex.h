// ModuleRegex: a regular expression of an adapter's configuration, matched as PEFT does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "load/adapter/match_budget.h"

namespace ingot {

/// A compiled regular expression over module names. PCRE2 runs it with limits on steps and memory.
/// Immutable and movable.
class ModuleRegex {
 public:
  /// Compiles an expression that matches from a name's first byte on. Messages name `file` and
  /// `key`.
  ///
  /// Errors: model_error for an expression that is too long or that PCRE2 refuses.
  ModuleRegex(std::string_view expression, const std::string& file, std::string_view key);
  ModuleRegex(ModuleRegex&&) noexcept;
  ModuleRegex& operator=(ModuleRegex&&) noexcept;
  ~ModuleRegex();

  /// Returns whether a match ends at the end of `name`.
  ///
  /// Errors: model_error if the budget is used up or PCRE2 exceeds a limit.
  bool matches_all(std::string_view name, MatchBudget& budget) const;
  /// Returns the number that the first match captures with the group `idx`; nothing without it.
  ///
  /// Errors: those of `matches_all`.
  std::optional<std::int64_t> captured_index(std::string_view name, MatchBudget& budget) const;

 private:
  struct Compiled;
  bool match(std::string_view name, std::uint32_t options, MatchBudget& budget,
             std::string* captured) const;

  std::string source_;
  std::string file_;
  std::string key_;
  std::unique_ptr<const Compiled> compiled_;
};

/// Limit on the bytes of an expression. Long ones in real files list alternatives for 1,000 bytes.
inline constexpr std::size_t kModuleRegexBytesMax = 16'384;

}  // namespace ingot
