// The pattern of the format for regular expressions: those of ECMA-262 with few levels of groups.
#include <string>

#include "base/text.h"
#include "constraint/language/format_parts.h"

namespace ingot {
namespace {

/// Returns a pattern of `[`, items, `]`. Ranges are within the digits or the letters of one case.
std::string class_pattern(const std::string& escape) {
  std::string ranges;
  for (const std::string_view all : {"09", "az", "AZ"}) {
    for (char first = all[0]; first <= all[1]; ++first) {
      ranges += cat("|", first, "-[", first, "-", all[1], "]");
    }
  }
  return cat(R"(\[\^?-?(?:[^\\\]\[\-^])", "|", escape, ranges, R"()*-?\])");
}

/// Returns a pattern of *, +, ?, {n}, {n,} and {n,m} with n of one digit.
std::string quantifier_pattern() {
  std::string counts = R"(\d{1,3},?|\d,[1-9]\d{1,2})";
  for (char low = '0'; low <= '9'; ++low) counts += cat("|", low, ",[", low, "-9]");
  return cat(R"((?:[*+?]|\{(?:)", counts, R"()\})\??)");
}

}  // namespace

std::string regex_pattern() {
  const std::string escape =
      R"(\\(?:[dDwWsStnrvf\\^$.*+?()[\]{}|/]|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|)"
      R"(c[A-Za-z]|[pP]\{(?:L[ulmot]?|N[dlo]?|P|S|Z|M)\}))";
  const std::string quantifier = quantifier_pattern();
  const std::string atom =
      cat("(?:", escape, R"(|[^\\^$.*+?()[\]{}|]|\.|)", class_pattern(escape), ")");
  const std::string plain = cat("(?:", atom, "(?:", quantifier, R"()?|\^|\$|\\[bB])*)");
  std::string body = cat(plain, R"((?:\|)", plain, ")*");
  for (int depth = 0; depth < 2; ++depth) {
    const std::string group =
        cat(R"(\((?:\?:)?)", body, R"(\)(?:)", quantifier, R"()?|\(\?<?[=!])", body, R"(\))");
    body = cat("(?:", atom, "(?:", quantifier, R"()?|\^|\$|\\[bB]|\||)", group, ")*");
  }
  return body;
}

}  // namespace ingot
