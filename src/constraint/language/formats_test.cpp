// Tests of formats: the assertions of JSON-Schema-Test-Suite, and texts that every format writes.
#include "constraint/language/formats.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <set>

#include "base/shared_data_test_util.h"
#include "base/text.h"
#include "constraint/language/language_test_util.h"
#include "constraint/language/pattern.h"
#include "load/json.h"

namespace ingot {
namespace {

TextDfa language(std::string_view format) {
  CompileBudget budget;
  return format_language(format, budget).value();
}

/// Valid texts that the languages leave out, because the whole format is not regular.
const std::set<std::string>& left_out() {
  static const std::set<std::string> texts{
      // Host names in Punycode.
      "xn--9n2bp8q.xn--9t4b11yi5a", "xn--zca29lwxobi7a", "xn--qmbc", "xn--ll-0ea", "xn--wva3je",
      "xn--4dbc5h", "xn--4dbc8h", "xn--k8j5u", "xn--bck0j", "xn--vek778f", "xn--ngba1o",
      "xn--0-gyc", "xn--11b2ezcw70k", "xn--11b2ezcs70k", "xn--ngba5hb2804a",
      "xn--ihqwcrb4cv8a8dqg056pqjye",
      // A label whose Punycode is short only because its letters repeat.
      "παράδειγμαπαράδειγμαπαράδειγμαπαράδειγμαπαράδειγμαπα.com",
      "παράδειγμαπαράδειγμαπαράδειγμαπαράδειγμαπαράδειγμαπα。com",
      "παράδειγμαπαράδειγμαπαράδειγμαπαράδειγμαπαράδειγμαπα．com",
      "παράδειγμαπαράδειγμαπαράδειγμαπαράδειγμαπαράδειγμαπα｡com",
      // Regular expressions with named groups: a name may occur once, and references need it.
      "(?<name>x)", "(?<n>a)\\k<n>"};
  return texts;
}

/// Returns a schema's format if the schema checks nothing else.
const std::string* format_of(const Json& group) {
  const Json* schema = group.find("schema");
  return schema == nullptr ? nullptr : schema->find_string("format");
}

/// Compares a language with the suite's verdicts on strings. Returns the number of comparisons.
int check_group(const Json& group, const std::string& file) {
  CompileBudget budget;
  const std::string* format = format_of(group);
  if (format == nullptr) return 0;
  const std::optional<TextDfa> found = format_language(*format, budget);
  if (!found) return 0;
  int compared = 0;
  for (const Json& test : *group.find("tests")->as_array()) {
    const std::string* text = test.find("data")->as_string();
    if (text == nullptr) continue;
    ++compared;
    const bool is_valid = *test.find("valid")->as_bool();
    const bool is_left_out = is_valid && left_out().count(*text) != 0;
    EXPECT_EQ(found->contains(*text), is_valid && !is_left_out)
        << file << ": " << *test.find_string("description") << ": " << *text;
  }
  return compared;
}

TEST(Formats, AgreeWithTheTestSuite) {
  int compared = 0;
  for (const char* draft : {"draft2020-12", "draft7"}) {
    const std::string folder =
        cat("data/json/JSON-Schema-Test-Suite/tests/", draft, "/optional/format");
    INGOT_NEEDS_SHARED(folder);
    for (const std::filesystem::path& path : shared_entries(folder)) {
      std::ifstream file(path);
      const std::string text{std::istreambuf_iterator<char>(file), {}};
      const Json groups = parse_json(text, path.filename().string(), "suite");
      for (const Json& group : *groups.as_array()) compared += check_group(group, path.filename());
    }
  }
  EXPECT_GT(compared, 1000);
}

TEST(Formats, LeavesUnknownNamesAlone) {
  CompileBudget budget;
  EXPECT_FALSE(format_language("unknown", budget).has_value());
  EXPECT_FALSE(format_language("", budget).has_value());
}

TEST(Formats, SpendsAlwaysTheSame) {
  CompileBudget first, second;
  (void)format_language("date-time", first);
  (void)format_language("date-time", second);
  EXPECT_EQ(first.left(), second.left());
  EXPECT_LT(first.left(), CompileBudget::kStepsMax);
  CompileBudget small(10);
  EXPECT_THROW((void)format_language("date-time", small), Error);
}

TEST(Formats, DatesHaveDaysOfTheirMonths) {
  const TextDfa date = language("date");
  EXPECT_EQ(date.count(TextDfa::start()), 10'000U / 400 * 146'097 - 366);  // days of 25 cycles
}

TEST(Formats, LengthsCanBeCounted) {
  for (const char* format : {"email", "uri", "uri-reference", "iri", "uuid", "date", "ipv4"}) {
    EXPECT_TRUE(language(format).is_gapless()) << format;
  }
  EXPECT_LE(language("email").longest(TextDfa::start()), 254U);
  EXPECT_LE(language("hostname").longest(TextDfa::start()), 253U);
}

TEST(Formats, EveryRegexCompiles) {
  const TextDfa regex = language("regex");
  std::mt19937_64 random(3);
  for (std::size_t i = 0; i < 150; ++i) {
    const std::string text = random_text(regex, below(random, 30), random);
    CompileBudget budget;
    try {
      (void)compile_pattern(text, Anchoring::kSearch, budget);
    } catch (const Error& error) {
      const bool is_limit = error.message().find("is malformed") == std::string::npos;
      EXPECT_TRUE(is_limit) << text << ": " << error.message();
    }
  }
}

}  // namespace
}  // namespace ingot
