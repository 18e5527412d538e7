// Fuzz target: any text as a JSON schema, and a walk through its documents. Walks meet no dead end,
// and complete documents are JSON.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/check.h"
#include "base/error.h"
#include "constraint/constraint_fuzz_checks.h"
#include "load/json.h"

namespace {

std::optional<ingot::Json> read_json(std::string_view text) {
  try {
    return ingot::parse_json(text, "fuzz.json", "schema", {.depth_max = 300});
  } catch (const ingot::Error&) {
    return std::nullopt;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ingot::testing::FuzzInput input = ingot::testing::split_fuzz_input(data, size);
  const std::optional<ingot::Json> schema = read_json(input.text);
  if (!schema) return 0;
  bool strict_compiles = false;
  for (const bool is_strict : {true, false}) {
    const ingot::ConstraintSpec spec{
        .form = ingot::ConstraintSpec::JsonSchema{.schema = *schema, .is_strict = is_strict}};
    const auto constraint = ingot::testing::compile_or_refuse(spec);
    if (!constraint) {
      INGOT_CHECK(is_strict || !strict_compiles, "only the strict schema compiles");
      continue;
    }
    if (is_strict) {
      strict_compiles = true;
      INGOT_CHECK(constraint->notes.empty(), "a strict schema that is not enforced");
    }
    const auto walked = ingot::testing::FuzzWalk(constraint->grammar).run(input.choices);
    if (walked.is_complete) INGOT_CHECK(read_json(walked.text), "no JSON: ", walked.text);
  }
  return 0;
}
