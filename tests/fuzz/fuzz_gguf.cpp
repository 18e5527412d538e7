// Fuzz target: any bytes as a GGUF file are a model whose tensors lie in order inside them and
// whose parts are what its architecture needs, with a tokenizer that can be used, or an Error.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/check.h"
#include "fuzz/bound_model_checks.h"
#include "load/gguf/gguf.h"
#include "load/gguf/gguf_file.h"
#include "load/gguf/gguf_metadata.h"
#include "load/gguf/gguf_tokenizer.h"
#include "text/tokenizer/tokenizer_fuzz_checks.h"

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

void open_model(std::span<const std::byte> bytes) {
  const std::unique_ptr<Checkpoint> model = open_gguf_bytes(bytes, "fuzz.gguf");
  check_places(bytes, model->tensors());
  for (const TensorInfo& t : model->tensors()) INGOT_CHECK(model->find(t.name) == &t, t.name);
  for (const auto& [key, value] : model->metadata()) {
    INGOT_CHECK(!value.dump().empty(), key);
  }
  validate_config(model->config(), "fuzz.gguf");
  testing_fuzz::use_model(*model);
}

/// The structure and the tokenizer alone: a mutation seldom leaves a complete model.
void open_parts(std::span<const std::byte> bytes) {
  const GgufFile file = parse_gguf(bytes, "fuzz.gguf");
  check_places(bytes, file.tensors);
  for (const GgufEntry& entry : file.entries) INGOT_CHECK(file.find(entry.key) == &entry);
  GgufKeys keys(file);
  if (const auto data = gguf_tokenizer(keys)) testing::use_tokenizer(*data);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  // A tokenizer's own limits are errors of the text that meets them.
  testing::expect_errors_only([&] { open_parts(bytes); });
  testing_fuzz::expect_errors_only([&] { open_model(bytes); });
  return 0;
}
