// Sizes and places of the buffers of a step.
#include "model/scratch_layout.h"

#include <algorithm>

namespace ingot {

namespace {

std::int64_t qkv_cols(const Spec& spec) {
  std::int64_t cols = 0;
  for (std::int64_t i = 0; i < spec.layers; ++i) {
    cols = std::max(cols, attention_of(spec, i).qkv_cols());
  }
  return cols;
}

std::int64_t mix_cols(const Spec& spec) {
  return spec.widest([](const LayerSpec& l) { return std::int64_t{l.heads} * l.value_dim; });
}

/// The width of the widest feed-forward layer that is no expert.
std::int64_t ffn_cols(const Spec& spec) {
  return std::max(spec.shared_ffn,
                  spec.widest([](const LayerSpec& l) { return l.sparse ? 0 : l.ffn; }));
}

std::int64_t mla_heads(const Spec& spec) {
  return spec.mla.kv_rank == 0 ? 0 : spec.widest([](const LayerSpec& l) { return l.heads; });
}

std::int64_t pooled_width(const Spec& spec) {
  std::int64_t cols = spec.hidden;
  for (const DenseSpec& d : spec.dense) cols = std::max(cols, d.outputs);
  return cols;
}

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
  s.qkv = matrix(t, qkv_cols(spec));
  s.mix = matrix(t, mix_cols(spec));
  s.ff = matrix(t, spec.gated ? 2 * ffn_cols(spec) : ffn_cols(spec));
  s.ff2 = matrix(t, std::max(ffn_cols(spec), spec.layer_input));
  s.latent = matrix(t, spec.mla.q_rank);
  s.heads = matrix(t, mla_heads(spec) * (spec.mla.nope + spec.mla.rope));
  s.values = matrix(t, mla_heads(spec) * spec.mla.value);
  s.shared = matrix(t, spec.shared_ffn > 0 ? spec.hidden : 0);
  s.gate = matrix(t, spec.shared_ffn > 0 ? 1 : 0);
  s.inputs = matrix(t, spec.layers * spec.layer_input);
  s.projected = matrix(t, spec.layers * spec.layer_input);
  s.output = matrix(limits.out_rows, spec.hidden);
  const std::int64_t pooled = pooled_rows(spec, limits);
  s.pooled = matrix(pooled, pooled_width(spec));
  s.pooled2 = matrix(spec.dense.empty() ? 0 : pooled, pooled_width(spec));
  return at;
}

}  // namespace

Scratch cut(const Scratch& s, const Batch& batch) {
  const std::int64_t rows = batch.rows();
  Scratch c;
  for (const auto view :
       {&Scratch::x, &Scratch::h, &Scratch::y, &Scratch::qkv, &Scratch::mix, &Scratch::ff,
        &Scratch::ff2, &Scratch::latent, &Scratch::heads, &Scratch::values, &Scratch::shared,
        &Scratch::gate, &Scratch::inputs, &Scratch::projected}) {
    c.*view = (s.*view).slice(0, rows);
  }
  const std::int64_t pooled = std::ssize(batch.pool_seqs);
  c.output = s.output.slice(0, std::ssize(batch.out_rows));
  c.pooled = s.pooled.slice(0, pooled);
  c.pooled2 = s.pooled2.slice(0, std::min(s.pooled2.rows, pooled));
  return c;
}

View resized(const View& rows, std::int64_t cols) {
  INGOT_CHECK(cols <= rows.cols, cols, " columns of ", rows.cols);
  return f32_view(reinterpret_cast<float*>(rows.data), rows.rows, cols);
}

StepLimits step_limits(const Spec& spec, std::int32_t rows, std::int32_t out_rows) {
  std::int64_t cols =
      std::max({spec.hidden, mix_cols(spec), ffn_cols(spec), std::int64_t{spec.moe.ffn},
                std::int64_t{spec.mla.q_rank}, mla_heads(spec) * (spec.mla.nope + spec.mla.rope),
                mla_heads(spec) * spec.mla.value, spec.layer_input});
  for (const DenseSpec& d : spec.dense) cols = std::max(cols, d.inputs);
  return {.rows = rows,
          .out_rows = out_rows,
          .cols = cols,
          .hidden = spec.hidden,
          .vocab = spec.vocab,
          .moe = spec.moe};
}

std::int64_t pooled_rows(const Spec& spec, const StepLimits& limits) {
  return spec.pooling == Pooling::kNone ? 0 : limits.rows;
}

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
