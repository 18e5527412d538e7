// The languages of single formats, and patterns that several of them share.
#pragma once

#include <string>
#include <string_view>

#include "constraint/language/pattern.h"
#include "constraint/language/text_dfa.h"

namespace ingot {

/// Compiles a pattern that describes whole texts.
inline TextDfa whole_pattern(std::string_view pattern, CompileBudget& budget) {
  return compile_pattern(pattern, Anchoring::kWhole, budget);
}

std::string date_pattern();      ///< 2024-02-29 (RFC 3339)
std::string time_pattern();      ///< 23:59:60.5+00:00 (RFC 3339)
std::string duration_pattern();  ///< P1DT12H (RFC 3339, appendix A)
std::string ipv4_pattern();      ///< 127.0.0.1 (RFC 2673)
std::string ipv6_pattern();      ///< ::ffff:127.0.0.1 (RFC 4291)

/// A URI with a scheme (RFC 3986). International: an IRI (RFC 3987).
std::string uri_pattern(bool is_international);
/// A URI or a relative reference.
std::string uri_reference_pattern(bool is_international);
/// Text with expressions in braces (RFC 6570).
std::string uri_template_pattern();

/// Host names of at most 253 characters with labels of at most 63. So that the automaton stays
/// small, a name has up to 4 labels of any length, or up to 10 of at most 24. Labels with "--" at
/// the third place are left out: whether the rest of such a label is valid is not regular.
///
/// Source:  RFC 1123, RFC 5890.
TextDfa hostname_language(CompileBudget& budget);
/// Adds labels of lower-case Latin, Greek, Cyrillic, Han, Kana and Hangul letters.
TextDfa idn_hostname_language(CompileBudget& budget);
/// Addresses of at most 254 characters (international: 318) with dot-atoms or quoted strings before
/// the @, and host names or addresses in brackets behind it.
///
/// Source:  RFC 5321, RFC 6531 (international).
TextDfa email_language(bool is_international, CompileBudget& budget);

/// Regular expressions whose groups are nested at most 2 deep.
std::string regex_pattern();

}  // namespace ingot
