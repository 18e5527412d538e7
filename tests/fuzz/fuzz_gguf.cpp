// Fuzz target: any bytes as a GGUF file are a model whose tensors lie in order inside them and
// whose parts are what its architecture needs, with a tokenizer that can be used, or an Error.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/error.h"
#include "load/gguf/gguf.h"
#include "load/gguf/gguf_file.h"
#include "load/gguf/gguf_metadata.h"
#include "load/gguf/gguf_tokenizer.h"
#include "model/bind.h"
#include "quant/formats.h"
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

void check_message(const Error& error) {
  INGOT_CHECK(error.code() == ErrorCode::kModel, error.message());
  INGOT_CHECK(printable(error.message(), error.message().size() + 1) == error.message(),
              error.message());
}

/// Runs `work`; the only thing that may escape it is an Error of a form that can be printed.
template <class Work>
void expect_errors_only(const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    check_message(error);
  }
}

/// Every part of a weight lies inside of its tensor.
void check_weight(const BoundWeight& weight) {
  for (const BoundPart& part : weight.parts) {
    INGOT_CHECK(part.rows > 0 && part.cols > 0, part.tensor->name);
    const PartRows read = read_part(part);
    std::vector<float> row(static_cast<std::size_t>(part.cols));
    for (const std::int64_t r : {std::int64_t{0}, part.rows - 1}) {
      decode_row(read.view.format, read.view.row_data(r), part.cols, row.data());
    }
  }
  for (const BoundVector& bias : weight.biases) decode_vector(bias);
}

void check_norm(const BoundNorm& norm) {
  for (const TensorInfo* weight : norm.weights) decode_tensor(*weight);
  if (norm.bias != nullptr) decode_tensor(*norm.bias);
}

void check_layer(const BoundLayer& layer) {
  for (const BoundNorms* norms : {&layer.attn_norms, &layer.ffn_norms}) {
    for (const BoundNorm* norm : {&norms->pre, &norms->out, &norms->post}) check_norm(*norm);
  }
  check_norm(layer.q_norm);
  check_norm(layer.k_norm);
  for (const BoundWeight* weight :
       {&layer.qkv, &layer.q_down, &layer.q_up, &layer.kv_down, &layer.attn_out, &layer.gate_up,
        &layer.down, &layer.router, &layer.shared_gate_up, &layer.shared_down, &layer.shared_router,
        &layer.input_gate, &layer.input_out}) {
    check_weight(*weight);
  }
  for (const auto* list : {&layer.k_up, &layer.v_up, &layer.expert_gate_up, &layer.expert_down}) {
    for (const BoundWeight& weight : *list) check_weight(weight);
  }
}

void use_model(const Checkpoint& model) {
  const BoundModel bound = bind_model(model);
  INGOT_CHECK(std::ssize(bound.layers) == bound.spec.layers, bound.layers.size());
  INGOT_CHECK(!to_string(bound.spec).empty());
  check_weight(bound.embedding);
  check_weight(bound.head);
  for (const BoundLayer& layer : bound.layers) check_layer(layer);
}

void open_model(std::span<const std::byte> bytes) {
  const std::unique_ptr<Checkpoint> model = open_gguf_bytes(bytes, "fuzz.gguf");
  check_places(bytes, model->tensors());
  for (const TensorInfo& t : model->tensors()) INGOT_CHECK(model->find(t.name) == &t, t.name);
  for (const auto& [key, value] : model->metadata()) {
    INGOT_CHECK(!value.dump().empty(), key);
  }
  validate_config(model->config(), "fuzz.gguf");
  use_model(*model);
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
  expect_errors_only([&] { open_model(bytes); });
  return 0;
}
