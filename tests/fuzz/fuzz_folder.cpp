// Fuzz target: any bytes as a Hugging Face folder are a model whose parts lie inside its tensors,
// or an Error. The bytes are config.json, a NUL, and model.safetensors.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "fuzz/bound_model_checks.h"
#include "load/hf/hf_config.h"
#include "load/hf/safetensors.h"

namespace {

using namespace ingot;

/// A folder's two files in memory.
class MemoryFolder final : public Checkpoint {
 public:
  MemoryFolder(std::string_view config, std::span<const std::byte> weights) {
    name_ = "fuzz";
    config_ = read_hf_config(parse_json(config, "config.json", "config", kHfConfigLimits),
                             "config.json", notes_);
    validate_config(config_, "config.json");
    tensors_ = std::move(parse_safetensors(weights, "model.safetensors").tensors);
    index_tensors();
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t nul = text.find('\0');
  if (nul == std::string_view::npos) return 0;
  const auto weights = std::as_bytes(std::span(data, size)).subspan(nul + 1);
  testing_fuzz::expect_errors_only(
      [&] { testing_fuzz::use_model(MemoryFolder(text.substr(0, nul), weights)); });
  return 0;
}
