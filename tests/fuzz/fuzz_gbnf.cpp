// Fuzz target: any text as a grammar in GBNF and in Lark's notation, and a walk through its texts,
// which meets no dead end.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "base/utf8.h"
#include "constraint/constraint_fuzz_checks.h"
#include "constraint/lark.h"

namespace {

void walk_grammar(std::string grammar, std::string_view choices) {
  const auto constraint = ingot::testing::compile_or_refuse(
      {.form = ingot::ConstraintSpec::Gbnf{std::move(grammar)}, .name = "grammar"});
  if (!constraint) return;
  const auto walked = ingot::testing::FuzzWalk(constraint->grammar).run(choices);
  INGOT_CHECK(!walked.is_complete || ingot::is_utf8(walked.text), "a text that is not UTF-8");
}

/// Returns a Lark grammar as GBNF; nothing if it is refused.
std::optional<std::string> translated(std::string_view lark) {
  try {
    ingot::CompileBudget budget;
    return ingot::translate_lark(lark, budget).gbnf;
  } catch (const ingot::Error& error) {
    INGOT_CHECK(error.code() == ingot::ErrorCode::kInvalid, error.message());
    INGOT_CHECK(error.message().find('\n') == std::string::npos, error.message());
    return std::nullopt;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ingot::testing::FuzzInput input = ingot::testing::split_fuzz_input(data, size);
  walk_grammar(std::string(input.text), input.choices);
  if (auto grammar = translated(input.text)) walk_grammar(std::move(*grammar), input.choices);
  return 0;
}
