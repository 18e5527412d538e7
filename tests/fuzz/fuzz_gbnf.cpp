// Fuzz target: any text as a GBNF grammar, and a walk through its texts, which meets no dead end.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "base/utf8.h"
#include "constraint/constraint_fuzz_checks.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ingot::testing::FuzzInput input = ingot::testing::split_fuzz_input(data, size);
  const auto constraint = ingot::testing::compile_or_refuse(
      {.form = ingot::ConstraintSpec::Gbnf{std::string(input.text)}, .name = "grammar"});
  if (!constraint) return 0;
  const auto walked = ingot::testing::FuzzWalk(constraint->grammar).run(input.choices);
  INGOT_CHECK(!walked.is_complete || ingot::is_utf8(walked.text), "a text that is not UTF-8");
  return 0;
}
