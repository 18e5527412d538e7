// Checks for fuzz targets that bind a model: each part of each weight lies inside its tensor.
#pragma once

#include <cstdint>
#include <vector>

#include "base/check.h"
#include "base/error.h"
#include "base/index.h"
#include "base/text.h"
#include "model/bind.h"
#include "quant/formats.h"

namespace ingot::testing_fuzz {

/// Runs `work`. Only an Error whose message is printable may escape it.
template <class Work>
void expect_errors_only(const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    INGOT_CHECK(error.code() == ErrorCode::kModel, error.message());
    INGOT_CHECK(printable(error.message(), error.message().size() + 1) == error.message(),
                error.message());
  }
}

inline void check_weight(const BoundWeight& weight) {
  for (const BoundPart& part : weight.parts) {
    INGOT_CHECK(part.rows > 0 && part.cols > 0, part.tensor->name);
    const PartRows read = read_part(part);
    std::vector<float> row(to_size(part.cols));
    for (const std::int64_t r : {std::int64_t{0}, part.rows - 1}) {
      decode_row(read.view.format, read.view.row_data(r), part.cols, row.data());
    }
  }
  for (const BoundVector& bias : weight.biases) decode_vector(bias);
}

inline void check_table(const TensorInfo* tensor) {
  if (tensor != nullptr) decode_tensor(*tensor);
}

inline void check_norm(const BoundNorm& norm) {
  for (const TensorInfo* weight : norm.weights) check_table(weight);
  check_table(norm.bias);
}

inline void check_layer(const BoundLayer& layer) {
  for (const BoundNorms* norms : {&layer.attn_norms, &layer.ffn_norms}) {
    for (const BoundNorm* norm : {&norms->pre, &norms->out, &norms->post}) check_norm(*norm);
  }
  for (const BoundNorm* norm :
       {&layer.q_norm, &layer.k_norm, &layer.q_down_norm, &layer.kv_down_norm, &layer.input_norm}) {
    check_norm(*norm);
  }
  for (const BoundWeight* weight :
       {&layer.qkv, &layer.q_down, &layer.q_up, &layer.kv_down, &layer.attn_out, &layer.gate_up,
        &layer.down, &layer.router, &layer.shared_gate_up, &layer.shared_down, &layer.shared_router,
        &layer.input_gate, &layer.input_out}) {
    check_weight(*weight);
  }
  for (const auto* list : {&layer.k_up, &layer.v_up, &layer.expert_gate_up, &layer.expert_down}) {
    for (const BoundWeight& weight : *list) check_weight(weight);
  }
  for (const TensorInfo* table : {layer.sinks, layer.selection_bias, layer.scalar}) {
    check_table(table);
  }
}

/// Binds a model, and reads the first and last row of each part and all small tensors.
inline void use_model(const Checkpoint& model) {
  const BoundModel bound = bind_model(model);
  INGOT_CHECK(std::ssize(bound.layers) == bound.spec.layers, bound.layers.size());
  INGOT_CHECK(!to_string(bound.spec).empty());
  for (const BoundWeight* weight :
       {&bound.embedding, &bound.head, &bound.layer_embedding, &bound.layer_projection}) {
    check_weight(*weight);
  }
  for (const BoundWeight& weight : bound.dense) check_weight(weight);
  for (const BoundNorm* norm :
       {&bound.final_norm, &bound.embedding_norm, &bound.layer_projection_norm}) {
    check_norm(*norm);
  }
  for (const TensorInfo* table : {bound.positions, bound.types, bound.relative_bias}) {
    check_table(table);
  }
  for (const BoundLayer& layer : bound.layers) check_layer(layer);
}

}  // namespace ingot::testing_fuzz
