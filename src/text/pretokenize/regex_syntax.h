// Translates regular expressions of tokenizer.json from Oniguruma's syntax to PCRE2's.
#pragma once

#include <string>
#include <string_view>

namespace ingot {

/// Translates `source` from Oniguruma's Ruby syntax to a PCRE2 pattern for the options UTF, UCP and
/// MULTILINE, with LF as line end. Spells out classes that differ between the libraries (\w, \s,
/// scripts). Refuses all other constructs that differ or are unknown.
///
/// Errors:  model_error(file, ...) for a refused construct, with its name and its place.
/// Source:  Oniguruma's doc/RE and doc/SYNTAX.md; pcre2pattern(3).
std::string to_pcre2(std::string_view source, std::string_view file);

}  // namespace ingot
