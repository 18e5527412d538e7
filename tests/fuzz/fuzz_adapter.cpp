// Fuzz target: any bytes as an adapter are pairs that a model takes or refuses, or an Error. The
// bytes are a GGUF file, or adapter_config.json, a NUL, and adapter_model.safetensors.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "fuzz/bound_model_checks.h"
#include "load/adapter/adapter_file.h"
#include "load/gguf/gguf.h"
#include "load/gguf/gguf_writer_test_util.h"
#include "model/adapter.h"
#include "model/model.h"
#include "support/stub_backend.h"

namespace {

using namespace ingot;

/// The targets of a small model of one layer.
AdapterTargets small_targets() {
  const std::string bytes = testing_gguf::tiny_model().build();
  const auto checkpoint = open_gguf_bytes(std::as_bytes(std::span(bytes)), "tiny");
  return {bind_model(*checkpoint), Naming::kGguf, ModelOptions{}};
}

void use_adapter(const AdapterFile& file) {
  static const AdapterTargets targets = small_targets();
  testing_support::StubBackend backend;
  load_adapter(file, targets, backend);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto bytes = std::as_bytes(std::span(data, size));
  const std::size_t nul = text.find('\0');
  testing_fuzz::expect_errors_only([&] {
    if (text.starts_with("GGUF")) return use_adapter(read_gguf_adapter(bytes, "fuzz"));
    if (nul == std::string_view::npos) return;
    use_adapter(read_peft_adapter(text.substr(0, nul), bytes.subspan(nul + 1), "fuzz"));
  });
  return 0;
}
