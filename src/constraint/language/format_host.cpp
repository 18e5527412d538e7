// The formats for host names and mail addresses.
#include <string>

#include "base/text.h"
#include "constraint/language/format_parts.h"

namespace ingot {
namespace {

// Letters that are stable in host names, without letters that only some contexts allow (RFC 5892).
constexpr std::string_view kGreek = "\\u03AC-\\u03CE";
constexpr std::string_view kAlphabets =
    "\\u00DF-\\u00F6\\u00F8-\\u00FF\\u03AC-\\u03CE\\u0430-\\u045F\\u0F0B";
constexpr std::string_view kKanaAndHan = "\\u3041-\\u3096\\u30A1-\\u30FA\\u4E00-\\u9FFF";
constexpr std::string_view kSyllables = "\\u3005\\u3007\\u30FC\\uAC00-\\uD7A3";
constexpr std::string_view kSeparators = ".\\u3002\\uFF0E\\uFF61";

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

/// Labels of up to 11 characters of many alphabets, with characters that depend on their
/// neighbours.
std::string mixed_label_pattern() {
  const std::string plain = cat("A-Za-z0-9", kAlphabets, kKanaAndHan, kSyllables);
  const std::string in_context =
      cat("(?<=l)\\u00B7(?=l)|\\u0375(?=[", kGreek, "])|\\u30FB(?=[^", kSeparators, "]*[",
          kKanaAndHan, "])|(?<=[", kKanaAndHan, "][^", kSeparators, "]*)\\u30FB");
  const std::string end = cat("(?:[", plain, "]|", in_context, ")");
  return cat("(?:(?!..--)", end, "(?:(?:[", plain, "\\-]|", in_context, "){0,9}", end, ")?)");
}

/// Labels of Devanagari, in which joiners follow a virama, or of extended Arabic digits.
std::string other_label_pattern() {
  return "(?:(?:[\\u0905-\\u0914]|[\\u0915-\\u0939](?:\\u094D[\\u200C\\u200D]?|[\\u093E-\\u094C])?)"
         "{1,5}|[0-9\\u06F0-\\u06F9]{1,10})";
}

/// Names of one label that reads from right to left (RFC 5893): Hebrew or Arabic, with digits of
/// one kind. A non-joiner stands between letters that join on both sides.
std::string right_to_left_pattern() {
  const std::string hebrew = "[\\u05D0-\\u05EA]";
  const std::string arabic = "\\u0620-\\u063F\\u0641-\\u064A\\u06FD\\u06FE";
  const std::string joining = "[\\u0628\\u062A-\\u062E\\u0633-\\u063A\\u0641-\\u0647\\u064A]";
  const std::string letter = cat("(?:[", arabic, "]|(?<=", joining, ")\\u200C(?=", joining, "))");
  return cat(hebrew, "(?:", hebrew, "|(?<=", hebrew, ")[\\u05F3\\u05F4]){0,10}|[", arabic,
             "](?:(?:", letter, "|[\\u0660-\\u0669]){0,10}|(?:", letter,
             "|[\\u06F0-\\u06F9]){0,10})");
}

/// The domain of a mail address. A label of more than 40 characters is the last one, and of the
/// short forms of IPv6 those with at most one group behind "::" remain. So from each state texts of
/// all lengths follow, and a schema's bounds of the length cost nothing (TextDfa::is_gapless).
std::string mail_domain_pattern() {
  const std::string ascii = "A-Za-z0-9";
  const std::string group = "[0-9A-Fa-f]{1,4}";
  return cat("(?:(?:", label_pattern(ascii, 40), "\\.){0,3}", label_pattern(ascii, 63), R"(|\[(?:)",
             ipv4_pattern(), "|IPv6:(?:", group, "(?::", group, "){7}|(?:", group, "(?::", group,
             "){0,5})?::(?:", group, R"()?))\]))");
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
  // In Punycode 20 letters of alphabets, or 11 of any script, take at most 63 characters.
  const std::string label = cat("(?:", label_pattern(cat("A-Za-z0-9", kAlphabets), 20), "|",
                                mixed_label_pattern(), "|", other_label_pattern(), ")");
  return host_language(cat("[", kSeparators, "]"), label, budget)
      .with_length(1, 253, budget)
      .united(whole_pattern(right_to_left_pattern(), budget), budget);
}

TextDfa email_language(bool is_international, CompileBudget& budget) {
  const TextDfa at = TextDfa::literal("@", budget);
  TextDfa local = local_part("", 64, budget);
  TextDfa domain = whole_pattern(mail_domain_pattern(), budget);
  if (is_international) {
    // 64 octets before the @ and 63 in a label are 16 and 15 of the longest characters.
    local = local.united(local_part("\\u0080-\\u{10FFFF}", 16, budget), budget);
    const std::string label = label_pattern("A-Za-z0-9\\u0080-\\u{10FFFF}", 15);
    domain = domain.united(whole_pattern(joined(label, "\\.", 4), budget), budget);
  }
  return local.followed_by(at, budget).followed_by(domain, budget);
}

}  // namespace ingot
