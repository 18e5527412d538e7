// Fuzz target: any text as a regular expression, and a walk through its texts. A text that the
// whole pattern matches is also found when the pattern is searched for.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "base/error.h"
#include "base/utf8.h"
#include "constraint/constraint_fuzz_checks.h"
#include "constraint/language/pattern.h"

namespace {

void check_search(const std::string& pattern, const std::string& text) {
  try {
    ingot::CompileBudget budget;
    const auto search = ingot::compile_pattern(pattern, ingot::Anchoring::kSearch, budget);
    INGOT_CHECK(search.contains(text), "not found: ", text);
  } catch (const ingot::Error& error) {
    INGOT_CHECK(error.code() == ingot::ErrorCode::kInvalid, error.message());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ingot::testing::FuzzInput input = ingot::testing::split_fuzz_input(data, size);
  const std::string pattern(input.text);
  const auto constraint = ingot::testing::compile_or_refuse(
      {.form = ingot::ConstraintSpec::Regex{pattern}, .name = "regex"});
  if (!constraint) return 0;
  const auto walked = ingot::testing::FuzzWalk(constraint->grammar).run(input.choices);
  if (!walked.is_complete) return 0;
  INGOT_CHECK(ingot::is_utf8(walked.text), "a text that is not UTF-8");
  check_search(pattern, walked.text);
  return 0;
}
