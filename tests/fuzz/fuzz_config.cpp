// Fuzz target: any bytes as config.json, a NUL, generation_config.json, and as the files of a
// sentence-transformers folder. What the parsers accept is usable.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "load/hf/hf_fuzz_checks.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  ingot::testing_hf::check_config(text);
  ingot::testing_hf::check_embedder(text);
  return 0;
}
