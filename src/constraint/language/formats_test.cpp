// Tests of formats: the assertions of JSON-Schema-Test-Suite.
#include "constraint/language/formats.h"

#include <gtest/gtest.h>

#include <set>

#include "base/file.h"
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

TEST(Formats, KnowsNames) {
  CompileBudget budget;
  EXPECT_FALSE(format_language("unknown", budget).has_value());
  EXPECT_FALSE(format_language("", budget).has_value());
  if (std::getenv("V")) for (const char* name : {"date", "time", "date-time", "duration", "email", "idn-email", "hostname", "idn-hostname", "ipv4", "ipv6", "uri", "uri-reference", "iri", "iri-reference", "uri-template", "uuid", "json-pointer", "relative-json-pointer", "regex"}) {
    auto t0 = std::chrono::steady_clock::now();
    auto n = language(name).size();
    std::printf("%s %d %.1f ms %s\n", name, n, std::chrono::duration<double>(std::chrono::steady_clock::now() - t0).count()*1e3, language(name).example().c_str());
  }
}

}  // namespace
}  // namespace ingot
