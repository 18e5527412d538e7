// Unicode properties of regular expressions: \p{...}.
#include <utf8proc.h>

#include <array>
#include <utility>

#include "constraint/language/pattern_escape.h"

namespace ingot {
namespace {

constexpr std::size_t kCategories = 30;

/// The names of the general categories, in the order of utf8proc's numbers.
struct CategoryName {
  std::string_view brief;
  std::string_view full;
};
constexpr std::array<CategoryName, kCategories> kNames{{{"Cn", "Unassigned"},
                                                        {"Lu", "Uppercase_Letter"},
                                                        {"Ll", "Lowercase_Letter"},
                                                        {"Lt", "Titlecase_Letter"},
                                                        {"Lm", "Modifier_Letter"},
                                                        {"Lo", "Other_Letter"},
                                                        {"Mn", "Nonspacing_Mark"},
                                                        {"Mc", "Spacing_Mark"},
                                                        {"Me", "Enclosing_Mark"},
                                                        {"Nd", "Decimal_Number"},
                                                        {"Nl", "Letter_Number"},
                                                        {"No", "Other_Number"},
                                                        {"Pc", "Connector_Punctuation"},
                                                        {"Pd", "Dash_Punctuation"},
                                                        {"Ps", "Open_Punctuation"},
                                                        {"Pe", "Close_Punctuation"},
                                                        {"Pi", "Initial_Punctuation"},
                                                        {"Pf", "Final_Punctuation"},
                                                        {"Po", "Other_Punctuation"},
                                                        {"Sm", "Math_Symbol"},
                                                        {"Sc", "Currency_Symbol"},
                                                        {"Sk", "Modifier_Symbol"},
                                                        {"So", "Other_Symbol"},
                                                        {"Zs", "Space_Separator"},
                                                        {"Zl", "Line_Separator"},
                                                        {"Zp", "Paragraph_Separator"},
                                                        {"Cc", "Control"},
                                                        {"Cf", "Format"},
                                                        {"Cs", "Surrogate"},
                                                        {"Co", "Private_Use"}}};

/// Names of groups of categories, which share a first letter, and other names of categories.
constexpr std::array<CategoryName, 13> kAliases{{{"L", "Letter"},
                                                 {"M", "Mark"},
                                                 {"M", "Combining_Mark"},
                                                 {"N", "Number"},
                                                 {"P", "Punctuation"},
                                                 {"P", "punct"},
                                                 {"S", "Symbol"},
                                                 {"Z", "Separator"},
                                                 {"C", "Other"},
                                                 {"Nd", "digit"},
                                                 {"Cc", "cntrl"},
                                                 {"", "Any"},
                                                 {"LC", "Cased_Letter"}}};

using CategorySets = std::array<std::vector<CodePointRange>, kCategories>;

/// Returns the ranges of each category. The first call reads all code points.
const CategorySets& category_sets() {
  static const CategorySets sets = [] {
    CategorySets found;
    for (char32_t c = 0; c <= CodePoints::kLast; ++c) {
      const auto category =
          static_cast<std::size_t>(utf8proc_category(static_cast<utf8proc_int32_t>(c)));
      std::vector<CodePointRange>& ranges = found[category];
      if (!ranges.empty() && ranges.back().last + 1 == c) {
        ranges.back().last = c;
      } else {
        ranges.push_back({c, c});
      }
    }
    return found;
  }();
  return sets;
}

/// Returns the characters of the categories whose short names begin with `prefix`.
CodePoints categories(std::string_view prefix) {
  std::vector<CodePointRange> ranges;
  for (std::size_t i = 0; i < kCategories; ++i) {
    const std::string_view name = kNames[i].brief;
    const bool is_cased = prefix == "LC" && (name == "Lu" || name == "Ll" || name == "Lt");
    if (!is_cased && !name.starts_with(prefix)) continue;
    const std::vector<CodePointRange>& more = category_sets()[i];
    ranges.insert(ranges.end(), more.begin(), more.end());
  }
  return CodePoints(std::move(ranges));
}

std::optional<CodePoints> general_category(std::string_view name) {
  for (const CategoryName& category : kNames) {
    if (name == category.brief || name == category.full) return categories(category.brief);
  }
  for (const CategoryName& alias : kAliases) {
    if (name == alias.full || (name == alias.brief && !name.empty())) {
      return categories(alias.brief);
    }
  }
  return {};
}

}  // namespace

std::optional<CodePoints> property_characters(std::string_view property) {
  for (const std::string_view prefix : {"gc=", "General_Category="}) {
    if (property.starts_with(prefix)) return general_category(property.substr(prefix.size()));
  }
  if (property == "ASCII") return CodePoints({{0, 0x7F}});
  if (property == "ASCII_Hex_Digit" || property == "AHex") {
    return CodePoints({{'0', '9'}, {'A', 'F'}, {'a', 'f'}});
  }
  if (property == "Assigned") return categories("Cn").complement();
  return general_category(property);
}

}  // namespace ingot
