// Fuzz target: any bytes as model.safetensors.index.json: an accepted one names no file outside of
// its folder.
#include <cstddef>
#include <cstdint>

#include "load/hf/hf_fuzz_checks.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ingot::testing_hf::check_index({reinterpret_cast<const char*>(data), size});
  return 0;
}
