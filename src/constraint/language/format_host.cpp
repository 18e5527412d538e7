// The formats for host names and mail addresses.
#include <string>

#include "base/text.h"
#include "constraint/language/format_parts.h"

namespace ingot {
namespace {

/// Lower-case letters that are stable in host names (RFC 5892) and read from left to right.
constexpr std::string_view kAlphabets =
    "\\u00DF-\\u00F6\\u00F8-\\u00FF\\u03AC-\\u03CE\\u0430-\\u045F";
constexpr std::string_view kSyllables =
    "\\u3005\\u3007\\u3041-\\u3096\\u30A1-\\u30FA\\u30FC\\u4E00-\\u9FFF\\uAC00-\\uD7A3";

/// Returns a pattern of labels of up to `length` characters, with hyphens inside.
std::string label_pattern(std::string_view characters, int length) {
  return cat("(?:(?!..--)[", characters, "](?:[", characters, "\\-]{0,", length - 2, "}[",
             characters, "])?)");
}

std::string joined(const std::string& label, std::string_view separator, int count_max) {
  return cat(label, "(?:", separator, label, "){0,", count_max - 1, "}");
}

TextDfa host_language(std::string_view separator, const std::string& short_label,
                      CompileBudget& budget) {
  const std::string ascii = "A-Za-z0-9";
  const std::string any =
      cat("(?:", label_pattern(ascii, 63), separator, "){0,3}", label_pattern(ascii, 61));
  const TextDfa few = whole_pattern(cat("(?:", any, "|", label_pattern(ascii, 63), ")"), budget);
  return few.united(whole_pattern(joined(short_label, separator, 10), budget), budget);
}

std::string address_literal() {
  return cat(R"(\[(?:)", ipv4_pattern(), "|IPv6:", ipv6_pattern(), R"()\])");
}

/// Returns what may stand before the @. `more` are characters beyond ASCII.
TextDfa local_part(std::string_view more, std::uint64_t length, CompileBudget& budget) {
  const std::string atom = cat("[A-Za-z0-9!#$%&'*+/=?^_`{|}~\\-", more, "]+");
  const std::string quoted = cat("\"(?:[ !#-[\\]-~", more, "]|\\\\[ -~])*\"");
  return whole_pattern(cat(atom, "(?:\\.", atom, ")*|", quoted), budget)
      .with_length(1, length, budget);
}

}  // namespace

TextDfa hostname_language(CompileBudget& budget) {
  return host_language("\\.", label_pattern("A-Za-z0-9", 24), budget);
}

TextDfa idn_hostname_language(CompileBudget& budget) {
  // In Punycode 20 letters of one alphabet, or 11 of any, take at most 63 characters.
  const std::string label = cat("(?:", label_pattern(cat("A-Za-z0-9", kAlphabets), 20), "|",
                                label_pattern(cat("A-Za-z0-9", kAlphabets, kSyllables), 11), ")");
  return host_language("[.\\u3002\\uFF0E\\uFF61]", label, budget).with_length(1, 253, budget);
}

TextDfa email_language(bool is_international, CompileBudget& budget) {
  const TextDfa at = TextDfa::literal("@", budget);
  TextDfa local = local_part("", 64, budget);
  TextDfa domain = hostname_language(budget);
  if (is_international) {
    // 64 octets before the @ and 63 in a label are 16 and 15 of the longest characters.
    local = local.united(local_part("\\u0080-\\u{10FFFF}", 16, budget), budget);
    const std::string label = label_pattern("A-Za-z0-9\\u0080-\\u{10FFFF}", 15);
    domain = domain.united(whole_pattern(joined(label, "\\.", 4), budget), budget);
  }
  domain = domain.united(whole_pattern(address_literal(), budget), budget);
  return local.followed_by(at, budget).followed_by(domain, budget);
}

}  // namespace ingot
