// Formats: the languages of JSON Schema's `format` values.
#pragma once

#include <optional>
#include <string_view>

#include "constraint/language/text_dfa.h"

namespace ingot {

/// Returns the texts of a format of JSON Schema 2020-12 (date-time, date, time, duration, email,
/// idn-email, hostname, idn-hostname, ipv4, ipv6, uri, uri-reference, iri, iri-reference,
/// uri-template, uuid, json-pointer, relative-json-pointer, regex); nothing for a name that is no
/// such format: the specification makes it an annotation. Where a format is not regular, the
/// language is a regular subset: host names without Punycode, regular expressions with two levels
/// of groups, leap seconds at offsets of half hours. The cost for the budget is one step for each
/// state.
///
/// Errors: those of TextDfa.
std::optional<TextDfa> format_language(std::string_view format, CompileBudget& budget);

}  // namespace ingot
