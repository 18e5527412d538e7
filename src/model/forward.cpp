// The forward pass: runs a step through all layers, and computes what its output rows ask for.
#include "model/forward.h"

#include <algorithm>
#include <cmath>

#include "model/scratch_layout.h"

namespace ingot {

namespace {

/// A forward pass at some layer. `pending` is a sublayer's output, which the next norm adds to the
/// residual stream.
struct ForwardPass {
  const Model& model;
  Backend& backend;
  const Batch& batch;
  Scratch s;
  Term pending;

  /// A sublayer's output as the residual stream adds it.
  Term output(View y) const { return {y, model.spec.residual_scale}; }
  /// Adds the pending output now.
  void settle() {
    backend.norm(s.x, pending, {}, {}, Next::kAnyone);
    pending = {};
  }
};

/// x += sublayer(norm(x)), with each of the three norms that the model has. [T, H] -> [T, H]
template <class Sublayer>
void residual(ForwardPass& pass, const Norms& n, Sublayer&& sublayer) {
  const View x = pass.s.x, h = pass.s.h, y = pass.s.y;
  // One fused op: x += pending; h = norm(x)
  pass.backend.norm(x, pass.pending, n.pre, h, Next::kLinears);
  sublayer(n.pre ? h : x, y);
  if (n.out) pass.backend.norm(y, {}, n.out, y, Next::kAnyone);                // sandwich
  if (n.post) pass.backend.norm(x, pass.output(y), n.post, x, Next::kAnyone);  // post-norm encoders
  pass.pending = n.post ? Term{} : pass.output(y);
}

/// Multi-head latent attention up to queries and keys in the latent's space. [T, H] -> qkv
void latent_qkv(ForwardPass& pass, const Layer& w, View in) {
  Backend& be = pass.backend;
  const MlaSpec& m = pass.model.spec.mla;
  if (w.q_down) {
    be.linear(in, w.q_down, pass.s.latent);  // [T, q_rank]
    be.norm(pass.s.latent, {}, w.q_down_norm, pass.s.latent, Next::kLinears);
  }
  be.linear(w.q_down ? pass.s.latent : in, w.q_up, pass.s.heads);  // [T, N*(nope + rope)]
  const Attention& a = w.attention;
  be.linear_heads(pass.s.heads, w.k_up, m.rope, columns(pass.s.qkv, 0, a.q_cols()));
  const View key = columns(pass.s.qkv, a.q_cols(), a.k_cols());
  be.linear(in, w.kv_down, key);  // [T, kv_rank + rope]
  const View latent = columns(key, 0, m.kv_rank);
  be.norm(latent, {}, w.kv_down_norm, latent, Next::kAnyone);
}

void attend(ForwardPass& pass, const Layer& w, const KvLayer& kv, View in, View out) {
  const Attention& a = w.attention;
  const bool latent = static_cast<bool>(w.kv_down);
  const View qkv = columns(pass.s.qkv, 0, a.qkv_cols());
  const View mix = columns(pass.s.mix, 0, a.out_cols());
  if (latent) {
    latent_qkv(pass, w, in);
  } else {
    pass.backend.linear(in, w.qkv, qkv);  // [T, (N + G)*D + G*Dv]
  }
  pass.backend.rope_write(qkv, pass.batch, w.head_norms, a, kv);  // q, k in place; k, v -> slots
  pass.backend.attention(qkv, pass.batch, a, kv, mix, latent ? Next::kAnyone : Next::kLinears);
  if (latent) pass.backend.linear_heads(mix, w.v_up, 0, pass.s.values);  // [T, N*value]
  pass.backend.linear(latent ? pass.s.values : mix, w.attn_out, out);    // [T, H]
}

/// out = down(act(gate_up(in))). [T, H] -> [T, H]
void dense_feed_forward(ForwardPass& pass, const Weight& gate_up, const Weight& down, View in,
                        View out) {
  const Spec& spec = pass.model.spec;
  const View ff = columns(pass.s.ff, 0, gate_up.rows);
  const View ff2 = columns(pass.s.ff2, 0, down.cols);
  // [T, 2F] or [T, F], then [T, F]
  pass.backend.linear_activate(in, gate_up, spec.act, spec.gated, ff, ff2, Next::kLinears);
  pass.backend.linear(ff2, down, out);
}

/// out += the shared experts' output, times a factor of each row if there is one.
void add_shared(ForwardPass& pass, const Layer& w, View in, View out) {
  const View y = pass.s.shared;
  dense_feed_forward(pass, w.shared_gate_up, w.shared_down, in, y);
  if (!w.shared_router) return pass.backend.norm(out, y, {}, {}, Next::kAnyone);
  pass.backend.linear(in, w.shared_router, pass.s.gate);
  pass.backend.add_gated(out, y, pass.s.gate);
}

void feed_forward(ForwardPass& pass, const Layer& w, View in, View out) {
  if (!w.router) return dense_feed_forward(pass, w.gate_up, w.down, in, out);
  const MoeWeights experts{&w.router, w.expert_gate_up, w.expert_down, w.selection_bias};
  pass.backend.moe(in, experts, pass.model.spec.moe, out);
  if (w.shared_down) add_shared(pass, w, in, out);
}

/// x += attention(h) + feed_forward(h) with h = norm(x). [T, H] -> [T, H]
void parallel_sublayers(ForwardPass& pass, const Layer& w, const KvLayer& kv) {
  const View x = pass.s.x, h = pass.s.h, y = pass.s.y;
  pass.backend.norm(x, pass.pending, w.attn_norms.pre, h, Next::kLinears);
  attend(pass, w, kv, h, y);
  pass.backend.norm(x, pass.output(y), {}, {}, Next::kAnyone);
  feed_forward(pass, w, h, y);
  pass.pending = pass.output(y);
}

/// Makes each layer's own input: the mean of its token embedding and of a projection of the
/// embeddings, times sqrt(2). [T, H] -> inputs [T, L*W]
void make_layer_inputs(ForwardPass& pass) {
  const Model& m = pass.model;
  if (!m.layer_embedding) return;
  const auto width = static_cast<float>(m.spec.layer_input);
  const View in = pass.s.inputs, p = pass.s.projected;
  Backend& be = pass.backend;
  be.embed(pass.batch, {.tokens = &m.layer_embedding, .scale = std::sqrt(width)}, in);
  be.linear(pass.s.x, m.layer_projection, p);
  be.scale(p, 1 / std::sqrt(static_cast<float>(m.spec.hidden)));
  const View slices{p.data, p.format, p.rows * m.spec.layers, m.spec.layer_input,
                    m.spec.layer_input * std::int64_t{sizeof(float)}};
  be.norm(slices, {}, m.layer_projection_norm, slices, Next::kAnyone);
  be.norm(in, p, {}, {}, Next::kAnyone);
  be.scale(in, std::sqrt(0.5f));
}

/// x += norm(out(act(gate(x)) * the layer's input)), then x *= scalar.
void add_layer_input(ForwardPass& pass, const Layer& w, std::int64_t layer) {
  if (!w.input_gate && w.scalar == 1) return;
  Backend& be = pass.backend;
  pass.settle();
  const View x = pass.s.x, y = pass.s.y;
  if (w.input_gate) {
    const std::int64_t width = pass.model.spec.layer_input;
    const View gate = columns(pass.s.projected, 0, width);
    const View gated = columns(pass.s.ff2, 0, width);
    be.linear(x, w.input_gate, gate);
    be.glu(gate, columns(pass.s.inputs, layer * width, width), pass.model.spec.act, gated,
           Next::kLinears);
    be.linear(gated, w.input_out, y);
    be.norm(y, {}, w.input_norm, y, Next::kAnyone);
    be.norm(x, y, {}, {}, Next::kAnyone);
  }
  if (w.scalar != 1) be.scale(x, w.scalar);
}

void run_layer(ForwardPass& pass, const Layer& w, const KvLayer& kv, std::int64_t layer) {
  if (pass.model.spec.parallel_residual) {
    parallel_sublayers(pass, w, kv);
  } else {
    residual(pass, w.attn_norms, [&](View in, View out) { attend(pass, w, kv, in, out); });
    residual(pass, w.ffn_norms, [&](View in, View out) { feed_forward(pass, w, in, out); });
  }
  add_layer_input(pass, w, layer);
}

/// Makes the residual stream from token ids or embeddings. -> x [T, H]
void embed(ForwardPass& pass) {
  const Model& m = pass.model;
  pass.backend.embed(pass.batch,
                     {.tokens = m.embedding ? &m.embedding : nullptr,
                      .scale = m.spec.embed_scale,
                      .positions = m.positions,
                      .position_offset = m.spec.position_offset,
                      .types = m.types},
                     pass.s.x);
  if (m.embedding_norm) {
    pass.backend.norm(pass.s.x, {}, m.embedding_norm, pass.s.x, Next::kAnyone);
  }
  make_layer_inputs(pass);
}

/// Gathers the output rows, normalises them, and computes logits, as far as `outputs` asks.
void finish_rows(ForwardPass& pass, const Outputs& outputs) {
  const Model& m = pass.model;
  if (pass.batch.out_rows.empty()) return;
  const View out = pass.s.output;
  pass.backend.gather(pass.s.x, pass.batch, out);
  const View rows = out.slice(0, out.rows - outputs.hidden_rows);
  const View hidden = out.slice(rows.rows, outputs.hidden_rows - outputs.raw_rows);
  if (hidden.rows > 0) pass.backend.norm(hidden, {}, m.final_norm, hidden, Next::kAnyone);
  if (rows.rows == 0) return;
  pass.backend.norm(rows, {}, m.final_norm, rows, Next::kLinears);
  pass.backend.logits(rows, {m.head(), m.spec.logit_scale, m.spec.logit_cap}, outputs.logits);
}

/// Number of ops of a layer after pooling that write their rows to the other buffer.
std::int64_t moves_of(const DenseSpec& d) { return d.tanh || d.cap != 0 ? 2 : 1; }

/// Pools the rows of sequences, and runs the layers after pooling. -> pooled [P, pooled_cols]
void finish_pooled(ForwardPass& pass) {
  const Model& m = pass.model;
  Backend& be = pass.backend;
  if (pass.batch.pool_seqs.empty()) return;
  if (m.final_norm) be.norm(pass.s.x, {}, m.final_norm, pass.s.x, Next::kAnyone);
  // Each linear and each tanh moves the rows to the other buffer; the last one to `pooled`.
  std::int64_t moves = 0;
  for (const DenseSpec& d : m.spec.dense) moves += moves_of(d);
  View now = moves % 2 == 0 ? pass.s.pooled : pass.s.pooled2;
  View other = moves % 2 == 0 ? pass.s.pooled2 : pass.s.pooled;
  std::int64_t cols = m.spec.hidden;
  be.pool(pass.s.x, pass.batch, m.spec.pooling, resized(now, cols));
  for (std::size_t i = 0; i < m.dense.size(); ++i) {
    const DenseSpec& d = m.spec.dense[i];
    be.linear(resized(now, cols), m.dense[i], resized(other, d.outputs));
    std::swap(now, other);
    cols = d.outputs;
    if (d.scale != 1) be.scale(resized(now, cols), d.scale);
    if (moves_of(d) == 1) continue;
    if (d.cap != 0) be.scale(resized(now, cols), 1 / d.cap);
    be.activate(resized(now, cols), Act::kTanh, false, resized(other, cols), Next::kAnyone);
    std::swap(now, other);
    if (d.cap != 0) be.scale(resized(now, cols), d.cap);
  }
  if (m.spec.normalise) be.normalise(resized(now, cols));
}

void finish(ForwardPass& pass, const Outputs& outputs) {
  pass.settle();
  finish_rows(pass, outputs);
  finish_pooled(pass);
  for (const RowFetch& fetch : outputs.fetch) pass.backend.fetch(fetch.rows, fetch.out);
}

}  // namespace

void forward(const Model& model, Backend& backend, const Batch& batch, const KvCache& kv,
             const Scratch& scratch, const Outputs& outputs) {
  backend.step(batch, [&] {
    ForwardPass pass{model, backend, batch, cut(scratch, batch), {}};
    embed(pass);
    for (std::size_t i = 0; i < model.layers.size(); ++i) {
      const auto layer = static_cast<std::int64_t>(i);
      run_layer(pass, model.layers[i], kv.layer(layer), layer);
    }
    finish(pass, outputs);
  });
}

}  // namespace ingot
