// The one forward path.
#include "model/forward.h"

#include <algorithm>

namespace ingot {

namespace {

/// A step under way. `pending` is a sublayer's output that the next norm adds to the residual
/// stream.
struct Step {
  const Model& model;
  Backend& backend;
  const Batch& batch;
  Scratch s;
  View pending;
};

/// x += sublayer(norm(x)), with whichever of the three norms the checkpoint has. [T, H] -> [T, H]
template <class Sublayer>
void residual(Step& st, const Norms& n, Sublayer&& sublayer) {
  const View x = st.s.x, h = st.s.h, y = st.s.y;
  // x += pending; h = norm(x): one fused op
  st.backend.norm(x, st.pending, n.pre, h, Next::kLinears);
  sublayer(n.pre ? h : x, y);
  if (n.out) st.backend.norm(y, {}, n.out, y, Next::kAnyone);   // sandwich
  if (n.post) st.backend.norm(x, y, n.post, x, Next::kAnyone);  // post-norm encoders
  st.pending = n.post ? View{} : y;
}

void attend(Step& st, const Layer& w, const KvLayer& kv, View in, View out) {
  const Attention& a = w.attention;
  st.backend.linear(in, w.qkv, st.s.qkv);                                     // [T, (N + 2G)*D]
  st.backend.rope(st.s.qkv, st.batch, w.q_norm, w.k_norm, a);                 // q, k in place
  st.backend.kv_write(st.s.qkv, st.batch, a, kv);                             // k, v -> slots
  st.backend.attention(st.s.qkv, st.batch, a, kv, st.s.mix, Next::kLinears);  // [T, N*D]
  st.backend.linear(st.s.mix, w.attn_out, out);                               // [T, H]
}

void feed_forward(Step& st, const Layer& w, View in, View out) {
  const Spec& spec = st.model.spec;
  if (w.router) {
    const MoeWeights experts{&w.router, w.expert_gate_up, w.expert_down};
    return st.backend.moe(in, experts, spec.moe, out);
  }
  st.backend.linear(in, w.gate_up, st.s.ff);  // [T, 2F] or [T, F]
  st.backend.activate(st.s.ff, spec.act, spec.gated, st.s.ff2, Next::kLinears);  // [T, F]
  st.backend.linear(st.s.ff2, w.down, out);                                      // [T, H]
}

/// The rows that leave: gathered, normalised, and through the head as far as asked.
void finish(Step& st, const Outputs& outputs) {
  const Model& m = st.model;
  st.backend.norm(st.s.x, st.pending, {}, {}, Next::kAnyone);
  if (st.batch.out_rows.empty()) return;
  const View out = outputs.kind == Output::kLogits ? st.s.output : outputs.hidden;
  st.backend.gather(st.s.x, st.batch.out_rows, out);
  if (outputs.kind == Output::kHidden) return;
  const View normed = out.slice(0, out.rows - outputs.raw_rows);
  if (normed.rows > 0) st.backend.norm(normed, {}, m.final_norm, normed, Next::kLinears);
  const View rows = out.slice(0, out.rows - outputs.hidden_rows);
  if (outputs.kind == Output::kLogits && rows.rows > 0) {
    st.backend.logits(rows, *m.head(), outputs.logits);
  }
}

/// The scratch of this step: the planned buffers cut to its rows, rows staying apart as planned.
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
  c.output = s.output.slice(0, std::min(s.output.rows, std::ssize(batch.out_rows)));
  return c;
}

}  // namespace

void forward(const Model& model, Backend& backend, const Batch& batch, const KvCache& kv,
             const Scratch& scratch, const Outputs& outputs) {
  backend.step(batch, [&] {
    Step st{model, backend, batch, cut(scratch, batch), {}};
    backend.embed(batch, model.embedding ? &model.embedding : nullptr, st.s.x);
    for (std::size_t i = 0; i < model.layers.size(); ++i) {
      const Layer& w = model.layers[i];
      const KvLayer& pages = kv.layer(static_cast<std::int64_t>(i));
      residual(st, w.attn_norms, [&](View in, View out) { attend(st, w, pages, in, out); });
      residual(st, w.ffn_norms, [&](View in, View out) { feed_forward(st, w, in, out); });
    }
    finish(st, outputs);
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

/// Lays the views out one after the other, each on a 64-byte boundary; returns the bytes they take.
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
