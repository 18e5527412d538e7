// ModuleRegex: a regular expression of an adapter's configuration, matched as PEFT does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace ingot {

/// A compiled regular expression over module names. PCRE2 runs it with limits on time and memory.
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
  /// Errors: model_error if PCRE2 exceeds a limit.
  bool matches_all(std::string_view name) const;
  /// Returns the number that the first match captures with the group `idx`; nothing without it.
  ///
  /// Errors: those of `matches_all`.
  std::optional<std::int64_t> captured_index(std::string_view name) const;

 private:
  struct Compiled;
  bool match(std::string_view name, std::uint32_t options, std::string* captured) const;

  std::string source_;
  std::string file_;
  std::string key_;
  std::unique_ptr<const Compiled> compiled_;
};

/// Limit on the bytes of an expression. Long ones in real files list alternatives for 1,000 bytes.
inline constexpr std::size_t kModuleRegexBytesMax = 16'384;

/// A key of PEFT's rank_pattern or alpha_pattern: the end of a module's name, behind the name's
/// start or a dot, as a regular expression.
///
/// Source: peft/utils/other.py, get_pattern_key.
class ModuleKey {
 public:
  /// Errors: those of ModuleRegex.
  ModuleKey(std::string key, const std::string& file, std::string_view where);

  /// Errors: those of ModuleRegex::matches_all.
  bool matches(std::string_view name) const;
  /// Returns whether the key runs in PCRE2. Other keys only hold letters, digits, "_", "-" and
  /// dots, which match any character.
  bool is_regex() const { return regex_.has_value(); }

 private:
  std::string key_;
  std::optional<ModuleRegex> regex_;
};

}  // namespace ingot
