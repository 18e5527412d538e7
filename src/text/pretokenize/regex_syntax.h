// Translates regular expressions from Oniguruma's syntax, which tokenizer.json uses, to PCRE2's.
#pragma once

#include <string>
#include <string_view>

namespace ingot {

/// The PCRE2 pattern (UTF, UCP, multi-line, LF ends lines) with the meaning that `source` has in
/// Oniguruma's Ruby syntax. Classes that differ between the two libraries (\w, \s, scripts) are
/// spelled out. Other differing or unknown constructs are refused.
///
/// Errors:  model_error(file, ...) that names the construct and its place.
/// Source:  Oniguruma's doc/RE and doc/SYNTAX.md; pcre2pattern(3).
std::string to_pcre2(std::string_view source, std::string_view file);

}  // namespace ingot
