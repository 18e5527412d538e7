// Regular expressions of tokenizer.json files, which are Oniguruma's, written for PCRE2.
#pragma once

#include <string>
#include <string_view>

namespace ingot {

/// The PCRE2 pattern (UTF, UCP, multi-line, LF ends lines) that means what Oniguruma's Ruby syntax
/// means by `source`. Classes that the two libraries draw otherwise (\w, \s, scripts) are spelled
/// out; everything that they read differently and is not translated is refused, as is what is not
/// known.
///
/// Errors:  model_error(file, ...) that names the construct and its place.
/// Source:  Oniguruma's doc/RE and doc/SYNTAX.md; pcre2pattern(3).
std::string to_pcre2(std::string_view source, std::string_view file);

}  // namespace ingot
