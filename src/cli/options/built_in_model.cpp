// The built-in model's file, included by the assembler: a C++ array of millions of numbers would
// take minutes to compile.
#include "cli/options/built_in_model.h"

asm(R"(
  .pushsection .rodata
  .balign 64
ingot_built_in_model_begin:
  .incbin ")" INGOT_BUILT_IN_MODEL R"("
ingot_built_in_model_end:
  .popsection
)");

extern "C" {
extern const std::byte ingot_built_in_model_begin[];
extern const std::byte ingot_built_in_model_end[];
}

namespace ingot {

std::span<const std::byte> built_in_model() {
  return {ingot_built_in_model_begin, ingot_built_in_model_end};
}

}  // namespace ingot
