// Fuzz target: any bytes as a GGUF file are a model whose tensors lie in order inside them, or an
// Error.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/error.h"
#include "load/gguf.h"
#include "load/gguf_file.h"

namespace {

using namespace ingot;

/// Tensors lie inside the file, one after the other, and are as large as their shape says.
void check_places(std::span<const std::byte> bytes, std::span<const TensorInfo> tensors) {
  std::uint64_t end = 0;
  for (const TensorInfo& t : tensors) {
    INGOT_CHECK(t.offset >= end && t.bytes <= bytes.size() && t.offset <= bytes.size() - t.bytes,
                t.name, " at ", t.offset, " with ", t.bytes, " bytes of ", bytes.size());
    INGOT_CHECK(t.data == bytes.data() + t.offset, t.name);
    INGOT_CHECK(t.elements() > 0 && t.format.has_value(), t.name);
    INGOT_CHECK(static_cast<std::uint64_t>(t.elements()) / 256 <= t.bytes, t.name);
    end = t.offset + t.bytes;
  }
}

void check_message(const Error& error) {
  INGOT_CHECK(error.code() == ErrorCode::kModel, error.message());
  INGOT_CHECK(printable(error.message(), error.message().size() + 1) == error.message(),
              error.message());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  try {
    // The structure alone: a mutation seldom leaves a complete model.
    const GgufFile file = parse_gguf(bytes, "fuzz.gguf");
    check_places(bytes, file.tensors);
    for (const GgufEntry& entry : file.entries) INGOT_CHECK(file.find(entry.key) == &entry);
    const std::unique_ptr<Checkpoint> model = open_gguf_bytes(bytes, "fuzz.gguf");
    check_places(bytes, model->tensors());
    for (const TensorInfo& t : model->tensors()) INGOT_CHECK(model->find(t.name) == &t, t.name);
    for (const auto& [key, value] : model->metadata()) {
      INGOT_CHECK(!value.dump().empty(), key);
    }
    validate_config(model->config(), "fuzz.gguf");
  } catch (const Error& error) {
    check_message(error);
  }
  return 0;
}
