// Escapes and classes of regular expressions: \d, \u{...}, \p{...}, [...].
#pragma once

#include <optional>
#include <string_view>

#include "base/error.h"
#include "constraint/compile_budget.h"
#include "constraint/language/code_points.h"

namespace ingot {

/// A pattern while it is read.
struct PatternReader {
  std::string_view text;
  std::size_t at = 0;

  bool is_at_end() const { return at == text.size(); }
  /// Returns whether the rest begins with `token`.
  bool sees(std::string_view token) const { return text.substr(at).starts_with(token); }
  /// Reads `token` if the rest begins with it.
  bool skips(std::string_view token);
  /// Reads one code point. Errors: Error{kInvalid} at the end and for invalid UTF-8.
  char32_t next();
  [[noreturn]] void malformed(std::size_t byte, std::string_view reason) const;
  [[noreturn]] void unsupported(std::size_t byte, std::string_view what) const;
};

/// Reads what follows a backslash, outside of classes except for \b, \B and references.
CodePoints read_escape(PatternReader& reader);
/// Reads a class behind its '['.
CodePoints read_class(PatternReader& reader, CompileBudget& budget);

/// The characters that `.` matches: all but the four line ends.
CodePoints not_line_ends();
/// The characters of \w: ASCII letters, digits and _.
CodePoints word_characters();

/// Returns the characters with a Unicode property: "L", "Letter", "gc=Lu", "Script=Greek"; nothing
/// if the property is not known.
///
/// Source:  general categories from utf8proc.
std::optional<CodePoints> property_characters(std::string_view property);

}  // namespace ingot
