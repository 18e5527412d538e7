// Formats: the languages of JSON Schema's `format` values.
#include "constraint/language/formats.h"

#include <array>
#include <mutex>

#include "base/text.h"
#include "constraint/language/format_parts.h"

namespace ingot {
namespace {

/// One format and how its language is made.
struct Format {
  std::string_view name;
  TextDfa (*make)(CompileBudget&);
};

constexpr std::string_view kJsonPointer = "(?:/(?:[^~/]|~[01])*)*";

constexpr std::array kFormats{
    Format{"date", [](CompileBudget& b) { return whole_pattern(date_pattern(), b); }},
    Format{"time", [](CompileBudget& b) { return whole_pattern(time_pattern(), b); }},
    Format{"date-time",
           [](CompileBudget& b) {
             return whole_pattern(cat(date_pattern(), "[Tt]", time_pattern()), b);
           }},
    Format{"duration", [](CompileBudget& b) { return whole_pattern(duration_pattern(), b); }},
    Format{"email", [](CompileBudget& b) { return email_language(false, b); }},
    Format{"idn-email", [](CompileBudget& b) { return email_language(true, b); }},
    Format{"hostname", hostname_language},
    Format{"idn-hostname", idn_hostname_language},
    Format{"ipv4", [](CompileBudget& b) { return whole_pattern(ipv4_pattern(), b); }},
    Format{"ipv6", [](CompileBudget& b) { return whole_pattern(ipv6_pattern(), b); }},
    Format{"uri", [](CompileBudget& b) { return whole_pattern(uri_pattern(false), b); }},
    Format{"uri-reference",
           [](CompileBudget& b) { return whole_pattern(uri_reference_pattern(false), b); }},
    Format{"iri", [](CompileBudget& b) { return whole_pattern(uri_pattern(true), b); }},
    Format{"iri-reference",
           [](CompileBudget& b) { return whole_pattern(uri_reference_pattern(true), b); }},
    Format{"uri-template",
           [](CompileBudget& b) { return whole_pattern(uri_template_pattern(), b); }},
    Format{"uuid",
           [](CompileBudget& b) {
             return whole_pattern("[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}", b);
           }},
    Format{"json-pointer", [](CompileBudget& b) { return whole_pattern(kJsonPointer, b); }},
    Format{"relative-json-pointer",
           [](CompileBudget& b) {
             return whole_pattern(cat("(?:0|[1-9]\\d*)(?:#|", kJsonPointer, ")"), b);
           }},
    Format{"regex", [](CompileBudget& b) { return whole_pattern(regex_pattern(), b); }},
};

/// Returns the language of a format. The first call for each format makes it, outside of any
/// request's budget: the cost does not depend on the request.
const TextDfa& language_of(std::size_t index) {
  static std::array<std::once_flag, kFormats.size()> flags;
  static std::array<TextDfa, kFormats.size()> languages;
  std::call_once(flags[index], [&] {
    CompileBudget budget(10 * CompileBudget::kStepsMax);
    languages[index] = kFormats[index].make(budget);
  });
  return languages[index];
}

}  // namespace

std::optional<TextDfa> format_language(std::string_view format, CompileBudget& budget) {
  for (std::size_t i = 0; i < kFormats.size(); ++i) {
    if (kFormats[i].name != format) continue;
    const TextDfa& language = language_of(i);
    budget.spend(static_cast<std::uint64_t>(language.size()));
    return language;
  }
  return {};
}

}  // namespace ingot
