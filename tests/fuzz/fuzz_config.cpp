// Fuzz target: any bytes as config.json, a NUL, generation_config.json: an accepted pair can be
// computed with.
#include <cstddef>
#include <cstdint>

#include "load/hf/hf_fuzz_checks.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ingot::testing_hf::check_config({reinterpret_cast<const char*>(data), size});
  return 0;
}
