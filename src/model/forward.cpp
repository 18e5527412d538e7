// The forward pass: runs a step through all layers, and computes logits of the output rows.
#include "model/forward.h"

#include <algorithm>

namespace ingot {

namespace {

/// A forward pass at some layer. `pending` is a sublayer's output, which the next norm adds to the
/// residual stream.
struct ForwardPass {
  const Model& model;
  Backend& backend;
  const Batch& batch;
  Scratch s;
  View pending;
};

/// x += sublayer(norm(x)), with each of the three norms that the model has. [T, H] -> [T, H]
template <class Sublayer>
void residual(ForwardPass& pass, const Norms& n, Sublayer&& sublayer) {
  const View x = pass.s.x, h = pass.s.h, y = pass.s.y;
  // One fused op: x += pending; h = norm(x)
  pass.backend.norm(x, pass.pending, n.pre, h, Next::kLinears);
  sublayer(n.pre ? h : x, y);
  if (n.out) pass.backend.norm(y, {}, n.out, y, Next::kAnyone);   // sandwich
  if (n.post) pass.backend.norm(x, y, n.post, x, Next::kAnyone);  // post-norm encoders
  pass.pending = n.post ? View{} : y;
}

void attend(ForwardPass& pass, const Layer& w, const KvLayer& kv, View in, View out) {
  const Attention& a = w.attention;
  pass.backend.linear(in, w.qkv, pass.s.qkv);  // [T, (N + 2G)*D]
  // q, k in place; k, v -> slots
  pass.backend.rope_write(pass.s.qkv, pass.batch, {.q = w.q_norm, .k = w.k_norm}, a, kv);
  pass.backend.attention(pass.s.qkv, pass.batch, a, kv, pass.s.mix, Next::kLinears);  // [T, N*D]
  pass.backend.linear(pass.s.mix, w.attn_out, out);                                   // [T, H]
}

void feed_forward(ForwardPass& pass, const Layer& w, View in, View out) {
  const Spec& spec = pass.model.spec;
  if (w.router) {
    const MoeWeights experts{&w.router, w.expert_gate_up, w.expert_down};
    return pass.backend.moe(in, experts, spec.moe, out);
  }
  // [T, 2F] or [T, F], then [T, F]
  pass.backend.linear_activate(in, w.gate_up, spec.act, spec.gated, pass.s.ff, pass.s.ff2,
                               Next::kLinears);
  pass.backend.linear(pass.s.ff2, w.down, out);  // [T, H]
}

/// Gathers the output rows, normalises them, and computes logits, as far as `outputs` asks.
void finish(ForwardPass& pass, const Outputs& outputs) {
  const Model& m = pass.model;
  pass.backend.norm(pass.s.x, pass.pending, {}, {}, Next::kAnyone);
  if (pass.batch.out_rows.empty()) return;
  const View out = pass.s.output;
  pass.backend.gather(pass.s.x, pass.batch, out);
  const View rows = out.slice(0, out.rows - outputs.hidden_rows);
  const View hidden = out.slice(rows.rows, outputs.hidden_rows - outputs.raw_rows);
  if (hidden.rows > 0) pass.backend.norm(hidden, {}, m.final_norm, hidden, Next::kAnyone);
  if (rows.rows > 0) {
    pass.backend.norm(rows, {}, m.final_norm, rows, Next::kLinears);
    pass.backend.logits(rows, {.weight = m.head()}, outputs.logits);
  }
  for (const RowFetch& fetch : outputs.fetch) pass.backend.fetch(fetch.rows, fetch.out);
}

/// This step's scratch: views of the planned buffers, cut to the step's rows.
Scratch cut(const Scratch& s, const Batch& batch) {
  const std::int64_t rows = batch.rows();
  Scratch c;
  c.x = s.x.slice(0, rows);
  c.h = s.h.slice(0, rows);
  c.y = s.y.slice(0, rows);
  c.qkv = s.qkv.slice(0, rows);
  c.mix = s.mix.slice(0, rows);
  c.ff = s.ff.slice(0, rows);
  c.ff2 = s.ff2.slice(0, rows);
  c.output = s.output.slice(0, std::ssize(batch.out_rows));
  return c;
}

}  // namespace

void forward(const Model& model, Backend& backend, const Batch& batch, const KvCache& kv,
             const Scratch& scratch, const Outputs& outputs) {
  backend.step(batch, [&] {
    ForwardPass pass{model, backend, batch, cut(scratch, batch), {}};
    backend.embed(batch, {.tokens = model.embedding ? &model.embedding : nullptr}, pass.s.x);
    for (std::size_t i = 0; i < model.layers.size(); ++i) {
      const Layer& w = model.layers[i];
      const KvLayer& pages = kv.layer(static_cast<std::int64_t>(i));
      residual(pass, w.attn_norms, [&](View in, View out) { attend(pass, w, pages, in, out); });
      residual(pass, w.ffn_norms, [&](View in, View out) { feed_forward(pass, w, in, out); });
    }
    finish(pass, outputs);
  });
}

StepLimits step_limits(const Spec& spec, std::int32_t rows, std::int32_t out_rows) {
  return {.rows = rows,
          .out_rows = out_rows,
          .cols = std::max({spec.hidden, spec.q_cols(), spec.ffn, std::int64_t{spec.moe.ffn}}),
          .hidden = spec.hidden,
          .vocab = spec.vocab,
          .moe = spec.moe};
}

namespace {

/// Places the views one after the other, each aligned to 64 bytes; returns their total bytes.
std::int64_t lay_out(const Spec& spec, const StepLimits& limits, std::byte* base, Scratch& s) {
  std::int64_t at = 0;
  const auto matrix = [&](std::int64_t rows, std::int64_t cols) {
    auto* data = base == nullptr ? nullptr : reinterpret_cast<float*>(base + at);
    at += (rows * cols * std::int64_t{sizeof(float)} + 63) / 64 * 64;
    return f32_view(data, rows, cols);
  };
  const std::int64_t t = limits.rows;
  s.x = matrix(t, spec.hidden);
  s.h = matrix(t, spec.hidden);
  s.y = matrix(t, spec.hidden);
  s.qkv = matrix(t, spec.q_cols() + 2 * spec.kv_cols());
  s.mix = matrix(t, spec.q_cols());
  s.ff = matrix(t, spec.gated ? 2 * spec.ffn : spec.ffn);
  s.ff2 = matrix(t, spec.ffn);
  s.output = matrix(limits.out_rows, spec.hidden);
  return at;
}

}  // namespace

std::int64_t scratch_bytes(const Spec& spec, const StepLimits& limits) {
  Scratch s;
  return lay_out(spec, limits, nullptr, s);
}

Scratch make_scratch(Backend& backend, const Spec& spec, const StepLimits& limits) {
  Scratch s;
  s.memory = backend.allocate(lay_out(spec, limits, nullptr, s));
  lay_out(spec, limits, s.memory.data(), s);
  return s;
}

}  // namespace ingot
