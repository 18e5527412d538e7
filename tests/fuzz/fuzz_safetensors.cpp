// Fuzz target: any bytes as safetensors files: an accepted one is covered exactly by its tensors.
#include <cstddef>
#include <cstdint>

#include "load/hf/hf_fuzz_checks.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ingot::testing_hf::check_safetensors({reinterpret_cast<const std::byte*>(data), size});
  return 0;
}
