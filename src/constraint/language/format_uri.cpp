// Patterns of the formats for addresses of the network: URIs, IRIs, IP addresses.
#include <string>

#include "base/text.h"
#include "constraint/language/format_parts.h"

namespace ingot {
namespace {

constexpr std::string_view kPercent = "%[0-9A-Fa-f]{2}";
constexpr std::string_view kSubDelims = "!$&'()*+,;=";
/// Characters of IRIs beyond ASCII, as ranges of a class (RFC 3987: ucschar).
constexpr std::string_view kInternational =
    "\\u00A0-\\uD7FF\\uF900-\\uFDCF\\uFDF0-\\uFFEF"
    "\\u{10000}-\\u{1FFFD}\\u{20000}-\\u{2FFFD}\\u{30000}-\\u{3FFFD}\\u{40000}-\\u{4FFFD}"
    "\\u{50000}-\\u{5FFFD}\\u{60000}-\\u{6FFFD}\\u{70000}-\\u{7FFFD}\\u{80000}-\\u{8FFFD}"
    "\\u{90000}-\\u{9FFFD}\\u{A0000}-\\u{AFFFD}\\u{B0000}-\\u{BFFFD}\\u{C0000}-\\u{CFFFD}"
    "\\u{D0000}-\\u{DFFFD}\\u{E1000}-\\u{EFFFD}";
/// More characters of queries (RFC 3987: iprivate).
constexpr std::string_view kPrivate = "\\uE000-\\uF8FF\\u{F0000}-\\u{FFFFD}\\u{100000}-\\u{10FFFD}";

/// The parts of URIs or IRIs, named as in the grammar of RFC 3986.
struct UriParts {
  std::string segment_character, authority, path_abempty, path_absolute, query_and_fragment;
};

std::string any_of(std::string_view more, std::string_view unreserved) {
  return cat("(?:[", unreserved, kSubDelims, more, "]|", kPercent, ")");
}

UriParts uri_parts(bool is_international) {
  const std::string unreserved =
      cat("A-Za-z0-9._~\\-", is_international ? kInternational : std::string_view());
  const std::string address = cat(R"(\[(?:)", ipv6_pattern(),
                                  R"(|[vV][0-9A-Fa-f]+\.[A-Za-z0-9._~\-)", kSubDelims, R"(:]+)\])");
  UriParts parts;
  parts.segment_character = any_of(":@", unreserved);
  parts.authority = cat("(?:", any_of(":", unreserved), "*@)?(?:", address, "|",
                        any_of("", unreserved), "*)(?::\\d*)?");
  const std::string& c = parts.segment_character;
  parts.path_abempty = cat("(?:/", c, "*)*");
  parts.path_absolute = cat("/(?:", c, "+", parts.path_abempty, ")?");
  const std::string query =
      any_of(cat(":@/?", is_international ? kPrivate : std::string_view()), unreserved);
  const std::string fragment = any_of(":@/?", unreserved);
  parts.query_and_fragment = cat("(?:\\?", query, "*)?(?:#", fragment, "*)?");
  return parts;
}

std::string absolute_uri(const UriParts& parts) {
  return cat(R"([A-Za-z][A-Za-z0-9+.\-]*:(?://)", parts.authority, parts.path_abempty, "|",
             parts.path_absolute, "|", parts.segment_character, "+", parts.path_abempty, "|)",
             parts.query_and_fragment);
}

}  // namespace

std::string ipv4_pattern() {
  return R"((?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)\.){3}(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d))";
}

std::string ipv6_pattern() {
  const std::string group = "[0-9A-Fa-f]{1,4}";
  const std::string last = cat("(?:", group, ":", group, "|", ipv4_pattern(), ")");  // 32 bits
  std::string pattern = cat("(?:(?:", group, ":){6}", last);
  for (int before = 0; before <= 7; ++before) {
    // Groups before the "::", which stands for at least one group of zeros.
    const std::string head = before == 0 ? "" : cat(group, "(?::", group, "){", before - 1, "}");
    pattern += cat("|", head, "::");
    const int after = 7 - before;  // groups that may follow
    if (after >= 2)
      pattern += cat("(?:(?:", group, ":){0,", after - 2, "}", last, "|", group, ")?");
    if (after == 1) pattern += cat("(?:", group, ")?");
  }
  return pattern + ")";
}

std::string uri_pattern(bool is_international) { return absolute_uri(uri_parts(is_international)); }

std::string uri_reference_pattern(bool is_international) {
  const UriParts parts = uri_parts(is_international);
  const std::string& c = parts.segment_character;
  return cat("(?:", absolute_uri(parts), "|(?://", parts.authority, parts.path_abempty, "|",
             parts.path_absolute, "|(?:(?!:)", c, ")+", parts.path_abempty, "|)",
             parts.query_and_fragment, ")");
}

std::string uri_template_pattern() {
  const std::string literal =
      cat("(?:[!#$&-;=?-[\\]_a-z~", kInternational, kPrivate, "]|", kPercent, ")");
  const std::string character = cat("(?:[A-Za-z0-9_]|", kPercent, ")");
  const std::string variable = cat(character, "(?:\\.?", character, R"()*(?::[1-9]\d{0,3}|\*)?)");
  return cat("(?:", literal, R"(|\{[+#./;?&=,!@|]?)", variable, "(?:,", variable, R"()*\})*)");
}

}  // namespace ingot
