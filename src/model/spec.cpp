// Spec: a layer's attention, and lines of text for messages and fingerprints.
#include "model/spec.h"

#include <algorithm>

#include "base/text.h"

namespace ingot {

namespace {

template <class T>
std::string list(const std::vector<T>& values) {
  std::string out;
  for (const auto value : values) out += cat(out.empty() ? "" : " ", value);
  return out;
}

std::string to_string(const RopeSpec& r) {
  return cat(r.adjacent_pairs ? "adjacent" : "half-split", " dims ", r.dims, " factor ", r.factor,
             " frequencies ", list(r.inverse_frequency));
}

std::string_view to_string(Act act) {
  switch (act) {
    case Act::kSilu:
      return "silu";
    case Act::kGeluTanh:
      return "gelu_tanh";
    case Act::kGeluErf:
      return "gelu_erf";
    case Act::kTanh:
      return "tanh";
    case Act::kGptOss:
      return "gpt_oss";
  }
  return "?";
}

std::string_view to_string(Pooling pooling) {
  static constexpr std::string_view kNames[] = {"none", "mean", "cls", "last"};
  return at(kNames, pooling);
}

/// Collects lines of "name = value".
class Lines {
 public:
  explicit Lines(const Spec& spec) : s_(spec) {}

  template <class T>
  void add(std::string_view name, const T& value) {
    out_ += cat(name, " = ", value, "\n");
  }
  /// Adds a line unless the value is neutral.
  template <class T>
  void add_unless(const T& neutral, std::string_view name, const T& value) {
    if (value != neutral) add(name, value);
  }
  /// Adds a value of each layer, as one number if the layers are equal.
  template <class Fn>
  void add_layers(std::string_view name, Fn value, bool shorten = true) {
    using T = decltype(value(s_.layer_specs.front()));
    std::vector<T> values;
    for (const LayerSpec& layer : s_.layer_specs) values.push_back(value(layer));
    const bool equal =
        shorten && !values.empty() && std::equal(values.begin() + 1, values.end(), values.begin());
    if (equal) {
      add(name, static_cast<T>(values.front()));
    } else {
      add(name, list(values));
    }
  }
  /// Adds a value of each layer unless it is neutral in all layers.
  template <class T, class Fn>
  void add_layers_unless(const T& neutral, std::string_view name, Fn value) {
    const bool plain = std::all_of(s_.layer_specs.begin(), s_.layer_specs.end(),
                                   [&](const LayerSpec& l) { return value(l) == neutral; });
    if (!plain) add_layers(name, value, false);
  }
  std::string take() { return std::move(out_); }

 private:
  const Spec& s_;
  std::string out_;
};

void add_layer_lines(Lines& lines) {
  lines.add_layers("heads", [](const LayerSpec& l) { return l.heads; });
  lines.add_layers("kv_heads", [](const LayerSpec& l) { return l.kv_heads; });
  lines.add_layers("head_dim", [](const LayerSpec& l) { return l.head_dim; });
  lines.add_layers_unless(0, "value_dim",
                          [](const LayerSpec& l) { return l.value_dim - l.head_dim; });
  lines.add_layers_unless(-1, "kv_source", [](const LayerSpec& l) { return l.kv_source; });
  lines.add_layers_unless(0, "values_from_keys",
                          [](const LayerSpec& l) { return l.values_from_keys ? 1 : 0; });
}

void add_switches(Lines& lines, const Spec& s) {
  lines.add_unless(false, "norm_plus_one", s.norm_plus_one);
  lines.add_unless(false, "norm_after_rope", s.norm_after_rope);
  lines.add_unless(false, "value_norm", s.value_norm);
  lines.add_unless(false, "parallel_residual", s.parallel_residual);
  lines.add_unless(1.0f, "residual_scale", s.residual_scale);
  lines.add_unless(1.0f, "embed_scale", s.embed_scale);
  lines.add_unless(1.0f, "logit_scale", s.logit_scale);
  lines.add_unless(0.0f, "logit_cap", s.logit_cap);
  if (s.mla.kv_rank > 0) {
    lines.add("mla", cat("q_rank ", s.mla.q_rank, " kv_rank ", s.mla.kv_rank, " nope ", s.mla.nope,
                         " rope ", s.mla.rope, " value ", s.mla.value));
    lines.add_unless(s.norm_eps, "mla_norm_eps", s.mla.norm_eps);
  }
  lines.add_unless(std::int64_t{0}, "layer_input", s.layer_input);
}

void add_experts(Lines& lines, const Spec& s) {
  lines.add("experts", s.moe.experts);
  lines.add("experts_used", s.moe.used);
  lines.add("expert_ffn", s.moe.ffn);
  lines.add("renormalise", s.moe.renormalise);
  lines.add_unless(false, "sigmoid_router", s.moe.score == Moe::Score::kSigmoid);
  lines.add_unless(1.0f, "expert_scale", s.moe.scale);
  if (s.moe.groups > 1) {
    lines.add("expert_groups", cat(s.moe.groups, " used ", s.moe.groups_used, " by ",
                                   s.moe.group_score == Moe::GroupScore::kBest ? "best" : "two"));
  }
  lines.add_unless(std::int64_t{0}, "shared_ffn", s.shared_ffn);
  lines.add_layers(
      "sparse", [](const LayerSpec& l) { return l.sparse; }, false);
}

void add_ends(Lines& lines, const Spec& s) {
  lines.add("tied", s.tied);
  lines.add_unless(0, "position_offset", s.position_offset);
  lines.add_unless(std::int64_t{0}, "relative_buckets", s.relative_buckets);
  if (s.pooling != Pooling::kNone) lines.add("pooling", to_string(s.pooling));
  lines.add_unless(false, "normalise", s.normalise);
  for (const DenseSpec& d : s.dense) {
    std::string line = cat(d.inputs, " to ", d.outputs, d.tanh ? " tanh" : "");
    if (d.scale != 1) line += cat(" scale ", d.scale);
    if (d.cap != 0) line += cat(" cap ", d.cap);
    lines.add("dense", line);
  }
  lines.add_unless(std::int64_t{0}, "labels", s.labels);
}

}  // namespace

Attention attention_of(const Spec& spec, std::int64_t i) {
  const LayerSpec& l = spec.layer(i);
  const bool latent = spec.mla.kv_rank > 0;
  return {.heads = l.heads,
          .kv_heads = l.kv_heads,
          .head_dim = l.head_dim,
          .value_dim = l.value_dim,
          .scale = l.attention_scale,
          .score_cap = spec.score_cap,
          .causal = spec.causal,
          .window = l.window,
          .rope_first = latent ? spec.mla.kv_rank : 0,
          .values_in_keys = latent,
          .writes_kv = l.kv_source < 0};
}

std::string to_string(const Spec& s) {
  Lines lines(s);
  lines.add("architecture", s.architecture);
  lines.add("layers", s.layers);
  lines.add("hidden", s.hidden);
  lines.add_layers("ffn", [](const LayerSpec& l) { return l.ffn; });
  lines.add("vocab", s.vocab);
  lines.add("context", s.context);
  add_layer_lines(lines);
  lines.add("norm", std::string_view(s.norm == NormKind::kRms ? "rms" : "layer"));
  lines.add("norm_eps", s.norm_eps);
  lines.add_layers("attention_scale", [](const LayerSpec& l) { return l.attention_scale; });
  lines.add("score_cap", s.score_cap);
  lines.add("causal", s.causal);
  lines.add_layers(
      "window", [](const LayerSpec& l) { return l.window; }, false);
  for (const RopeSpec& r : s.ropes) lines.add("rope table", to_string(r));
  lines.add_layers(
      "rope", [](const LayerSpec& l) { return l.rope; }, false);
  lines.add("act", to_string(s.act));
  lines.add("gated", s.gated);
  add_switches(lines, s);
  add_experts(lines, s);
  add_ends(lines, s);
  return lines.take();
}

}  // namespace ingot
