// Computes StepCost: the bytes that a step reads, and its arithmetic operations.
#include "model/step_cost.h"

#include <algorithm>
#include <utility>

#include "quant/formats.h"

namespace ingot {

namespace {

double held_bytes(const Weight& w) {
  std::int64_t bytes = w.bias.buffer.bytes();
  for (const Segment& s : w.segments) bytes += s.units * s.unit_bytes;
  return static_cast<double>(bytes);
}

/// The cost of a linear over `rows` rows. Its weight is read once.
StepCost linear_cost(const Weight& w, double rows) {
  StepCost cost{.bytes = held_bytes(w)};
  for (const Segment& s : w.segments) {
    const double ops = 2 * static_cast<double>(s.rows * w.cols) * rows;
    double& sum = s.format == BF16::kFormat     ? cost.bf16_ops
                  : format_info(s.format).dense ? cost.f32_ops
                                                : cost.int8_ops;
    sum += ops;
  }
  return cost;
}

/// The cost of a linear that multiplies BF16 weights in float32: of a router or an adapter.
StepCost widened_cost(const Weight& w, double rows) {
  StepCost cost = linear_cost(w, rows);
  cost.f32_ops += std::exchange(cost.bf16_ops, 0);
  return cost;
}

/// The cost of `routed_rows` rows in experts of equal shape, of which `read` experts are read.
StepCost experts_cost(std::span<const Weight> experts, double read, double routed_rows) {
  StepCost one;
  for (const Weight& w : experts) one += linear_cost(w, 1);
  const auto count = static_cast<double>(experts.size());
  return {.bytes = one.bytes * read / count,
          .int8_ops = one.int8_ops * routed_rows / count,
          .bf16_ops = one.bf16_ops * routed_rows / count,
          .f32_ops = one.f32_ops * routed_rows / count};
}

/// The cost of the linears before and after a layer's attention. A layer lacks some of them.
StepCost projections_cost(const Layer& layer, double rows) {
  StepCost cost;
  for (const Weight* w : {&layer.qkv, &layer.q_down, &layer.q_up, &layer.kv_down, &layer.attn_out,
                          &layer.input_gate, &layer.input_out}) {
    cost += linear_cost(*w, rows);
  }
  for (const auto* heads : {&layer.k_up, &layer.v_up}) {
    for (const Weight& w : *heads) cost += linear_cost(w, rows);
  }
  return cost;
}

StepCost feed_forward_cost(const Layer& layer, const Moe& moe, double rows) {
  StepCost cost;
  if (!layer.router) {
    cost += linear_cost(layer.gate_up, rows);
    cost += linear_cost(layer.down, rows);
    return cost;
  }
  const double routed_rows = rows * moe.used;
  const double read = std::min<double>(moe.experts, routed_rows);
  cost += experts_cost(layer.expert_gate_up, read, routed_rows);
  cost += experts_cost(layer.expert_down, read, routed_rows);
  for (const Weight* w : {&layer.router, &layer.shared_router}) cost += widened_cost(*w, rows);
  for (const Weight* w : {&layer.shared_gate_up, &layer.shared_down}) cost += linear_cost(*w, rows);
  return cost;
}

/// The keys that a row sees: [first, last).
struct Seen {
  std::int64_t first = 0;
  std::int64_t last = 0;
};

Seen keys_of(const Attention& a, std::int64_t key, std::int64_t kv_len) {
  Seen seen{.first = 0, .last = a.causal ? key + 1 : kv_len};
  if (a.window == 0) return seen;
  seen.first = std::max<std::int64_t>(0, key - a.window + 1);
  if (!a.causal) seen.last = std::min(kv_len, key + a.window);
  return seen;
}

StepCost attention_cost(const Attention& a, const KvCost& kv, const SequenceRows& part) {
  double pairs = 0;
  const std::int64_t first_key = part.kv_len - part.rows;
  for (std::int64_t key = first_key; key < part.kv_len; ++key) {
    const Seen seen = keys_of(a, key, part.kv_len);
    pairs += static_cast<double>(seen.last - seen.first);
  }
  // The intervals of neighbouring rows overlap or touch, so together they are one interval.
  const std::int64_t keys = part.kv_len - keys_of(a, first_key, part.kv_len).first;
  const double ops = 2.0 * (a.head_dim + a.v_dim()) * a.heads * pairs;
  const bool floats = kv.type == KvType::kF32 || kv.type == KvType::kF16;
  return {.bytes = static_cast<double>(keys * kv.token_bytes),
          .int8_ops = kv.type == KvType::kInt8 ? ops : 0,
          .bf16_ops = kv.type == KvType::kBF16 ? ops : 0,
          .f32_ops = floats ? ops : 0};
}

/// The bytes of the rows that tokens look up in an embedding matrix.
double looked_up_bytes(const Weight& embedding, double rows) {
  return held_bytes(embedding) * rows / static_cast<double>(embedding.rows);
}

StepCost ends_cost(const Model& m, double rows, double outputs) {
  StepCost cost;
  for (const Tensor& t : m.vectors) cost.bytes += static_cast<double>(t.buffer.bytes());
  if (outputs > 0 && m.head() != nullptr) cost += linear_cost(*m.head(), outputs);
  const bool read_as_head = outputs > 0 && m.head() == &m.embedding;
  if (m.embedding && !read_as_head) {
    cost.bytes += looked_up_bytes(m.embedding, rows);
  }
  if (m.layer_embedding) {
    cost.bytes += looked_up_bytes(m.layer_embedding, rows);
    cost += linear_cost(m.layer_projection, rows);
  }
  return cost;
}

/// The rows of a step that have an adapter.
struct AdapterRows {
  const AdapterWeights* adapter = nullptr;
  double rows = 0;
  double outputs = 0;
};

std::vector<AdapterRows> adapters_of(std::span<const SequenceRows> parts) {
  std::vector<AdapterRows> all;
  for (const SequenceRows& part : parts) {
    for (const AdapterUse& use : part.adapters) {
      auto known = std::find_if(all.begin(), all.end(),
                                [&](const AdapterRows& one) { return one.adapter == use.weights; });
      if (known == all.end()) known = all.insert(known, {.adapter = use.weights});
      known->rows += static_cast<double>(part.rows);
      known->outputs += static_cast<double>(part.outputs);
    }
  }
  return all;
}

/// The cost of what an adapter adds to the outputs of a weight over `rows` rows.
StepCost added_cost(const AdapterWeights& adapter, const Weight& w, double rows) {
  StepCost cost;
  const AdapterLinear* change = adapter.find(w);
  if (change == nullptr) return cost;
  cost += widened_cost(change->a, rows);
  for (const AdapterPart& part : change->parts) cost += widened_cost(part.b, rows);
  return cost;
}

StepCost adapter_cost(const Model& m, const AdapterRows& with) {
  const AdapterWeights& adapter = *with.adapter;
  StepCost cost;
  for (const Layer& layer : m.layers) {
    for (const Weight* w :
         {&layer.qkv, &layer.q_down, &layer.q_up, &layer.kv_down, &layer.attn_out,
          &layer.input_gate, &layer.input_out, &layer.gate_up, &layer.down, &layer.router,
          &layer.shared_gate_up, &layer.shared_down, &layer.shared_router}) {
      cost += added_cost(adapter, *w, with.rows);
    }
    const double routed_rows = with.rows * m.spec.moe.used;
    for (const auto* experts : {&layer.expert_gate_up, &layer.expert_down}) {
      const auto count = static_cast<double>(experts->size());
      for (const Weight& w : *experts) {
        StepCost one = added_cost(adapter, w, routed_rows / count);
        one.bytes *= std::min(1.0, routed_rows / count);
        cost += one;
      }
    }
  }
  if (with.outputs > 0 && m.head() != nullptr) cost += added_cost(adapter, *m.head(), with.outputs);
  if (m.layer_projection) cost += added_cost(adapter, m.layer_projection, with.rows);
  if (const AdapterEmbedding& e = adapter.embedding; e.a) {
    cost.bytes += looked_up_bytes(e.a, with.rows);
    cost += widened_cost(e.part.b, with.rows);
  }
  return cost;
}

}  // namespace

StepCost& StepCost::operator+=(const StepCost& other) {
  bytes += other.bytes;
  int8_ops += other.int8_ops;
  bf16_ops += other.bf16_ops;
  f32_ops += other.f32_ops;
  return *this;
}

StepCost step_cost(const Model& model, std::span<const KvCost> kv,
                   std::span<const SequenceRows> parts) {
  INGOT_CHECK(kv.size() == model.layers.size(), kv.size(), " kinds of keys for ",
              model.layers.size(), " layers");
  double rows = 0;
  double outputs = 0;
  for (const SequenceRows& part : parts) {
    rows += static_cast<double>(part.rows);
    outputs += static_cast<double>(part.outputs);
  }
  StepCost cost = ends_cost(model, rows, outputs);
  for (const AdapterRows& with : adapters_of(parts)) cost += adapter_cost(model, with);
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const Layer& layer = model.layers[i];
    cost += projections_cost(layer, rows);
    cost += feed_forward_cost(layer, model.spec.moe, rows);
    for (const SequenceRows& part : parts) {
      cost += attention_cost(layer.attention, kv[i], part);
    }
  }
  return cost;
}

}  // namespace ingot
